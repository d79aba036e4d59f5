# weights against the real ggml, as npm ships it. ggml has bugs of its own that sanitizers would
# report, so the check-* targets leave it out.
WEIGHTS_GGML = $(BUILD)/tests/thirdparty/weights_ggml

$(WEIGHTS_GGML): $(BUILD)/tests/thirdparty/weights_ggml.o \
                 $(BUILD)/tests/thirdparty/weights_ggml_open.o $(UNIT_SHARED) $(LIBRARY)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_CHECK) $(LIBS)

test-thirdparty-weights: $(WEIGHTS_GGML) ## ggml's blocks decode alike, a port to NORMAL passes
	@$(RUN_TESTS) thirdparty-weights $(BUILD)/results tests/thirdparty/test_weights.sh

-include $(WEIGHTS_GGML).d $(WEIGHTS_GGML)_open.d

test-thirdparty: test-thirdparty-weights
.PHONY: test-thirdparty-weights test-thirdparty
