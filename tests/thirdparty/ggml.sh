#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2034 # db is for identified.sh
# posref test on the real ggml: right as it is, at grade recurrence or better in f32; with the other
# pairing, every vector in which the pairing can matter fails and is named. Skipped (77) where the
# package cannot be had.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/install.sh" || exit
# shellcheck source=tests/thirdparty/libraries.sh
. "$here/libraries.sh"
plugin=$BUILD/plugins/ggml.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# holds STATUS WHAT: counts a check by the status of the command before it.
holds() {
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAILED: $2"
    fi
}

# lines FILE JQ: how many vector lines of a run satisfy the jq condition.
lines() { jq -s "[.[] | select(.type == \"vector\") | select($2)] | length" "$1"; }

"$POSREF" generate -o "$work/core.db" || exit
export POSREF_DB=$work/core.db

# As it is. The counts keep the adapter from passing by declining.
"$POSREF" test "$plugin" --dtype f32,f16 --report text --report jsonl:"$work/right" \
    --report json:"$work/summary"
holds $? 'ggml conforms'
[ "$(jq -r '.arithmetic[] | select(.scheme == "rope") | .recipes[0].recipe' "$work/summary" |
    paste -sd' ')" = 'recurrence recurrence' ]
holds $? 'its arithmetic is named: the recurrence, in both dtypes'
claimed='.verdict != "unsupported"'
[ "$(lines "$work/right" "$claimed and .dtype == \"f32\" and .op == \"rotate\"")" -ge 1000 ]
holds $? 'rotations claimed in f32'
[ "$(lines "$work/right" "$claimed and .dtype == \"f16\" and .op == \"rotate\"")" -ge 1000 ]
holds $? 'rotations claimed in f16'
[ "$(lines "$work/right" "$claimed and .op == \"weights\"")" -ge 78 ]
holds $? 'softmax weights claimed'
[ "$(lines "$work/right" "$claimed and .dtype == \"f32\" and
    ([.grade] | inside([\"exact\", \"float32\", \"recurrence\"]) | not)")" -eq 0 ]
holds $? 'grade recurrence or better in f32'
[ "$(lines "$work/right" "$claimed and .property")" -ge 130 ]
holds $? 'properties claimed'
axes='(.id | test("^rope/(axes|sections)/"))'
[ "$(lines "$work/right" "$claimed and .dtype == \"f32\" and $axes")" -ge 117 ]
holds $? 'rotations over several axes claimed in f32'
# What is declined among rotations is yarn without truncation or with a reversed range, pairings
# and channels that ggml has not, axes but for M-RoPE and vision towers, and positions that are not
# whole.
[ "$(lines "$work/right" '.op == "rotate" and .verdict == "unsupported" and
    (.why | test("truncate=true|no such pairing|no such scaling|first channels only|" +
        "half pairs only|no other axes|order of sections|int32|no reversed range") | not)')" -eq 0 ]
holds $? 'no other rotation is declined'

# The other pairing. With one pair only, both pairings are the same two channels.
"$POSREF" list op=rotate rotary_dim=2 | sort >"$work/same"
# (Several axes have half pairs alone in ggml: declined.)
"$POSREF" test "$plugin" op=rotate --dtype f32,f16 --config pairing=swapped --fresh none \
    --properties no --report jsonl:"$work/swapped" >/dev/null
[ $? -eq 1 ]
holds $? 'the swapped pairing does not conform'
jq -r 'select(.type == "vector" and .op == "rotate" and .verdict == "pass") | .id' \
    "$work/swapped" | sort -u | diff - "$work/same"
holds $? 'exactly the vectors of one pair pass with the other pairing'
stored='.op == "rotate" and .nonce == null'
rotations=$(lines "$work/right" "$claimed and $stored and ($axes | not)")
same=$(($(wc -l <"$work/same") * 2))
[ "$(jq -s '.[-1] | [.explanations[] | select(.covers and .fault == "pairing") |
    .vectors + .untold] |
    add' "$work/swapped")" -eq $((rotations - same)) ]
holds $? 'every other rotation fails and is named pairing'

# Measured, ggml computes what it is asked for, and conforms to what was measured.
ok() { holds 0; }
bad() { holds 1 "$*"; }
db=$POSREF_DB
. "$here/../e2e/identified.sh"
identified ggml.c "$plugin"
asked='scheme=rope dim=128 base=500000 scaling=llama3 factor=8
    original_max_position_embeddings=8192'
# shellcheck disable=SC2086
"$POSREF" identify "$plugin" $asked rotary_dim=64 pairing=interleaved --format json |
    jq -e '.differing == [] and .confidence.decided' >/dev/null
holds $? 'identify: the half of the channels, interleaved'
for more in 'axes_dims=64,64 pairing=half axes_span=head' 'rotary_dim=64 direction=inverse'; do
    # shellcheck disable=SC2086
    "$POSREF" identify "$plugin" dim=128 $more --format json |
        jq -e '.differing == [] and .confidence.decided' >/dev/null
    holds $? "identify: $more"
done
"$POSREF" identify "$plugin" dim=64 scaling=yarn factor=4 original_max_position_embeddings=4096 \
    --config pairing=swapped --format json |
    jq -e '.differing == ["pairing"] and .confidence.decided' >/dev/null
holds $? 'identify: the swapped pairing'
"$POSREF" identify "$plugin" scheme=alibi num_heads=12 --format json |
    jq -e '.spec == .asked and .undecided[0].keys == ["form"]' >/dev/null
holds $? 'identify: the slopes'

# Another build of another version, in one library.
other=$modules/@fugood/node-llama-linux-x64/index.node
"$POSREF" test "$plugin" --dtype f32,f16 --config lib="$other" --report jsonl:"$work/other" \
    --report json:"$work/j" >/dev/null
holds $? 'the other build conforms'
[ "$(lines "$work/other" "$claimed")" -ge 2000 ]
holds $? 'the other build claims what this one does'
[ "$(jq -r .run.plugin.version "$work/j")" = 0.18.0 ]
holds $? 'the other build is another version'
"$POSREF" test "$plugin" --dtype f32 op=rotate --config lib="$other" --config pairing=swapped \
    --fresh none --properties no --report json:"$work/j" >/dev/null
[ $? -eq 1 ] &&
    jq -e '.unexplained == 0 and .explanations[0].fault == "pairing"' "$work/j" >/dev/null
holds $? 'the other build with the other pairing is named'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
