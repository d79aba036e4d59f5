#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# Properties: the reference itself has every one in every dtype, whatever is drawn, and so has
# honest float32; for each property of a scheme there is a fault that breaks it.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
db=$work/smoke.db
succeeds generate --suite smoke -o "$db"
export POSREF_DB=$db
cd "$work" || exit 1

# judge PLUGIN NONCE ARGUMENT...: leaves the lines in l.
judge() {
    run test "$1" --nonce "$2" --suite smoke --fresh none --report jsonl:l "${@:3}"
}
not_passed='select(.type == "vector" and .property and .verdict != "pass") |
    "\(.id) \(.dtype) \(.verdict): \(.why)"'

kernel="exec:$BUILD/tests/e2e/kernel"
for nonce in 1 2; do
    judge "$kernel" $nonce id=property/
    same "$status $(jq -r "$not_passed" l | head -n 3)" '0 ' "the reference, nonce $nonce"
done
same "$(jq -rs 'map(select(.property)) | group_by(.id) | map(select(map(.judged) | max == 0))[] |
    .[0].id' l)" '' 'every property compares something that can tell'
# Every scheme has properties, and every op that is no table of another's.
same "$(jq -rs '[.[] | select(.property) | .scheme] | unique | join(" ")' l)" \
    "$(jq -r '.properties.scheme.enum | sort | join(" ")' "$root/schema/spec.schema.json")" \
    'schemes with properties'
# Honest float32 (in f64 calls double), written by itself.
for plugin in bias attention learned sinusoidal alibi rope; do
    judge "$BUILD/mutants/faulty_$plugin.so" 6 id=property/
    same "$(jq -r "$not_passed" l | grep -v unsupported | head -n 3)" '' "faulty_$plugin, no fault"
done

# Each line: a fault of kernel, a scheme, and the properties (NAME/VARIANT) that it breaks, in every
# dtype; a threshold that is none is lost in the limits of 16 bits.
while read -r fault scheme properties; do
    dtypes=f64,f32,f16,bf16
    case $fault in threshold_*) dtypes=f64,f32 ;; esac
    judge "$kernel $fault" 7 "id=property/$scheme/" scheme="$scheme" --dtype $dtypes
    same "$status" 1 "$fault, $scheme"
    for of in $properties; do
        id=property/$scheme/$of
        same "$(jq -rs "[.[] | select(.id == \"$id\") | .verdict] | unique | join(\" \")" l)" fail \
            "$fault breaks $id"
    done
done <<'END'
gradient_forward rope adjoint/half adjoint/interleaved adjoint/half-partial adjoint/half-yarn
one deberta terms/scores constant/attention odd/index
one transformer_xl terms/sinusoid constant/attention
one cope terms/scores constant/attention
one shaw terms/scores
one none constant/attention
one swinv2 odd/coordinates
column cope later/positions later/scores
column beit class/bias class/index
last_key_twice none permutation/attention
far none shift/scores shift/attention
far shaw shift/attention
far deberta shift/scores shift/attention shift/bias shift/index
far transformer_xl shift/sinusoid shift/learned shift/attention
far cope shift/attention
far fire shift/within
far kerple shift/power
far t5_bias shift/index
far relative_bias shift/index
row fire toeplitz/within incremental/within incremental/beyond
row deberta toeplitz/bias toeplitz/index incremental/bias incremental/scores incremental/attention
row t5_bias toeplitz/index
row relative_bias toeplitz/index
row kerple toeplitz/power
row transformer_xl incremental/sinusoid incremental/learned incremental/attention
row none incremental/scores
row cope incremental/positions incremental/scores
row fourier relative/table batch/table incremental/table
row swin window/bias window/index
row beit window/bias window/index
row swinv2 window/bias
entry_shared swin entries/bias
entry_shared beit entries/bias
index_halved swin entries/index
index_halved beit entries/index
threshold_large fire ends/beyond
threshold_one fire toeplitz/within shift/within
END
finish
