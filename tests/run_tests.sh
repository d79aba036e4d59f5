#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs test programs, as many at a time as there are processors, and says in one line each how they
# ended.
#
#   run_tests.sh NAME RESULTS PROGRAM...
#
# A program passes with exit status 0, is skipped with 77 (its last line says why) and fails
# otherwise; its output is shown only when it fails or VERBOSE is set. A Check program counts as
# many checks as it reports, any other as one, or as many as its own last line "N passed, M failed"
# says. RESULTS/NAME keeps the counts for run_parts.sh. WRAP is put before each program (valgrind);
# TEST_TIMEOUT bounds each one's seconds; TEST_JOBS says how many run at a time.
set -uo pipefail

name=$1 results=$2
shift 2
mkdir -p "$results"
rm -f "$results/$name"
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
jobs=${TEST_JOBS:-$(nproc 2>/dev/null || echo 1)}
passed=0 failed=0 skipped=0

# Runs program number $1 and leaves its output, then its exit status and seconds.
run_one() {
    local number=$1 program=$2 began status
    began=$(date +%s%N)
    # WRAP is a command with arguments, so it is split into words on purpose.
    # shellcheck disable=SC2086
    timeout -k 10 "${TEST_TIMEOUT:-240}" ${WRAP:-} "$program" >"$work/$number.log" 2>&1 </dev/null
    status=$?
    awk -v status="$status" -v ns=$(($(date +%s%N) - began)) \
        'BEGIN { printf "%d %.1f\n", status, ns / 1e9 }' >"$work/$number.end"
}

# Sets good and bad from the exit status and the output of a program.
count_checks() {
    local status=$1 log=$2 line
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

# Says how program number $1 ended.
report() {
    local number=$1 program=$2 log=$work/$1.log label status seconds why
    label=$(basename "$program" .sh)
    read -r status seconds <"$work/$number.end"
    if [ "$status" -eq 77 ]; then
        skipped=$((skipped + 1))
        echo "skip    $label: $(tail -n 1 "$log")"
        return
    fi
    count_checks "$status" "$log"
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
}

# Lines appear in the order of the arguments, each as soon as all before it are there.
programs=("$@") started=0 reported=0
while [ "$reported" -lt "${#programs[@]}" ]; do
    while [ "$started" -lt "${#programs[@]}" ] && [ "$(jobs -rp | wc -l)" -lt "$jobs" ]; do
        run_one "$started" "${programs[started]}" &
        started=$((started + 1))
    done
    if [ -s "$work/$reported.end" ]; then
        report "$reported" "${programs[reported]}"
        reported=$((reported + 1))
    else
        wait -n 2>/dev/null || sleep 0.05
    fi
done
echo "$passed $failed $skipped" >"$results/$name"
echo "$name: $passed passed, $failed failed, $skipped skipped (${#programs[@]} programs)"
[ "$failed" -eq 0 ]
