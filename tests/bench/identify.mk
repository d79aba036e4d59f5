# How long identify takes, plugin by plugin.
IDENTIFY_TOOLS = $(MUTANTS) $(BUILD)/tests/bench/measure

bench-identify: all $(IDENTIFY_TOOLS) ## posref identify beside the plugin's own time
	@$(TEST_ENV) tests/bench/identify.sh

bench: bench-identify
.PHONY: bench-identify
