# The independent oracle: encloses every stored value with Arb and certifies its rounding.
SUITE ?= core
ORACLE_MAINS = certify fuzz anchors extremes worst_cases flip norms
ORACLE_PROGRAMS = $(ORACLE_MAINS:%=$(BUILD)/tests/oracle/%)
ORACLE_COMMON = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(ORACLE_MAINS:%=tests/oracle/%.c) \
                tests/oracle/check_%.c,$(wildcard tests/oracle/*.c)))
ORACLE_LIBS = -lflint-arb -lflint -lgmp -lsqlite3 -ljansson -lm

TEST_PARTS += test-oracle test-digests
TEST_PROGRAMS += $(ORACLE_PROGRAMS) $(BUILD)/certify
fuzz: fuzz-oracle

$(ORACLE_PROGRAMS): $(BUILD)/tests/oracle/%: $(BUILD)/tests/oracle/%.o $(ORACLE_COMMON)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(ORACLE_LIBS)

$(BUILD)/certify: $(BUILD)/tests/oracle/certify
	@ln -f $< $@ 2>/dev/null || cp $< $@

# A suite's database, made anew when the program changes.
$(BUILD)/suites/%.db: $(BUILD)/posref
	@mkdir -p $(@D)
	@$(BUILD)/posref generate --suite $* -o $@

certify: $(BUILD)/certify $(BUILD)/suites/$(SUITE).db ## prove every value of a suite (SUITE=core)
	@$(BUILD)/certify $(BUILD)/suites/$(SUITE).db $(SUITE)

test-oracle: $(ORACLE_PROGRAMS) $(BUILD)/certify $(BUILD)/suites/smoke.db $(BUILD)/suites/core.db \
    $(BUILD)/print-layouts \
    ## certify smoke; that certify can fail; norms; extreme inputs; a short fuzz
	@$(RUN_TESTS) $@ $(BUILD)/results $(BUILD)/tests/oracle/anchors tests/oracle/test_*.sh

# FUZZ_SECONDS and SEED as wanted.
fuzz-oracle: $(BUILD)/posref $(BUILD)/tests/oracle/fuzz ## random specs through posref eval
	@$(BUILD)/tests/oracle/fuzz $(BUILD)/posref $(or $(FUZZ_SECONDS),60) $(SEED)

digest-matrix: $(BUILD)/posref $(BUILD)/posref-digest ## digests by compiler, libc, architecture
	@mkdir -p $(BUILD)/digests
	@$(BUILD)/posref generate --cases >$(BUILD)/digests/cases.txt
	@tests/oracle/digest_matrix.sh $(BUILD)/digests $(BUILD)/digests/cases.txt \
	    vectors/suites/digests.txt $(DIGEST_SOURCES)

test-digests: ## digest-matrix with clang and musl; verify-vectors has gcc
	+@ONLY='clang-O3-native musl-O2-static' \
	    $(MAKE) --no-print-directory digest-matrix

-include $(ORACLE_COMMON:.o=.d) $(ORACLE_PROGRAMS:=.d)
.PHONY: test-oracle test-digests certify fuzz-oracle digest-matrix
