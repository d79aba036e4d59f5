# SPDX-License-Identifier: Apache-2.0
# Shared by the end-to-end tests: run a command, compare its exit code and output, count.
# The caller sources this file, runs checks, and ends with `finish`.
# shellcheck shell=bash

# shellcheck source=tests/e2e/json.sh
. "$(dirname "${BASH_SOURCE[0]}")/json.sh"

POSREF=${POSREF:?the program under test}
schemas=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../schema" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
unset POSREF_DB
n_passed=0 n_failed=0

ok() { n_passed=$((n_passed + 1)); }
bad() { n_failed=$((n_failed + 1)) && echo "FAILED: $*"; }

# run ARGUMENT...: posref with the arguments; sets status, and leaves its output in out and err.
run() {
    "$POSREF" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    case ${1-} in
    test | merge) fit_schemas -newer "$work/seen" && : >"$work/seen" ;;
    esac
}

# fit_schemas FIND-TEST...: the reports below $work are as their schemas say.
: >"$work/seen"
fit_schemas() {
    find "$work" -type f "$@" ! -name '*.db' -print0 >"$work/found.reports"
    xargs -0r "${BUILD:-build}/tests/e2e/fits_schema" "$schemas" <"$work/found.reports" \
        2>"$work/unfit" || bad "$(head -n 5 "$work/unfit")"
}

# succeeds ARGUMENT...: exit 0 and nothing on stderr.
succeeds() {
    run "$@"
    if [ "$status" -eq 0 ] && [ ! -s "$work/err" ]; then ok; else
        bad "$* exits $status: $(head -c 300 "$work/err")"
    fi
}

# refuses TEXT ARGUMENT...: exit 2, one line on stderr that holds TEXT, nothing on stdout.
refuses() {
    local text=$1
    shift
    run "$@"
    if [ "$status" -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -s "$work/out" ] &&
        grep -qF -- "$text" "$work/err"; then ok; else
        bad "$* exits $status, not 2 with '$text': $(head -c 300 "$work/err" "$work/out")"
    fi
}

# says JQ: the last output is JSON for which the jq expression is true.
says() {
    if jq -e "$1" "$work/out" >/dev/null 2>&1; then ok; else
        bad "$1 is not true of $(head -c 300 "$work/out")"
    fi
}

# same A B WHAT
same() {
    if [ "$1" = "$2" ]; then ok; else bad "$3: '$1' is not '$2'"; fi
}

# core_db: sets db to a database of core, which make has made, or which is made here.
core_db() {
    db=${CORE_DB:-$work/core.db}
    if [ ! -s "$db" ]; then succeeds generate --suite core -o "$db"; fi
}

# fenced WORD: of a Markdown page on stdin, what stands in the fences that are marked so.
fenced() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```$/ { on = 0 } on'; }

# help_example COMMAND: --help exits 0, and its example runs (in $work, --db left to the default).
help_example() {
    local example
    succeeds "$1" --help
    example=$(grep -A1 '^Example' "$work/out" | tail -n 1 | sed 's/^ *posref //')
    if [ -z "$example" ]; then bad "$1 --help has no example" && return; fi
    # The example is a line of words without quotes.
    # shellcheck disable=SC2086
    if (cd "$work" && "$POSREF" $example >"$work/out" 2>"$work/err"); then ok; else
        bad "the example of $1 --help: posref $example: $(cat "$work/err")"
    fi
}

finish() {
    fit_schemas
    echo "$n_passed passed, $n_failed failed"
    [ "$n_failed" -eq 0 ]
}
