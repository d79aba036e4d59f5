#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2034 # db is for identified.sh
# posref test on the real ONNX Runtime: both RotaryEmbedding operators are right as they are; with
# the other pairing, every vector in which the pairing can matter fails and is named. Skipped (77)
# where the package cannot be had.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/install.sh" || exit
# shellcheck source=tests/thirdparty/libraries.sh
. "$here/libraries.sh"
plugin=$BUILD/plugins/onnxruntime.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
holds() {
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAILED: $2"
    fi
}
lines() { jq -s "[.[] | select(.type == \"vector\") | select($2)] | length" "$1"; }

"$POSREF" generate -o "$work/core.db" || exit
export POSREF_DB=$work/core.db
for domain in onnx microsoft; do
    "$POSREF" test "$plugin" op=rotate --dtype f32,f16 --config domain=$domain --report text \
        --report jsonl:"$work/right" --report json:"$work/summary"
    holds $? "$domain conforms"
    [ "$(jq -r '.arithmetic[] | .recipes[0].recipe' "$work/summary" | paste -sd' ')" = \
        'double double+narrow_tables' ]
    holds $? "$domain: the tables it is handed are named, rounded to fp16 in fp16"
    claimed='.verdict != "unsupported"'
    [ "$(lines "$work/right" "$claimed and .dtype == \"f32\"")" -ge 600 ]
    holds $? "$domain: rotations claimed"
    # The tables are right to half an ulp of the dtype, so that f32 is better than a recurrence.
    [ "$(lines "$work/right" "$claimed and .dtype == \"f32\" and .grade != \"float32\"")" -eq 0 ]
    holds $? "$domain: grade float32"
done
"$POSREF" test "$plugin" op=rotate --dtype f32 --config pairing=swapped --fresh none \
    --properties no \
    --report jsonl:"$work/swapped" >/dev/null
[ $? -eq 1 ]
holds $? 'the swapped pairing does not conform'
"$POSREF" list op=rotate rotary_dim=2 | sort >"$work/same"
jq -r 'select(.type == "vector" and .verdict == "pass") | .id' "$work/swapped" |
    sed 's/@tables$//' | sort -u |
    comm -23 - "$work/same" | head -n 3 >"$work/wrong"
[ ! -s "$work/wrong" ]
holds $? "passes with the other pairing: $(cat "$work/wrong")"
jq -e 'select(.type == "footer") | .unexplained == 0 and (.explanations | length > 0) and
    all(.explanations[]; .fault == "pairing")' "$work/swapped" >/dev/null
holds $? 'every failure is named pairing'

# Measured, it computes what it is asked for; of what it is handed as tables, the rotation alone.
ok() { holds 0; }
bad() { holds 1 "$*"; }
db=$POSREF_DB
. "$here/../e2e/identified.sh"
identified onnxruntime.c "$plugin"
handed='.undecided | any(.keys == ["base", "scaling"] and (.family | test("not computed by it")))'
"$POSREF" identify "$plugin" dim=128 rotary_dim=64 --format json | jq -e "$handed" >/dev/null
holds $? 'identify: base and scaling are not its own'
"$POSREF" identify "$plugin" dim=128 rotary_dim=64 pairing=interleaved scaling=yarn factor=4 \
    original_max_position_embeddings=4096 --format json | jq -e "($handed) and .differing == [] and
    .evidence.layout == \"tables\" and .confidence.rotary_dim.how == \"measured\" and
    .confidence.base.how == \"assumed\"" >/dev/null
holds $? 'identify: pairing, layout and width of a rotation by tables'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
