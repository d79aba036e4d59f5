#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test runner counts what programs report, believes exit statuses over words, bounds time, and
# fails when anything fails, and so does what runs the parts: otherwise no other test could be
# trusted.
set -euo pipefail

runner=$(cd "$(dirname "$0")/.." && pwd)/run_tests.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
passed=0 failed=0

check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        echo "$1: got '$2', want '$3'"
        failed=$((failed + 1))
    fi
}

# program NAME LINE...: a shell script of these lines.
program() {
    printf '%s\n' '#!/bin/bash' "${@:2}" >"$1"
    chmod +x "$1"
}

# verdict PROGRAM...: what the runner says at the end, and its exit status.
verdict() {
    local status=0
    unset VERBOSE WRAP
    TEST_TIMEOUT=2 "$runner" name results "${@/#/.\/}" >out || status=$?
    echo "$(tail -n 1 out) $status"
}

program good 'exit 0'
program counted 'echo "5 passed, 0 failed"'
program check 'echo "100%: Checks: 7, Failures: 0, Errors: 0"'
program skipped 'echo no registry here' 'exit 77'
program bad 'echo why not' 'exit 1'
program half 'echo "3 passed, 2 failed"' 'exit 1'
program checked 'echo "60%: Checks: 5, Failures: 1, Errors: 1"' 'exit 1'
program liar 'echo "9 passed, 0 failed"' 'kill -SEGV $$'
program endless 'sleep 60'

check 'all good' "$(verdict good counted check)" \
    'name: 13 passed, 0 failed, 0 skipped (3 programs) 0'
check 'results' "$(cat results/name)" '13 0 0'
check 'skip' "$(verdict good skipped)" 'name: 1 passed, 0 failed, 1 skipped (2 programs) 0'
check 'skip says why' "$(grep ^skip out)" 'skip    skipped: no registry here'
check 'bad' "$(verdict bad good)" 'name: 1 passed, 1 failed, 0 skipped (2 programs) 1'
check 'bad shows its output' "$(grep -c 'why not' out)" 1
check 'half' "$(verdict half)" 'name: 3 passed, 2 failed, 0 skipped (1 programs) 1'
check 'checked' "$(verdict checked)" 'name: 3 passed, 2 failed, 0 skipped (1 programs) 1'
check 'liar' "$(verdict liar)" 'name: 9 passed, 1 failed, 0 skipped (1 programs) 1'
check 'endless' "$(verdict endless)" 'name: 0 passed, 1 failed, 0 skipped (1 programs) 1'
check 'missing' "$(verdict nowhere)" 'name: 0 passed, 1 failed, 0 skipped (1 programs) 1'
check 'order' "$(verdict endless good counted | wc -l; grep -E '^(ok|not)' out | cut -d: -f1 |
    awk '{ print $NF }' | tr '\n' ' ')" "1
endless good counted "

# A make of its own: a part of counts passes, another fails.
# shellcheck disable=SC2016 # the program's own parameters
program make 'echo "made $2"' 'case $2 in counts) echo "7 0 1" >parts/$2 ;; bad) exit 1 ;; esac'
parts() {
    local status=0
    "${runner%/*}/run_parts.sh" ./make parts "$@" >out || status=$?
    echo "$(tail -n 1 out | sed 's/ in .*//') $status"
}
check 'parts' "$(parts counts good)" 'test: 8 passed, 0 failed, 1 skipped 0'
check 'parts beside' "$(parts good -- counts good2)" 'test: 9 passed, 0 failed, 1 skipped 0'
check 'what they print, in order' "$(grep ^made out | xargs)" 'made good made counts made good2'
check 'a bad part' "$(parts bad -- counts)" 'test: 7 passed, 1 failed, 1 skipped 1'
check 'a bad part beside' "$(parts good -- counts bad good2)" \
    'test: 9 passed, 1 failed, 1 skipped 1'
check 'is named' "$(grep -c '^FAILED: bad ' out)" 1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
