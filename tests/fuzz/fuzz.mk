# libFuzzer runs: FUZZ_SECONDS each, from the seeds in tests/fuzz/NAME; what is found lands in
# build/fuzz/. make fuzz-service FUZZ_SECONDS=600
FUZZ_SECONDS ?= 60
FUZZ_FLAGS = address,undefined -fno-sanitize-recover=all

fuzz: fuzz-service fuzz-outputs

fuzz-service: ## the service's target, query and JSON body
	+@$(MAKE) BUILD=$(BUILD)/fuzz CC=clang OPT='-O1 -g' \
	    SANITIZE='-fsanitize=fuzzer-no-link,$(FUZZ_FLAGS)' $(BUILD)/fuzz/fuzz_service
	@mkdir -p $(BUILD)/fuzz/corpus-service
	$(BUILD)/fuzz/fuzz_service -max_total_time=$(FUZZ_SECONDS) -timeout=20 -max_len=16384 \
	    -artifact_prefix=$(BUILD)/fuzz/ -dict=tests/fuzz/service.dict \
	    $(BUILD)/fuzz/corpus-service tests/fuzz/service

fuzz-outputs: ## bodies that carry outputs: JSON and safetensors, read and judged
	+@$(MAKE) BUILD=$(BUILD)/fuzz CC=clang OPT='-O1 -g' \
	    SANITIZE='-fsanitize=fuzzer-no-link,$(FUZZ_FLAGS)' $(BUILD)/fuzz/fuzz_outputs
	@mkdir -p $(BUILD)/fuzz/corpus-outputs
	$(BUILD)/fuzz/fuzz_outputs -max_total_time=$(FUZZ_SECONDS) -timeout=20 -max_len=4096 \
	    -artifact_prefix=$(BUILD)/fuzz/ -dict=tests/fuzz/safetensors.dict \
	    $(BUILD)/fuzz/corpus-outputs tests/fuzz/outputs

$(BUILD)/fuzz_service $(BUILD)/fuzz_outputs: $(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c \
    $(BUILD)/flags $(LIBRARY)
	$(CC) $(FLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

.PHONY: fuzz-service fuzz-outputs
