# What explaining adds to judging a plugin that fails all of core.
BENCH_EXPLAIN = $(BUILD)/tests/bench/bench_explain

$(BENCH_EXPLAIN): tests/bench/bench_explain.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

bench-explain: $(BENCH_EXPLAIN) all ## explaining a plugin that fails all of core, on one core
	@$(BUILD)/posref generate -o $(BUILD)/bench-explain.db
	@$(BENCH_EXPLAIN) $(BUILD)/bench-explain.db

bench: bench-explain
.PHONY: bench-explain
