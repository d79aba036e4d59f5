#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# What posref test draws from its nonce: properties, vectors on drawn inputs, the order of calls.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
plugin=$BUILD/plugins/example_rope.so
core_db
export POSREF_DB=$db PYTHONDONTWRITEBYTECODE=1
cd "$work" || exit 1
lines() { jq -s "[.[] | select(.type == \"vector\") | select($1)] | length" l; }

# Part of every run without more typing; a filter on the spec chooses among them too.
succeeds test "$plugin" scheme=rope op=rotate --report text --report jsonl:l --report json:j \
    --report junit:j.xml --report tap:t
nonce=$(jq -r .run.nonce j)
same "$(grep -cE '^[0-9a-f]{16}$' <<<"$nonce")" 1 'a nonce'
same "$(grep -c "^nonce    $nonce$" out)" 1 'the nonce in text'
for property in identity composition relative linearity inverse batch heads incremental base; do
    id=property/rope/$property/half
    same "$(lines ".id == \"$id\" and .verdict == \"pass\" and .property == \"$property\"")" 4 "$id"
    same "$(grep -c "name=\"$id\"" j.xml) $(grep -c "^ok [0-9]* - $id f" t)" '4 3' "$id for CI"
done
same "$(lines '.property and .grade == null and .verdict == "pass"')" 0 'graded'
same "$(grep -c '^rope *rotate *9 hold' out)" 1 'properties in text'
same "$(jq '[.groups[] | select(.property) | .f32.pass] | add > 40' j)" true 'groups'
if [ "$(lines '.id | startswith("fresh/")')" -gt 40 ]; then ok; else bad 'too few are drawn'; fi
same "$(lines '(.id | test("^(fresh|property)/")) != (.nonce != null)')" 0 'lines with a nonce'
same "$(lines ".nonce and .nonce != \"$nonce\"")" 0 'one nonce'

# Chosen by id; left out; all; the same again from the same nonce, others from another.
succeeds test "$plugin" id=property/rope/batch --dtype f32 --report jsonl:l
same "$(lines true) $(lines '.property == "batch"')" "$(lines true) $(lines true)" 'by id'
same "$(lines '.id == "property/rope/batch/half"')" 1 'by id'
succeeds test "$plugin" scheme=rope op=rotate scaling=none --fresh none --properties no \
    --dtype f32 --report jsonl:l
same "$(lines .nonce)" 0 'nothing is drawn'
n=$(lines true)
succeeds test "$plugin" scheme=rope op=rotate scaling=none --fresh all --properties no \
    --dtype f32 --report jsonl:l
same "$(lines true) $(lines .nonce)" "$((2 * n)) $n" 'everything is drawn too'
for k in 1 2 3; do
    succeeds test "$plugin" id=fresh/rope/half/none dim=64 --dtype f32 --nonce $((k % 2))a \
        --report jsonl:l
    jq -r 'select(.type == "vector") | .id + " " + (.worst.got | tostring)' l | sort >"$k.got"
done
cmp -s 1.got 3.got
same $? 0 'the same nonce'
cmp -s 1.got 2.got
same $? 1 'another nonce'
same "$(cut -d' ' -f1 1.got)" "$(cut -d' ' -f1 2.got)" 'the same vectors'
refuses "--nonce: must be 1 to 16 hexadecimal digits, got 'xyz'" test "$plugin" --nonce xyz
refuses '--fresh' test "$plugin" --fresh few
refuses '--properties' test "$plugin" --properties maybe
refuses 'no vector matches' test "$plugin" id=property/rope/nothing
refuses 'no vector matches' test "$plugin" id=fresh/rope/nothing

# caught MUTANT ID VERDICT: that verdict with a command that repeats it.
caught() {
    run test "$BUILD/mutants/$1.so" op=rotate pairing=half scaling=none --dtype f32 \
        --report jsonl:l --report json:j "${@:4}"
    same "$status" 1 "$1"
    same "$(lines ".id == \"$2\" and .verdict == \"$3\"")" 1 "$1: $2"
    same "$(jq -r .run.nonce j | grep -c .)" 1 nonce
}
caught far_rows property/rope/batch/half fail
same "$(lines '.verdict == "fail" and .property == null')" 0 'far_rows: no stored vector shows it'
same "$(lines '.verdict == "fail" and .property != "batch"')" 0 'far_rows: batch alone'
run test "$BUILD/mutants/far_rows.so" id=property/rope/batch/half --dtype f32 --report tap:t
repeat=$(sed -n 's/^  repeat: "\(.*\)"$/\1/p' t)
same "$(grep -c ' id=property/rope/batch/half --dtype f32 --nonce [0-9a-f]*$' <<<"$repeat")" 1 \
    'the command that repeats a property'
bash -c "$repeat --report json:again" >/dev/null
same "$? $(jq -r '.failures[0].why' again)" \
    '1 the same row gives another result elsewhere in the batch' 'repeated'
caught decodes_late property/rope/incremental/half fail
same "$(lines '.verdict == "fail" and .property and .property != "incremental"')" 0 \
    'decodes_late: incremental alone'

# Where a call of a property goes wrong, its tensor is named: memory that is still there.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_stack_use_after_return=1 \
    run test "$BUILD/mutants/leaves_rows.so" id=property/rope/incremental/half --dtype f32 \
    --report jsonl:l
same "$status" 1 leaves_rows
same "$(jq -r 'select(.id == "property/rope/incremental/half") |
    "\(.verdict) \(.at.tensor)\(.at.index)"' l)" 'unwritten y[0,0]' 'which tensor'

# Other bits within the limits are said, and refused by --strict alone.
run test "$BUILD/mutants/other_bits.so" id=property/rope/batch/half --dtype f32 --report jsonl:l
same "$status $(jq -r 'select(.property) | .verdict' l)" '0 pass' 'other bits'
same "$(jq -r 'select(.property).why' l | grep -c 'elements have other bits, within')" 1 'said'
run test "$BUILD/mutants/other_bits.so" id=property/rope/batch/half --dtype f32 --strict
same "$status" 1 'strict about bits'

# Cheats: the stored vectors pass, and the run does not.
for mode in decline guess; do
    cheat="exec:python3 $root/tests/mutants/looks_up.py $db $mode"
    run test "$cheat" op=rotate pairing=half dim=64 direction=forward --dtype f64 --report jsonl:l \
        --report json:j --properties no --fresh all
    same "$status" 1 "a cheat that would $mode"
    same "$(lines '.nonce == null and .verdict != "pass"')" 0 "stored ones pass ($mode)"
    verdict=$([ $mode = decline ] && echo error || echo fail)
    same "$(lines ".nonce and (.verdict | IN(\"$verdict\", \"pass\") | not)")" 0 "verdicts ($mode)"
    if [ "$(lines ".verdict == \"$verdict\"")" -gt 20 ]; then ok; else bad "few caught ($mode)"; fi
done
run test "exec:python3 $root/tests/mutants/looks_up.py $db guess" op=rotate pairing=half \
    scaling=none --dtype f64 --report json:j
same "$status $(jq '.counts.fail > 10' j)" '1 true' 'a cheat in a plain run'

finish
