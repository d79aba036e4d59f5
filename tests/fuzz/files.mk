# libFuzzer runs of the file readers and of the exec protocol, as in fuzz.mk:
# make fuzz-gguf FUZZ_SECONDS=600
FUZZ_READERS = safetensors gguf exec resolve
FUZZ_READER_TARGETS = $(FUZZ_READERS:%=fuzz-%)

fuzz: $(FUZZ_READER_TARGETS)

$(FUZZ_READER_TARGETS): fuzz-%:
	+@$(MAKE) BUILD=$(BUILD)/fuzz CC=clang OPT='-O1 -g' \
	    SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' \
	    $(BUILD)/fuzz/fuzz_$*
	@mkdir -p $(BUILD)/fuzz/corpus-$*
	$(BUILD)/fuzz/fuzz_$* -max_total_time=$(FUZZ_SECONDS) -timeout=20 -max_len=8192 \
	    -artifact_prefix=$(BUILD)/fuzz/ -dict=tests/fuzz/$*.dict \
	    $(BUILD)/fuzz/corpus-$* tests/fuzz/$*

$(FUZZ_READERS:%=$(BUILD)/fuzz_%): $(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/flags $(LIBRARY)
	$(CC) $(FLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

.PHONY: $(FUZZ_READER_TARGETS)
