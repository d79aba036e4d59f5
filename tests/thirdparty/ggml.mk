# posref test on ggml; the check-* targets leave it out as they do the weights.
test-thirdparty-ggml: all ## ggml conforms, and with the other pairing every failure is named
	@$(RUN_TESTS) thirdparty-ggml $(BUILD)/results tests/thirdparty/ggml.sh

test-thirdparty: test-thirdparty-ggml
.PHONY: test-thirdparty-ggml
