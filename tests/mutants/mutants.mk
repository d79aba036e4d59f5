# Bad plugins: each must get its verdict, and none may harm the harness. They are built without the
# sanitizers of the check-* targets: a sanitizer would stop them before the harness sees anything.
MUTANTS = $(patsubst tests/mutants/%.c,$(BUILD)/mutants/%.so,$(wildcard tests/mutants/*.c))
TEST_PROGRAMS += $(MUTANTS)
test-e2e test-unit: $(MUTANTS)
kill-matrix test-kill-matrix seeded-faults test-seeded-faults: all $(MUTANTS) $(CORE_DB)

$(BUILD)/mutants/%.so: tests/mutants/%.c $(wildcard tests/mutants/*.h) harness/posref_plugin.h \
                       $(BUILD)/flags
	@mkdir -p $(@D)
	$(call step,MUTANT,$@)
	$(Q)$(CC) -std=c17 $(WARN) -Wno-unused-function -D_GNU_SOURCE -I. -O1 -g $(CFLAGS) -fPIC \
	    -shared -o $@ $< -lm

# The proof that faults are caught and named: docs/kill-matrix.md, and a fixed tenth as a test.
kill-matrix: ## write docs/kill-matrix.md: each fault, caught and named or not
	@$(TEST_ENV) tests/mutants/kill_matrix.sh >$(BUILD)/kill-matrix.md
	@mv $(BUILD)/kill-matrix.md docs/kill-matrix.md

test-kill-matrix: ## a fixed tenth of the kill matrix
	@$(RUN_TESTS) $@ $(BUILD)/results tests/mutants/test_kill_matrix.sh
TEST_PARTS += test-kill-matrix
.PHONY: kill-matrix test-kill-matrix

# The 26 seeded faults of the experiment: docs/seeded-faults.md, and their verdicts as a test.
seeded-faults: ## write docs/seeded-faults.md: how core kills 26 published faults
	@$(TEST_ENV) tests/mutants/seeded_faults.sh >$(BUILD)/seeded-faults.md
	@mv $(BUILD)/seeded-faults.md docs/seeded-faults.md

test-seeded-faults: ## each of 26 published faults is killed, or a known recipe
	@$(RUN_TESTS) $@ $(BUILD)/results tests/mutants/test_seeded_faults.sh
TEST_PARTS += test-seeded-faults
.PHONY: seeded-faults test-seeded-faults
