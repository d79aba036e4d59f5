# posref: build, verify, run. `make help` lists the targets.
#
# Variables: CC, CFLAGS and LDFLAGS are the user's and come last, so that they win; OPT is our
# optimisation; BUILD is the output directory; PREFIX and DESTDIR say where to install.
# A room's sources are found by wildcard. A directory that needs targets of its own has a .mk file,
# which is included below; it may extend TEST_PARTS, bench, fuzz and verify-vectors.
.DEFAULT_GOAL := all
BUILD ?= build
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC = gcc
endif
OPT ?= -O2 -g
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wstrict-prototypes \
       -Wmissing-prototypes -Wvla -Wundef -Wformat=2
# SANITIZE belongs to the check-* targets, so that a user's CFLAGS can be added to them.
FLAGS = -std=c17 $(WARN) -ffp-contract=off -D_GNU_SOURCE -I. -MMD -MP $(OPT) $(SANITIZE) $(CFLAGS)
# What our own sub-makes add: all processors, unless the user said how many with -j.
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))
LIBS_MATH = -lm
LIBS = -lsqlite3 -ljansson -lmicrohttpd -lz -lpthread -ldl $(LIBS_MATH)
LIBS_CHECK = -lcheck -lsubunit -lrt

ROOMS = reference vectors harness server
SOURCES = $(foreach room,$(ROOMS),$(wildcard $(room)/*.c))
OBJECTS = $(SOURCES:%.c=$(BUILD)/%.o)
LIBRARY = $(BUILD)/libposref.a
PLUGINS = $(patsubst harness/plugins/%.c,$(BUILD)/plugins/%.so,$(wildcard harness/plugins/*.c))
UNIT_SOURCES = $(wildcard tests/unit/test_*.c)
UNIT = $(UNIT_SOURCES:%.c=$(BUILD)/%)
# Code that several unit tests share: every tests/unit/*.c that is no test itself.
UNIT_SHARED = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(UNIT_SOURCES),$(wildcard tests/unit/*.c)))
# The longest first, so that the others fill the processors up to the end.
E2E_LONG = server_check page reports plugin_doc models resolve_families resolve connections \
           properties shards server exec resolve_towers selftest drawn suites layouts \
           server_life identify
E2E = $(E2E_LONG:%=tests/e2e/test_%.sh) \
      $(filter-out $(E2E_LONG:%=tests/e2e/test_%.sh),$(wildcard tests/e2e/test_*.sh))

# The parts of `make test`: each is a target that runs alone too. Those after -- run beside the
# first two, in order.
TEST_PARTS = test-unit test-e2e -- verify-vectors
# What tests need, made by `make tests` before any of them runs.
CORE_DB = $(BUILD)/suites/core.db
TEST_PROGRAMS = $(UNIT) $(CORE_DB)
# A sanitizer's finding must not look like an ordinary failure, and crash tests need real signals.
export ASAN_OPTIONS = detect_leaks=1:handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0
export UBSAN_OPTIONS = print_stacktrace=1
# What test scripts see: the program, the directory of the build, its compiler, and core, which
# they read where it is.
TEST_ENV = POSREF=$(abspath $(BUILD)/posref) BUILD=$(abspath $(BUILD)) CC='$(CC)' CK_FORK=no \
           CORE_DB=$(abspath $(CORE_DB))
RUN_TESTS = $(TEST_ENV) tests/run_tests.sh

# One short line a step; V=1 shows the commands instead.
Q = $(if $(V),,@)
step = $(if $(V),,@echo '  $1	$2')

include $(wildcard reference/*.mk vectors/*.mk harness/*.mk server/*.mk tests/*/*.mk)


all: $(BUILD)/posref $(PLUGINS) ## build the program and the example plugins

run: ## install what is missing, build, judge a right and a wrong plugin, say how to serve
	@tests/setup.sh run
	+@$(MAKE) --no-print-directory $(PARALLEL) all
	@tests/tour.sh $(BUILD)

$(BUILD)/posref: $(BUILD)/posref.o $(LIBRARY)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(LIBRARY): $(OBJECTS)
	$(call step,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# The dependencies name $(BUILD) itself, so that they hold however it is spelt.
$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call step,CC,$<)
	$(Q)$(CC) $(FLAGS) -MT '$$(BUILD)/$*.o' -c -o $@ $<

$(BUILD)/plugins/%.so: harness/plugins/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call step,PLUGIN,$@)
	$(Q)$(CC) $(FLAGS) -fPIC -shared $(LDFLAGS) -MF $(@:.so=.d) -o $@ $< -ldl -lm

