# libFuzzer runs: FUZZ_SECONDS each, from the seeds in tests/fuzz/NAME and the inputs that earlier
# runs found worth keeping, tests/fuzz/NAME.tar.gz; what is found lands in build/fuzz/.
# make fuzz-service FUZZ_SECONDS=600; make fuzz-keep-service packs what a run added.
FUZZ_SECONDS ?= 60
FUZZ_FLAGS = address,undefined -fno-sanitize-recover=all

fuzz: fuzz-service fuzz-outputs

fuzz-service: ## the service's target, query and JSON body
	+@$(MAKE) BUILD=$(BUILD)/fuzz CC=clang OPT='-O1 -g' \
	    SANITIZE='-fsanitize=fuzzer-no-link,$(FUZZ_FLAGS)' $(BUILD)/fuzz/fuzz_service
	@mkdir -p $(BUILD)/fuzz/corpus-service
	@tar -xzf tests/fuzz/service.tar.gz -C $(BUILD)/fuzz/corpus-service
	$(BUILD)/fuzz/fuzz_service -max_total_time=$(FUZZ_SECONDS) -timeout=20 -max_len=16384 \
	    -artifact_prefix=$(BUILD)/fuzz/ -dict=tests/fuzz/service.dict \
	    $(BUILD)/fuzz/corpus-service tests/fuzz/service

fuzz-outputs: ## bodies that carry outputs: JSON and safetensors, read and judged
	+@$(MAKE) BUILD=$(BUILD)/fuzz CC=clang OPT='-O1 -g' \
	    SANITIZE='-fsanitize=fuzzer-no-link,$(FUZZ_FLAGS)' $(BUILD)/fuzz/fuzz_outputs
	@mkdir -p $(BUILD)/fuzz/corpus-outputs
	@tar -xzf tests/fuzz/outputs.tar.gz -C $(BUILD)/fuzz/corpus-outputs
	$(BUILD)/fuzz/fuzz_outputs -max_total_time=$(FUZZ_SECONDS) -timeout=20 -max_len=4096 \
	    -artifact_prefix=$(BUILD)/fuzz/ -dict=tests/fuzz/safetensors.dict \
	    $(BUILD)/fuzz/corpus-outputs tests/fuzz/outputs

$(BUILD)/fuzz_service $(BUILD)/fuzz_outputs: $(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c \
    $(BUILD)/flags $(LIBRARY)
	$(CC) $(FLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

# The fewest inputs that reach all that the run's reach, in an archive that depends on them alone.
fuzz-keep-service fuzz-keep-outputs: fuzz-keep-%:
	@rm -rf $(BUILD)/fuzz/kept-$* && mkdir -p $(BUILD)/fuzz/kept-$*
	$(BUILD)/fuzz/fuzz_$* -merge=1 -max_len=16384 $(BUILD)/fuzz/kept-$* \
	    $(BUILD)/fuzz/corpus-$* tests/fuzz/$*
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C $(BUILD)/fuzz/kept-$* -c . | \
	    gzip -9n >tests/fuzz/$*.tar.gz

.PHONY: fuzz-service fuzz-outputs fuzz-keep-service fuzz-keep-outputs
