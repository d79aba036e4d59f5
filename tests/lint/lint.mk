# Static checks. Each part runs alone; compiler warnings are errors here and in CI, not for users.
# These builds are thrown away, so they do without a debugger's data.
LINT = $(BUILD)/lint
LINT_MAKE = $(MAKE) $(PARALLEL) --no-print-directory CFLAGS='-Werror -g0 $(CFLAGS)'
HEADERS = $(foreach room,$(ROOMS),$(wildcard $(room)/*.h))
SCRIPTS = $(wildcard .ci/run tests/*.sh tests/*/*.sh)
JSON = $(wildcard *.json vectors/*.json vectors/*/*.json schema/*.json schema/*/*.json \
         tests/*/*.json)

lint: ## every static check: rules, gcc and clang with -Werror, cppcheck, shellcheck, JSON
	@tests/setup.sh run test lint
	+@$(MAKE) --no-print-directory -k lint-rules lint-data lint-scripts lint-headers lint-gcc \
	    lint-clang lint-state lint-cppcheck
	@echo 'lint: clean'

lint-rules: ## rooms, banned functions, SPDX lines, columns, links of documents
	@tests/lint/rules.pl

lint-data: ## JSON files parse, the SQL schema loads
	@for f in $(JSON); do jq empty "$$f" || { echo "$$f: not JSON"; exit 1; }; done
	@for f in $(wildcard schema/*.sql); do sqlite3 -bail :memory: <"$$f" || exit 1; done

lint-scripts: ## shellcheck of every script
	@shellcheck $(SCRIPTS)

lint-headers: ## every header compiles alone
	@for h in $(HEADERS); do \
	    $(CC) -std=c17 $(WARN) -Werror -D_GNU_SOURCE -I. -fsyntax-only -include "$$h" \
	        -x c /dev/null || { echo "$$h: does not compile alone"; exit 1; }; done

lint-gcc: ## compile everything with gcc -Werror
	@mkdir -p $(LINT)
	+@$(LINT_MAKE) BUILD=$(LINT)/gcc CC=gcc all tests >$(LINT)-gcc.log || \
	    { tail -n 20 $(LINT)-gcc.log; exit 1; }

lint-clang: ## compile everything with clang -Werror
	@mkdir -p $(LINT)
	+@$(LINT_MAKE) BUILD=$(LINT)/clang CC=clang all tests >$(LINT)-clang.log || \
	    { tail -n 20 $(LINT)-clang.log; exit 1; }

lint-state: lint-gcc ## no variable outside functions' stacks, no I/O in reference/
	@tests/lint/state.sh $(LINT)/gcc

lint-cppcheck: ## cppcheck
	@mkdir -p $(LINT)/cppcheck
	@cppcheck -q -j2 --std=c11 --enable=warning,performance,portability --inline-suppr -I. \
	    -D_GNU_SOURCE --cppcheck-build-dir=$(LINT)/cppcheck --error-exitcode=1 \
	    --suppress=missingIncludeSystem posref.c $(ROOMS)

.PHONY: lint lint-rules lint-data lint-scripts lint-headers lint-gcc lint-clang lint-state \
        lint-cppcheck
