# What the end-to-end tests hold reports against: the schemas.
FITS_SCHEMA = $(BUILD)/tests/e2e/fits_schema
TEST_PROGRAMS += $(FITS_SCHEMA)
test-e2e: $(FITS_SCHEMA)

$(FITS_SCHEMA): $(BUILD)/tests/e2e/fits_schema.o $(BUILD)/tests/unit/json_schema.o
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ -ljansson $(LIBS_MATH)

-include $(BUILD)/tests/e2e/fits_schema.d
