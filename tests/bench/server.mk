# The service beside nginx: make bench-server BENCH_ROUNDS=7 BENCH_SECONDS=5
BENCH_ROUNDS ?= 5
BENCH_SECONDS ?= 3

bench-server: $(BUILD)/posref ## the service beside nginx serving the same bytes (nginx, wrk)
	@tests/setup.sh bench
	@tests/bench/server.sh $(BUILD)/posref $(BENCH_ROUNDS) $(BENCH_SECONDS)

bench: bench-server
.PHONY: bench-server
