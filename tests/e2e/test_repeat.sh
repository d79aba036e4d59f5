#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# The lines under a failure repeat it alone: the command gives the same verdict, and the curl line
# the vector. Of stored vectors, drawn ones, properties, layouts, and what was declined.
. "$(dirname "$0")/lib.sh"
core_db
export POSREF_DB=$db
"$POSREF" serve --listen 127.0.0.1:0 2>"$work/log" &
server=$!
trap 'kill -TERM $server; rm -rf "$work"' EXIT
for _ in {1..300}; do
    host=$(sed -n 's/^posref serve: listening on http:..//p' "$work/log")
    if [ -n "$host" ]; then break; fi
    sleep 0.1
done

# repeats WHAT STATUS ARGUMENT...: the first failure of this run, from the text, repeated.
repeats() {
    local what=$1 want=$2 command curl first
    shift 2
    run test "$@" --report text --report "json:$work/j"
    same "$status" 1 "$what fails"
    first=$(jq -r '.failures[0] | "\(.id) \(.dtype) \(.verdict)"' "$work/j")
    command=$(grep -m1 -A9 '^  1\. ' "$work/out" | grep -m1 -F " id=" | sed 's/^ *//')
    bash -c "$command --report json:$work/again" >/dev/null
    same "$? $(jq -r '.failures[0] | "\(.id) \(.dtype) \(.verdict)"' "$work/again")" \
        "$want $first" "$what: $command"
    same "$(jq -r '.run.vectors' "$work/again")" 1 "$what alone"
    curl=$(grep -m1 -A9 '^  1\. ' "$work/out" | grep -o -m1 'curl localhost:8080/[^ ]*')
    if [[ $first == fresh/* || $first == property/* ]]; then
        same "$curl" '' "$what: no database has it"
    else
        same "$(bash -c "${curl/localhost:8080/-s $host}" | jq -r .id)" \
            "$(cut -d' ' -f1 <<<"${first%@*}")" "$what: $curl"
    fi
}
plugin=$BUILD/plugins/example_rope.so
repeats 'a stored vector' 1 "$plugin" op=rotate --dtype f32 --fresh none --properties no \
    --config pairing=swapped
repeats 'a name with a quote' 1 "$plugin" op=rotate --dtype bf16 --fresh none --properties no \
    --config pairing=swapped --config "note=it's" --min-grade float32
repeats 'a vector on drawn inputs' 1 "$BUILD/mutants/swaps_pairs.so" id=fresh/rope/half/none/d4 \
    --dtype f32
repeats 'a property' 1 "$BUILD/mutants/far_rows.so" id=property/rope/batch --dtype f32
repeats 'a crash' 1 "$BUILD/mutants/null_write.so" id=rope/half/none/d4 op=rotate --dtype f32
repeats 'a layout' 1 "$BUILD/plugins/example_layouts.so" --config fault=strides_ignored \
    id=rope/half/none/d12 op=rotate --dtype f64 --layouts strided
repeats 'a required op' 1 "$BUILD/mutants/swaps_some.so" scheme=alibi op=bias --dtype f32 \
    --require bias
# Every failure in every report for people has both.
run test "$plugin" op=rotate scaling=none --dtype f32 --fresh none --properties no \
    --config pairing=swapped --report "text:$work/t" --report "markdown:$work/m" \
    --report "html:$work/h" --report "github:$work/g" --report "tap:$work/tap" \
    --report "junit:$work/x" --report "json:$work/j"
n=$(jq '.counts.fail' "$work/j")
for format in t m h g; do
    same "$(grep -c 'curl localhost:8080/v1/vectors/rope/' "$work/$format")" 20 "curl in $format"
    same "$(grep -c ' id=rope/.* --dtype f32' "$work/$format")" 20 "commands in $format"
done
for format in tap x; do
    same "$(grep -c 'curl localhost:8080/v1/vectors/rope/' "$work/$format")" "$n" "curl in $format"
    same "$(grep -c ' id=rope/.* --dtype f32' "$work/$format")" "$n" "commands in $format"
done
finish
