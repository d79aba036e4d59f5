#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# Shards and posref merge: what is joined is the report of one run, or an error says why not.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
db=$work/smoke.db plugin=$BUILD/plugins/example_rope.so
succeeds generate --suite smoke -o "$db"
export POSREF_DB=$db
cd "$work" || exit 1
judge() { run test "$plugin" --suite smoke --dtype f32 --nonce 7 "$@"; }

# Shards: together they are the whole, in every report, to the byte but for times, sums of doubles
# in another order, and by how many elements a recipe is told from others (a shard gives one up
# later).
formats=(text json jsonl junit tap github markdown html)
plain() {
    sed -E -e 's/(time|timestamp)="[^"]*"//g' -e 's/"(ns|plugin_ns)": [0-9]+/"ns": 0/g' \
        -e 's/20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}|20[0-9-]{8}T[0-9:]{8}/T/g' \
        -e 's/"(signed_sum|bias)": [^,}]*/"\1": 0/g' \
        -e 's/"tried": \[[^]]*\]|"(agree|tell)": [0-9]+|in all [0-9]+ elements//g' "$1"
}
# sharded NAME PLUGIN STATUS ARGUMENT...: one run, and the same in three shards, merged.
sharded() {
    local name=$1 plugin=$2 want=$3 format whole=() merged=()
    shift 3
    for format in "${formats[@]}"; do
        whole+=("--report=$format:whole.$format")
        merged+=("--report=$format:merged.$format")
    done
    # Shards may come in any order.
    for k in 1 2 3; do judge --shard $k/3 "$@" --report jsonl:s$k; done
    judge "$@" "${whole[@]}"
    same "$status" "$want" "$name: the whole"
    run merge s2 s3 s1 "${merged[@]}"
    same "$status" "$want" "$name: merged"
    for format in "${formats[@]}"; do
        same "$(diff <(plain "whole.$format") <(plain "merged.$format") | head -n 5)" '' \
            "$name: $format of shards"
    done
}
sharded right "$plugin" 0
n=$(jq '.run.vectors' whole.json)
for mutant in leaves_threads declares_varying prints null_write; do
    case $mutant in null_write) want=1 ;; *) want=0 ;; esac
    sharded $mutant "$BUILD/mutants/$mutant.so" $want op=rotate
done
sharded wrong "$plugin" 1 --config pairing=swapped # s1, s2 and s3 of it are what follows
same "$(jq -s 'length' merged.jsonl)" $((n + 2)) 'lines of the merged stream'
cp merged.jsonl lines
same "$(python3 "$root/tests/e2e/fits_schema.py" "$root/schema" merged.jsonl merged.json 2>&1)" '' \
    'the merged run fits its schemas'
# What nothing explains is described as the shard with the most of it saw it.
core_db
for k in 1 2; do
    run test "$BUILD/mutants/exotic_bent.so" --db "$db" --dtype f32 --nonce 7 --shard $k/2 \
        dim=4 scaling=none op=rotate --report jsonl:bent$k
done
run merge bent1 bent2 --report json:merged.json --report text:merged.text
same "$(jq -c .description merged.json)" \
    "$(jq -sc '[.[] | .description | select(.)] | max_by(.vectors)' bent1 bent2)" 'one description'
told=$(jq .description.vectors merged.json)
same "$(grep -c "^      $told of them: no known fault" merged.text)" 1 \
    'of how many of them it speaks'
# The arithmetic of shards: the same recipe, and nothing claimed that the whole does not.
for k in 1/1 1/2 2/2; do
    "$POSREF" test "$plugin" --suite smoke scheme=rope --dtype f32,f16 --shard $k \
        --report "jsonl:a${k%/*}of${k#*/}" --report "json:j${k%/*}of${k#*/}"
done
run merge a1of2 a2of2 --report json:merged --report text:text
arithmetic='.arithmetic[] | "\(.scheme) \(.dtype) \(.recipes | map(.recipe) | join(","))"'
same "$(jq -r "$arithmetic" merged | paste -sd' ')" 'rope f32 double rope f16 double' \
    'the recipe of merged shards'
same "$(jq -s '[.[].arithmetic[0].valid[-1].to] | .[0] == .[1]' j1of1 merged)" true \
    'shards are valid as far as the whole'
same "$(grep -c '^rope f32: equals double' text)" 1 'the text of merged shards names it'
refuses '1 of 3 shards are missing' merge s1 s2
refuses 'is a shard that is there already' merge s1 s2 s3 s1
refuses 'has no footer' merge s1 s2 <(head -n 4 s3)
refuses 'is no shard of a run' merge lines
judge --shard 3/3 --report jsonl:other
refuses 'its plugin differs' merge s1 s2 other
judge --config pairing=swapped --shard 3/3 scheme=rope --report jsonl:other
refuses 'its filter differs' merge s1 s2 other
sed 3d s3 >lacking
refuses 'the lines are not the' merge s1 s2 lacking
{ head -n 2 s3; sed -n 2p s3; tail -n +3 s3; } >twice
refuses 'was judged twice' merge s1 s2 twice
refuses '--shard: must be K/N' test "$plugin" --shard 0/3
refuses '--shard: must be K/N' test "$plugin" --shard 4/3
refuses 'shards, but only' test "$plugin" id=rope/half/none/d4-b1e4/near --shard 2/9 --suite smoke
succeeds merge --help
finish
