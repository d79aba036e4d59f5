#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The lint rules find each kind of offence seeded here, and nothing in a clean file.
set -euo pipefail

rules=$(cd "$(dirname "$0")/.." && pwd)/lint/rules.pl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p reference vectors harness/plugins server tests/oracle docs
passed=0 failed=0

# c LINE...: a C file with the two lines that every file has, then these.
c() {
    printf '%s\n' '/* SPDX-License-Identifier: Apache-2.0 */' '/* A file of the test. */' "$@"
}

# found PATTERN FILE: the rules, run on FILE, must fail and print PATTERN.
found() {
    local output
    if ! output=$("$rules" "$2") && grep -qE "$1" <<<"$output"; then
        passed=$((passed + 1))
    else
        printf 'not found in %s: %s\n%s\n' "$2" "$1" "$output"
        failed=$((failed + 1))
    fi
    rm -f "$2"
}

# found_c PATTERN FILE LINE...: the same for a C file of these lines.
found_c() {
    c "${@:3}" >"$2"
    found "$1" "$2"
}

found_c 'reference may not include' reference/a.c '#include "vectors/vectors.h"'
found_c 'vectors may not include' vectors/a.c '#include "harness/harness.h"'
found_c 'harness may not include' harness/a.c '#include "server/server.h"'
found_c 'harness may not include' harness/a.c '#include "vectors/buffer.h"'
found_c 'vectors may not include' vectors/a.c '#include "reference/turn.h"'
found_c 'posref.c may not include' posref.c '#include "harness/worker.h"'
found_c 'belongs to vectors' server/a.c '#include <sqlite3.h>'
found_c 'belongs to server' harness/a.c '#include <microhttpd.h>'
found_c 'libc and libm only' reference/a.c '#include <jansson.h>'
found_c 'libc and libm only' reference/a.c '#include <pthread.h>'
found_c 'oracle must not see' tests/oracle/a.c '#include "reference/reference.h"'
found_c 'a plugin includes' harness/plugins/a.c '#include "reference/reference.h"'
found_c 'a.c:3: strcpy\(\)' vectors/a.c 'void f(char *a) { strcpy(a, ""); }'
found_c 'atoi\(\) hides errors' vectors/a.c 'int f(char *a) { return atoi(a); }'
found_c 'printf\(\) only in posref.c' harness/a.c 'void f(void) { printf("a"); }'
found_c 'exit\(\) only in posref.c' vectors/a.c 'void f(void) { exit(1); }'
found_c 'stderr only in posref.c' server/a.c 'void f(void) { fputs("a", stderr); }'
found_c 'malloc\(\): reference' reference/a.c 'void *f(void) { return malloc(1); }'
found_c 'a.c:3: tab' vectors/a.c $'\tint a;'
found_c '106 columns' vectors/a.c "$(printf '/* %0100d */' 0)"
found_c 'space at the end' vectors/a.c 'int a; '
found_c 'docs/nowhere.md does not exist' vectors/a.c '/* See docs/nowhere.md. */'
found_c 'a note to self' vectors/a.c '/* TO''DO: later */'
echo 'int a;' >vectors/a.c
found 'SPDX' vectors/a.c
printf '%s\n' '/* SPDX-License-Identifier: Apache-2.0 */' 'int a;' >vectors/a.c
found 'role' vectors/a.c
echo '[here](nowhere.md)' >docs/a.md
found 'nowhere.md, which does not exist' docs/a.md
printf '#!/bin/bash\necho\n' >tests/a.sh
found 'second line must be # SPDX' tests/a.sh

# What is allowed stays silent: comments, strings, a named exception, command files, own headers.
c '#include "reference/reference.h"' '#include "vectors/buffer.h"' '#include <sqlite3.h>' \
    '/* strcpy() is banned, so we */' 'const char *a = "printf(\"x\")";' \
    'void f(void) { exit(1); /* lint: allow exit: the test of the exception */ }' >vectors/a.c
c 'void f(void) { printf("a"); fputs("b", stderr); }' >vectors/cmd_a.c
if "$rules" vectors/a.c vectors/cmd_a.c; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
fi

# A large file that git keeps, in a checkout of its own. Where there is no git, nothing is kept.
if command -v git >/dev/null; then
    git init -q large
    head -c 1048577 /dev/zero >large/golden.db
    git -C large add golden.db
    if output=$(cd large && "$rules") || ! grep -q 'golden.db: 1048577 bytes' <<<"$output"; then
        printf 'a tracked database is not found\n%s\n' "$output"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
