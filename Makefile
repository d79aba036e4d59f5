# posref: build, verify, run. `make help` lists the targets.
.DEFAULT_GOAL := all
BUILD ?= build
CC ?= gcc
OPT ?= -O2 -g
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wstrict-prototypes \
       -Wmissing-prototypes -Wvla -Wundef -Wformat=2
# The user's CFLAGS come last, so that they win.
FLAGS = -std=c17 $(WARN) -ffp-contract=off -D_GNU_SOURCE -I. -MMD -MP $(OPT) $(CFLAGS)
LIBS_MATH = -lm
LIBS = -lsqlite3 -ljansson -lmicrohttpd -lpthread -ldl $(LIBS_MATH)

ROOMS = reference vectors harness server
SOURCES = $(foreach room,$(ROOMS),$(wildcard $(room)/*.c))
OBJECTS = $(SOURCES:%.c=$(BUILD)/%.o)
PLUGINS = $(patsubst harness/plugins/%.c,$(BUILD)/plugins/%.so,$(wildcard harness/plugins/*.c))
UNIT = $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))

all: $(BUILD)/posref $(PLUGINS) ## build the program and the example plugins

$(BUILD)/posref: $(BUILD)/posref.o $(OBJECTS)
	$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -c -o $@ $<

$(BUILD)/plugins/%.so: harness/plugins/%.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -fPIC -shared $(LDFLAGS) -o $@ $< -ldl -lm

# Every tests/unit/test_X.c is a program of its own with one Check suite (no fork).
$(BUILD)/tests/unit/%: tests/unit/%.c $(OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(LDFLAGS) -o $@ $< $(OBJECTS) $(LIBS) -lcheck -lsubunit -lrt

test-unit: $(UNIT) ## unit tests
	@set -e; for t in $(UNIT); do CK_FORK=no $$t; done

test: all test-unit ## build and run everything that verifies the project

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## this list
	@grep -hE '^[a-zA-Z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-zA-Z-]+):.*## /  \1\t/' | expand -t 20

-include $(OBJECTS:.o=.d) $(BUILD)/posref.d
.PHONY: all test test-unit clean help
