# Generating core beside SQLite's own time, and a whole posref eval.
BENCH_GENERATE = $(BUILD)/tests/bench/bench_generate

$(BENCH_GENERATE): tests/bench/bench_generate.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

bench-generate: $(BENCH_GENERATE) ## generating core beside SQLite inserting the same rows
	@$(BENCH_GENERATE)

bench-eval: $(BUILD)/posref ## a whole posref eval, from start to exit
	@POSREF=$(BUILD)/posref tests/bench/bench_eval.sh

bench: bench-generate bench-eval
.PHONY: bench-generate bench-eval
