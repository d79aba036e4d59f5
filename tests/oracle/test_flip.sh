#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# certify can fail: for each kind of output (scheme, op, tensor) the lowest bit of one value of one
# vector is flipped in a copy of the database, and certify must name exactly that value, and that
# the vector's JSON no longer says the same.
#
#   test_flip.sh [DATABASE]      default: core
set -euo pipefail

db=${1:-$BUILD/suites/core.db} certify=$BUILD/certify flip=$BUILD/tests/oracle/flip
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 last=none

# One vector in the middle of each kind.
kinds="
SELECT scheme.value, v.op, t.name, v.id, max(abs(v.n % 977 - 488) * -1)
  FROM vector v JOIN tensor t ON t.vector = v.n AND t.output = 1
  JOIN attribute scheme ON scheme.vector = v.n AND scheme.key = 'scheme'
 GROUP BY scheme.value, v.op, t.name ORDER BY 1, 2, 3"

while IFS='|' read -r scheme op name id _; do
    last=$id
    cp "$db" "$work/copy.db"
    chmod u+w "$work/copy.db"
    index=$("$flip" "$work/copy.db" "$id" "$name")
    status=0
    "$certify" "$work/copy.db" -j 1 -i "$id" >"$work/log" || status=$?
    if [ "$status" -eq 1 ] && grep -q "^mismatches  2$" "$work/log" &&
        grep -qF "MISMATCH $id ${name}[$index]: stored" "$work/log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$scheme $op: exit status $status, and not the one report of $id ${name}[$index]:"
        cat "$work/log"
    fi
done < <(sqlite3 "$db" "$kinds")
"$certify" "$db" -j 1 -i "$last" >"$work/log" || { failed=$((failed + 1)); cat "$work/log"; }
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
