# Programs of the end-to-end tests: what reports are held against, and a kernel that is right.
FITS_SCHEMA = $(BUILD)/tests/e2e/fits_schema
KERNEL = $(BUILD)/tests/e2e/kernel
TEST_PROGRAMS += $(FITS_SCHEMA) $(KERNEL)
test-e2e: $(FITS_SCHEMA) $(KERNEL)

$(FITS_SCHEMA): $(BUILD)/tests/e2e/fits_schema.o $(BUILD)/tests/unit/json_schema.o
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ -ljansson $(LIBS_MATH)

$(KERNEL): $(BUILD)/tests/e2e/kernel.o $(LIBRARY)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

-include $(FITS_SCHEMA:=.d) $(KERNEL:=.d)