$(UNIT): $(BUILD)/%: $(BUILD)/%.o $(UNIT_SHARED) $(LIBRARY)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_CHECK) $(LIBS)

# Rebuilds everything when the compiler or a flag changes: the file changes only then.
$(BUILD)/flags: export STAMP = $(CC) $(FLAGS) $(LDFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' "$$STAMP" | cmp -s - $@ || printf '%s\n' "$$STAMP" > $@
FORCE:


test: ## install what is missing, build and run everything that verifies the project
	@tests/setup.sh run test
	+@$(MAKE) --no-print-directory $(PARALLEL) all tests
	+@tests/run_parts.sh '$(MAKE)' $(BUILD)/results $(TEST_PARTS)

tests: $(TEST_PROGRAMS) ## build the test programs

test-unit: $(UNIT) ## unit tests
	@$(RUN_TESTS) $@ $(BUILD)/results $(UNIT)

test-e2e: all $(CORE_DB) ## end-to-end tests: the commands and the service as users run them
	@$(RUN_TESTS) $@ $(BUILD)/results $(E2E)

test-thirdparty: ## real implementations from npm; one line says so where they cannot be had

test-fresh: ## both commands in a fresh Debian 12 root (needs root and debootstrap)
	@tests/fresh-root.sh $(BUILD)/fresh

CHECKED = all tests test-unit test-e2e
check-asan: ## unit and end-to-end tests under AddressSanitizer
	+@$(MAKE) $(PARALLEL) BUILD=$(BUILD)/asan OPT='-O1 -g -fno-omit-frame-pointer' \
	    SANITIZE='-fsanitize=address -fno-sanitize-recover=all' $(CHECKED)

check-ubsan: ## unit and end-to-end tests under UndefinedBehaviorSanitizer
	+@$(MAKE) $(PARALLEL) BUILD=$(BUILD)/ubsan OPT='-O1 -g' \
	    SANITIZE='-fsanitize=undefined -fno-sanitize-recover=all' $(CHECKED)

check-valgrind: all $(UNIT) ## unit tests under valgrind
	@WRAP='valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite' \
	    TEST_TIMEOUT=900 $(RUN_TESTS) $@ $(BUILD)/results $(UNIT)

fuzz: ## run each fuzzer for a minute (the parts are fuzz-*)

bench: ## measure speed (the parts are bench-*)


vectors: $(BUILD)/posref ## write the golden database of core to build/core.db
	@$(BUILD)/posref generate --suite core -o $(BUILD)/core.db

# What install puts under PREFIX; the program needs none of it but itself (suites are embedded).
INSTALL_BIN = $(BUILD)/posref
INSTALL_INCLUDE = harness/posref_plugin.h
INSTALL_SCHEMA = $(wildcard schema/*)
INSTALL_DOCS = $(wildcard docs/*.md)
DEST = $(DESTDIR)$(PREFIX)

install: all $(MUTANTS) ## install program, plugin header, schemas, documents (PREFIX, DESTDIR)
	install -d $(DEST)/bin $(DEST)/include $(DEST)/share/posref/schema \
	    $(DEST)/share/doc/posref/docs
	install -m 755 $(INSTALL_BIN) $(DEST)/bin/
	install -d $(DEST)/libexec/posref/mutants
	install -m 755 $(MUTANTS) $(DEST)/libexec/posref/mutants/
	install -m 644 $(INSTALL_INCLUDE) $(DEST)/include/
	install -m 644 $(INSTALL_SCHEMA) $(DEST)/share/posref/schema/
	install -m 644 README.md LICENSE $(DEST)/share/doc/posref/
	install -m 644 $(INSTALL_DOCS) $(DEST)/share/doc/posref/docs/

uninstall: ## remove what install put there
	rm -f $(DEST)/bin/posref $(DEST)/include/posref_plugin.h
	rm -rf $(DEST)/share/posref $(DEST)/share/doc/posref $(DEST)/libexec/posref

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## this list
	@grep -hE '^[a-zA-Z0-9-]+:.*## ' $(MAKEFILE_LIST) | \
	    sed -E 's/^([a-zA-Z0-9-]+):.*## /  \1\t/' | expand -t 27

-include $(OBJECTS:.o=.d) $(BUILD)/posref.d $(PLUGINS:.so=.d) $(UNIT:=.d) $(UNIT_SHARED:.o=.d)
.SECONDARY:
.PHONY: all run test tests test-unit test-e2e check-asan check-ubsan check-valgrind test-fresh \
        test-thirdparty fuzz bench vectors install uninstall clean help FORCE
