# The independent oracle: encloses every stored value with Arb and certifies its rounding.
SUITE ?= core
ORACLE_MAINS = certify fuzz anchors extremes worst_cases flip
ORACLE_HAVE = $(filter $(ORACLE_MAINS),$(basename $(notdir $(wildcard tests/oracle/*.c))))
ORACLE_PROGRAMS = $(ORACLE_HAVE:%=$(BUILD)/tests/oracle/%)
ORACLE_COMMON = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(ORACLE_MAINS:%=tests/oracle/%.c) \
                tests/oracle/check_%.c,$(wildcard tests/oracle/*.c)))
ORACLE_LIBS = -lflint-arb -lflint -lgmp -lsqlite3 -ljansson -lm

TEST_PARTS += test-oracle
TEST_PROGRAMS += $(ORACLE_PROGRAMS)

$(ORACLE_PROGRAMS): $(BUILD)/tests/oracle/%: $(BUILD)/tests/oracle/%.o $(ORACLE_COMMON)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(ORACLE_LIBS)

test-oracle: $(ORACLE_PROGRAMS) ## the oracle against published values
	@$(RUN_TESTS) $@ $(BUILD)/results $(BUILD)/tests/oracle/anchors

-include $(ORACLE_COMMON:.o=.d) $(ORACLE_PROGRAMS:=.d)
.PHONY: test-oracle
