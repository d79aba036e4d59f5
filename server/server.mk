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

# The explorer page goes in whole: what is in server/web/, and Chart.js as the system has it.
OBJECTS += $(BUILD)/server/web_files.o
WEB_FILES = $(wildcard server/web/*)
CHART_JS ?= $(firstword $(wildcard /usr/share/javascript/chart.js/chart.min.js \
    /usr/share/javascript/chart.js/Chart.min.js node_modules/chart.js/dist/chart.umd.js))

$(BUILD)/server/web_files.c: server/web.sh $(WEB_FILES) $(CHART_JS)
	@mkdir -p $(@D)
	@sh server/web.sh '$(CHART_JS)' $(WEB_FILES) >$@.part && mv $@.part $@

$(BUILD)/server/web_files.o: $(BUILD)/server/web_files.c server/web.h $(BUILD)/flags
	@echo '  CC      $@'
	@$(CC) $(FLAGS) -c -o $@ $<
