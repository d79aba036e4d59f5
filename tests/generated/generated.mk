# Files that are committed and made by programs; tests compare them.
$(BUILD)/print-layouts: $(BUILD)/tests/generated/print_layouts.o $(LIBRARY)
$(BUILD)/print-generated: $(BUILD)/tests/generated/print.o $(LIBRARY)
$(BUILD)/print-layouts $(BUILD)/print-generated:
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

generated: $(BUILD)/posref $(BUILD)/posref-digest $(BUILD)/print-generated \
    ## make again what programs make and git holds: docs, schema, digests
	@$(BUILD)/print-generated spec >$(BUILD)/generated.part
	@mv $(BUILD)/generated.part schema/spec.schema.json
	@$(BUILD)/print-generated schemes >$(BUILD)/schemes.json
	@jq -r -f tests/e2e/schemes.jq $(BUILD)/schemes.json >docs/schemes.md
	@jq -r -f tests/e2e/choosing.jq $(BUILD)/schemes.json >docs/choosing.md
	@$(BUILD)/print-generated ops >$(BUILD)/ops.txt
	@jq --slurpfile schemes $(BUILD)/schemes.json --rawfile ops $(BUILD)/ops.txt \
	    -f tests/generated/openapi.jq schema/openapi.json >$(BUILD)/generated.part
	@mv $(BUILD)/generated.part schema/openapi.json
	@$(BUILD)/print-generated faults >$(BUILD)/faults.json
	@jq -r -f tests/e2e/faults.jq $(BUILD)/faults.json >docs/faults.md
	@$(BUILD)/posref models --format markdown >$(BUILD)/models.rows
	@awk -f tests/generated/models.awk $(BUILD)/models.rows docs/models.md >$(BUILD)/generated.part
	@mv $(BUILD)/generated.part docs/models.md
	@$(BUILD)/posref generate --cases >$(BUILD)/cases.txt
	@$(BUILD)/posref-digest $(BUILD)/cases.txt >$(BUILD)/generated.part
	@mv $(BUILD)/generated.part vectors/suites/digests.txt
	@sed -E "s/smoke [0-9]+ \([0-9a-f]{12}\.\.\.\)/$$(awk '$$1 == "smoke" \
	    { printf "smoke %s (%.12s...)", $$2, $$3 }' vectors/suites/digests.txt)/" README.md \
	    >$(BUILD)/generated.part
	@mv $(BUILD)/generated.part README.md

-include $(BUILD)/tests/generated/print.d $(BUILD)/tests/generated/print_layouts.d
.PHONY: generated
