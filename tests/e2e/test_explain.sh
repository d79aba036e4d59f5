#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154,SC2094
# posref explain: saved tensors, their verdict, and why.
. "$(dirname "$0")/lib.sh"
write=$(cd "$(dirname "$0")" && pwd)/safetensors.pl
cd "$work" || exit 1
spec='scheme=rope dim=8'
x=1,0.5,-0.5,1.5,0.25,-1,2,0.75,0.5,1,-1.5,0.25,1,2,-0.75,1

# made WORDS...: y of the reference for a spec, at the positions of the input.
made() { "$POSREF" eval "$@" positions=3,17 x=$x op=rotate | jq -r '.outputs.y.data | join(",")'; }
# shellcheck disable=SC2086
right=$(made $spec)
# shellcheck disable=SC2086
swapped=$(made $spec pairing=interleaved)
"$write" x:F32:2x8=$x positions:I64:2=3,17 >in
"$write" "y:F64:2x8=$right" >right
"$write" "y:F32:2x8=$swapped" >swapped
"$write" "y:F32:2x8=nan,${right#*,}" >nan
"$write" x:F32:2x8="nan,${x#*,}" positions:I64:2=3,17 >nan_in
"$write" "y:F32:4x4=$right" >shape
"$write" "y:I64:2x8=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16" >integers
"$write" "other:F32:2=1,2" >other
: >empty

# shellcheck disable=SC2086
{
    succeeds explain $spec --input in --output right --format json
    says '.verdict == "pass" and .dtype == "f64" and .grade == "exact" and .explanations == []'
    succeeds explain $spec --input in --output right
    run explain $spec --input in --output swapped --format json
    same "$status" 1 'swapped'
    says '.verdict == "fail" and .dtype == "f32" and .explanations[0].fault == "pairing" and
        (.explanations[0].summary | test("pairing=interleaved; the spec asks for half")) and
        .explanations[0].advice and .explanations[0].residual < 1'
    run explain $spec --input in --output swapped
    same "$(grep -c 'pairing=interleaved; the spec asks for half' out)" 1 'said'
    # Where every pair is right and a channel that should be copied is not, no pair has a number.
    partial="$spec rotary_dim=4"
    # shellcheck disable=SC2086
    "$write" "y:F32:2x8=$(made $partial | sed 's/[^,]*$/9/')" >copies
    run explain $partial --input in --output copies --format json
    says '.description.summary | test(": 0 of 4 pairs are wrong; norms are kept; channels that")'
    # A sense of rotation is a convention of the forward pass, and excuses no gradient by itself.
    for pair in x:y:rotate:true dy:dx:rotate_backward:false; do
        IFS=: read -r from to op excused <<<"$pair"
        "$write" "$to:F64:2x8=$("$POSREF" eval $spec direction=inverse positions=3,17 "$from=$x" \
            "op=$op" | jq -r ".outputs.$to.data | join(\",\")")" >turned
        run explain $spec positions=3,17 "$from=$x" "op=$op" --output turned --format json
        says '.explanations[0] | .fault == "direction" and has("equivalent_after") == '"$excused"
    done
    # Keys win over tensors, and may stand in for the whole file.
    run explain $spec positions=3,18 --input in --output right --dtype f32 --format json
    same "$status" 1 'positions from a key'
    succeeds explain $spec positions=3,17 x=$x --output right
    succeeds explain $spec pairing=interleaved --input in --output swapped
    # An offset of the positions is read off the output.
    "$write" "y:F32:2x8=$("$POSREF" eval $spec positions=8,22 x=$x op=rotate |
        jq -r '.outputs.y.data | join(",")')" >later
    run explain $spec --input in --output later --format json
    says '[.explanations[] | select(.covers)][0] | .fault == "position_offset" and
        .parameters.offset == 5'
    # One that no fault gives is described.
    odd=$(jq -rn --arg y "$right" \
        '$y | split(",") | map(tonumber | . * . + 1 | tostring) | join(",")')
    "$write" "y:F32:2x8=$odd" >odd
    run explain $spec --input in --output odd --format json
    same "$status" 1 'an odd output'
    says '.explanations == [] and .description.norm == "not kept" and
        (.description.summary | startswith("no known fault"))'

    run explain $spec --input in --output nan --format json
    same "$status" 1 'NaN'
    says '.verdict == "nan" and .nan == [{"tensor": "y", "element": 0}] and .explanations == []'
    refuses 'x: element 0 of the input is no finite number' explain $spec --input nan_in \
        --output right
    refuses 'y: has another shape' explain $spec --input in --output shape
    refuses 'y: holds integers (i64); a float dtype was expected' explain $spec --input in \
        --output integers
    refuses "its first tensor is 'other'" explain $spec --input in --output other
    refuses 'empty' explain $spec --input in --output empty
    refuses 'empty' explain $spec --input empty --output right
    refuses 'none' explain $spec --input in --output none
    refuses '--output' explain $spec --input in
    refuses '--format' explain $spec --input in --output right --format xml
    refuses '--dtype' explain $spec --input in --output right --dtype i64
    refuses '--frob' explain $spec --input in --output right --frob 1
    refuses 'pairng' explain $spec pairng=half --input in --output right
    refuses 'dim' explain dim --output right
}
succeeds explain --help
# A name of any length stands apart from what is said; what fits as well is named once.
table='scheme=sinusoidal dim=32 axes_dims=16,16 order=concat positions=grid:5:7'
# shellcheck disable=SC2086
{
    "$write" "table:F64:35x32=$("$POSREF" eval $table axes_channels=column_first |
        jq -r '.outputs.table.data | join(",")')" >columns
    run explain $table --output columns
    same "$(grep -c '^axes_exchanged output equals' out)" 1 'a long name'
    same "$(grep 'do not tell it from' out | sort | uniq -d | wc -l)" 0 'told twice'
    same "$(grep -c 'do not tell it from axes_channels' out)" 1 'what fits as well'
}
# Scores with a fault of their terms, of which only the sum was saved.
q=1,-0.5,0.75,2,-1,0.25,0.5,1.5,-2,1,0.125,-0.75
k=0.5,1,-1,0.25,2,-0.5,1,0.75,-0.25,1.5,1,-1
rows=1,2,-1,0.5,0.25,-1,1.5,2
more=$rows,1,1,0.5,-2,2,0.5,-1,1
cope="scheme=cope dim=4 npos_max=2 weights=$rows"
deberta="scheme=deberta dim=4 positions=0,1,2 log_buckets=false max_distance=2
    key_weights=$more query_weights=${more#1,2,},0.5,1"
# shellcheck disable=SC2086
for wrong in gate_logits=unscaled position_logits=scaled p2c_difference=key_minus_query; do
    spec=$cope
    [ $wrong = p2c_difference=key_minus_query ] && spec=$deberta
    "$write" "scores:F32:3x3=$("$POSREF" eval $spec $wrong q=$q k=$k op=scores |
        jq -r '.outputs.scores.data | join(",")')" >scores
    run explain $spec q=$q k=$k op=scores --output scores --format json
    same "$status" 1 "$wrong"
    says ".explanations[0].fault == \"${wrong%=*}\""
done
finish
