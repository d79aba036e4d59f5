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
for nonce in 1 2 3 4 5; do
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

# Each line: a fault of kernel, and the properties (SCHEME/NAME/VARIANT) that it breaks, in every
# dtype; a threshold that is none is lost in the limits of 16 bits.
while read -r fault properties; do
    dtypes=f64,f32,f16,bf16
    case $fault in threshold_*) dtypes=f64,f32 ;; esac
    for property in $properties; do
        judge "$kernel $fault" 7 "id=property/$property" --dtype $dtypes
        same "$status $(jq -rs '[.[] | select(.type == "vector") | "\(.id) \(.verdict)"] | unique |
            join(", ")' l)" "1 property/$property fail" "$fault breaks $property"
    done
done <<'END'
gradient_forward rope/adjoint/half rope/adjoint/interleaved rope/adjoint/half-partial
gradient_forward rope/adjoint/half-yarn
one deberta/terms/scores transformer_xl/terms/sinusoid cope/terms/scores shaw/terms/scores
one none/constant/attention deberta/constant/attention transformer_xl/constant/attention
one cope/constant/attention swinv2/odd/coordinates deberta/odd/index
column cope/later/positions cope/later/scores beit/class/bias beit/class/index
last_key_twice none/permutation/attention
far none/shift/scores none/shift/attention shaw/shift/attention deberta/shift/scores
far transformer_xl/shift/sinusoid transformer_xl/shift/learned transformer_xl/shift/attention
far deberta/shift/attention deberta/shift/bias deberta/shift/index cope/shift/attention
far fire/shift/within kerple/shift/power t5_bias/shift/index relative_bias/shift/index
row fire/toeplitz/within deberta/toeplitz/bias deberta/toeplitz/index t5_bias/toeplitz/index
row relative_bias/toeplitz/index kerple/toeplitz/power
row fire/incremental/within fire/incremental/beyond deberta/incremental/bias
row deberta/incremental/scores deberta/incremental/attention transformer_xl/incremental/sinusoid
row transformer_xl/incremental/learned transformer_xl/incremental/attention
row none/incremental/scores cope/incremental/positions cope/incremental/scores
row fourier/relative/table fourier/batch/table fourier/incremental/table
row swin/window/bias swin/window/index beit/window/bias beit/window/index swinv2/window/bias
entry_shared swin/entries/bias beit/entries/bias
index_halved swin/entries/index beit/entries/index
threshold_large fire/ends/beyond
threshold_one fire/toeplitz/within fire/shift/within
END
finish
