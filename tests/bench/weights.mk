# weights check beside cat: make bench-weights BENCH_WEIGHTS_MB=512
WEIGHTS_TOOLS = $(BUILD)/tests/bench/weights_pair $(BUILD)/tests/bench/measure

$(BUILD)/tests/bench/weights_pair: $(BUILD)/tests/bench/weights_pair.o $(UNIT_SHARED) $(LIBRARY)
	$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_CHECK) $(LIBS)

$(BUILD)/tests/bench/measure: $(BUILD)/tests/bench/measure.o
	$(CC) $(FLAGS) $(LDFLAGS) -o $@ $<

bench-weights: $(BUILD)/posref $(WEIGHTS_TOOLS) ## weights check beside cat on a pair of checkpoints
	@$(TEST_ENV) tests/bench/weights.sh

bench: bench-weights
.PHONY: bench-weights
