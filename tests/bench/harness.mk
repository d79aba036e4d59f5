# What judging adds to a plugin's own time.
BENCH_HARNESS = $(BUILD)/tests/bench/bench_harness

$(BENCH_HARNESS): tests/bench/bench_harness.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

bench-harness: $(BENCH_HARNESS) all ## what the harness adds to a plugin's own time
	@$(BENCH_HARNESS) $(BUILD)/posref $(BUILD)/plugins/example_rope.so

bench: bench-harness
.PHONY: bench-harness

bench-full: all $(BUILD)/tests/bench/measure ## full in one dtype on ggml, on one processor
	@$(TEST_ENV) tests/bench/full.sh

bench: bench-full
.PHONY: bench-full
