#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the parts of `make test`, goes on after one that fails, and sums up at the end.
#
#   run_parts.sh MAKE RESULTS PART... [-- PART...]
#
# Parts run in turn. Those after -- run in turn beside the others, which rarely keep every processor
# busy; what they print follows when the others are done.
set -uo pipefail

make=$1 results=$2
shift 2
rm -rf "$results"
mkdir -p "$results"
began=$SECONDS passed=0 failed=0 skipped=0 broken=() parts=() beside=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do parts+=("$1") && shift; done
if [ $# -gt 0 ]; then beside=("${@:2}"); fi

# run PART...: leaves PART.failed of those that fail.
run() {
    local part
    for part; do "$make" --no-print-directory "$part" || touch "$results/$part.failed"; done
}

# In a group of their own, which ends with this script however it ends.
set -m
run "${beside[@]}" >"$results/beside.log" 2>&1 </dev/null &
group=$!
set +m
trap 'kill -- "-$group" 2>/dev/null' EXIT
run "${parts[@]}"
wait "$group"
trap - EXIT
cat "$results/beside.log"

for part in "${parts[@]}" "${beside[@]}"; do
    if [ -f "$results/$part.failed" ]; then broken+=("$part"); fi
    # A part that ends without counts is one check: it failed or passed as a whole.
    if [ -f "$results/$part" ]; then
        read -r p f s <"$results/$part"
    elif [ -f "$results/$part.failed" ]; then
        p=0 f=1 s=0
    else
        p=1 f=0 s=0
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo
for part in "${broken[@]}"; do
    echo "FAILED: $part (run it alone: make $part)"
done
echo "test: $passed passed, $failed failed, $skipped skipped in $((SECONDS - began)) s"
[ "${#broken[@]}" -eq 0 ]
