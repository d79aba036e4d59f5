# Bad plugins: each must get its verdict, and none may harm the harness. They are built without the
# sanitizers of the check-* targets: a sanitizer would stop them before the harness sees anything.
MUTANTS = $(patsubst tests/mutants/%.c,$(BUILD)/mutants/%.so,$(wildcard tests/mutants/*.c))
TEST_PROGRAMS += $(MUTANTS)
test-e2e test-unit: $(MUTANTS)

$(BUILD)/mutants/%.so: tests/mutants/%.c tests/mutants/mutant.h tests/mutants/faulty.h \
                       harness/posref_plugin.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(call step,MUTANT,$@)
	$(Q)$(CC) -std=c17 $(WARN) -Wno-unused-function -D_GNU_SOURCE -I. -O1 -g $(CFLAGS) -fPIC \
	    -shared -o $@ $< -lm
