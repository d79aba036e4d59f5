#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the parts of `make test` in turn, goes on after one that fails, and sums up at the end.
#
#   run_parts.sh MAKE RESULTS PART...
set -uo pipefail

make=$1 results=$2
shift 2
rm -rf "$results"
mkdir -p "$results"
began=$SECONDS passed=0 failed=0 skipped=0 broken=()
for part in "$@"; do
    "$make" --no-print-directory "$part" || broken+=("$part")
    # A part that ends without counts is one check: it failed or passed as a whole.
    if [ -f "$results/$part" ]; then
        read -r p f s <"$results/$part"
    elif [ "${#broken[@]}" -gt 0 ] && [ "${broken[-1]}" = "$part" ]; then
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
