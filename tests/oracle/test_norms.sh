#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every vector of core in the layouts whose golden output the reference computes on the spot; and a
# digit of one value turned is found.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$BUILD/print-layouts" "$CORE_DB" norm norm-plus-one norm-after >"$work/lines"
"$BUILD/tests/oracle/norms" <"$work/lines"
head -1 "$work/lines" | jq -c '.outputs.y.data[5] |= . * (1 + 3e-16)' >"$work/wrong"
status=0
"$BUILD/tests/oracle/norms" <"$work/wrong" >"$work/out" || status=$?
[ "$status" -eq 1 ]
grep -q '1 mismatches' "$work/out"
