# The service's own build steps: schema/openapi.json goes into the program as C source.
OBJECTS += $(BUILD)/server/openapi.o

$(BUILD)/server/openapi.c: schema/openapi.json
	@mkdir -p $(@D)
	@{ echo '/* Generated from $<. */'; \
	   echo '#include "server/handle.h"'; \
	   echo 'const char posref_openapi[] = {'; \
	   od -An -v -tx1 $< | sed 's/ \([0-9a-f][0-9a-f]\)/ 0x\1,/g'; \
	   echo '0};'; } >$@.part && mv $@.part $@

$(BUILD)/server/openapi.o: $(BUILD)/server/openapi.c $(BUILD)/flags
	@echo '  CC      $@'
	@$(CC) $(FLAGS) -c -o $@ $<
