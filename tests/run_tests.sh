#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs test programs one after another and says in one line each how they ended.
#
#   run_tests.sh NAME RESULTS PROGRAM...
#
# A program passes with exit status 0, is skipped with 77 (its last line says why) and fails
# otherwise; its output is shown only when it fails or VERBOSE is set. A Check program counts as
# many checks as it reports, any other as one, or as many as its own last line "N passed, M failed"
# says. RESULTS/NAME keeps the counts for run_parts.sh. WRAP is put before each program (valgrind);
# TEST_TIMEOUT bounds each one's seconds.
set -uo pipefail

name=$1 results=$2
shift 2
mkdir -p "$results"
rm -f "$results/$name"
log=$(mktemp) || exit 3
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0 programs=0

# Sets good and bad from the program's status and what it printed.
count_checks() {
    local status=$1 line
    good=0 bad=0
    line=$(grep -aE '^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+' "$log" | tail -n 1)
    if [ -n "$line" ]; then
        read -r good bad < <(awk '{ print $3 - $5 - $7, $5 + $7 }' <<<"${line//,/}")
    else
        line=$(grep -aoE '[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
        if [ -n "$line" ]; then read -r good bad < <(awk '{ print $1, $3 }' <<<"$line"); fi
    fi
    # The exit status has the last word: a program that dies after good checks has failed.
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
    if [ "$status" -eq 0 ] && [ "$good" -eq 0 ]; then good=1; fi
    if [ "$status" -eq 0 ] && [ "$bad" -ne 0 ]; then bad=0; fi
}

for program in "$@"; do
    programs=$((programs + 1))
    label=$(basename "$program" .sh)
    began=$(date +%s%N)
    # WRAP is a command with arguments, so it is split into words on purpose.
    # shellcheck disable=SC2086
    timeout -k 10 "${TEST_TIMEOUT:-240}" ${WRAP:-} "$program" >"$log" 2>&1 </dev/null
    status=$?
    seconds=$(awk -v ns=$(($(date +%s%N) - began)) 'BEGIN { printf "%.1f", ns / 1e9 }')
    if [ "$status" -eq 77 ]; then
        skipped=$((skipped + 1))
        echo "skip    $label: $(tail -n 1 "$log")"
        continue
    fi
    count_checks "$status"
    passed=$((passed + good)) failed=$((failed + bad))
    if [ "$status" -eq 0 ]; then
        echo "ok      $label: $good in $seconds s"
        if [ -n "${VERBOSE:-}" ]; then sed 's/^/        /' "$log"; fi
    else
        why="exit status $status"
        if [ "$status" -eq 124 ]; then why="not done after ${TEST_TIMEOUT:-240} s"; fi
        echo "not ok  $label: $why ($program)"
        sed 's/^/        /' "$log" | tail -n "${FAIL_LINES:-60}"
    fi
done
echo "$passed $failed $skipped" >"$results/$name"
echo "$name: $passed passed, $failed failed, $skipped skipped ($programs programs)"
[ "$failed" -eq 0 ]
