# A large table on one thread and on all cores.
BENCH_BULK = $(BUILD)/tests/bench/bench_bulk

$(BENCH_BULK): tests/bench/bench_bulk.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $< $(LIBRARY) $(LIBS)

bench-bulk: $(BENCH_BULK) ## a large table on one thread and on all cores
	$(BENCH_BULK)

bench: bench-bulk
.PHONY: bench-bulk
