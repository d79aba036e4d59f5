#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref diff: where specs part, checked against eval at that position and the one before.
. "$(dirname "$0")/lib.sh"

# A scaled ladder parts at once, at pair 0.
succeeds diff dim=128,base=10000 dim=128,base=10000,scaling=linear,factor=4
says '.differing == ["scaling", "factor"] and (.parts | map(.dtype) == ["f64","f32","f16","bf16"])'
says 'all(.parts[]; .position == 1 and .pair == 0)'
says '.parts[0].a.cos == 0.5403023058681398 and .parts[0].b.cos == 0.9689124217106447'

# An attention factor parts at 0, and the layout of an answer of eval is taken too.
"$POSREF" eval dim=16 scaling=yarn factor=4 original_max_position_embeddings=64 >"$work/a.json"
echo '{"dim": 16, "base": 1e4}' >"$work/b.json"
succeeds diff "$work/a.json" "$work/b.json"
says 'all(.parts[]; .position == 0)'

# A tiny change of base: far out, and the first place indeed.
succeeds diff dim=64 dim=64,base=10000.001
says '.parts[1].position > 1 and .parts[2].position > 4096 and .parts[3].position > 4096'
for dtype in f32 f16; do
    read -r position pair spacing < <(jq -r ".parts[] | select(.dtype == \"$dtype\") |
        \"\(.position) \(.pair) \(.difference / .ulps)\"" "$work/out")
    cp "$work/out" "$work/diff"
    before=$((position - 1))
    for base in 10000 10000.001; do
        "$POSREF" eval dim=64 base=$base "positions=$before,$position" >"$work/$base"
    done
    same "$(jq -n --slurpfile a "$work/10000" --slurpfile b "$work/10000.001" "
        [range(0; 64)] | map([(\$a[0].outputs.cos.data[.] - \$b[0].outputs.cos.data[.]),
                              (\$a[0].outputs.sin.data[.] - \$b[0].outputs.sin.data[.])] |
            (.[0] * .[0] + .[1] * .[1] | sqrt) > $spacing) |
        [(.[0:32] | any), .[32 + $pair], (.[32:32 + $pair] | any)]" -c)" '[false,true,false]' \
        "$dtype at $position"
    cp "$work/diff" "$work/out"
done

# The same spec typed otherwise never parts; other pairings do in a channel; ALiBi by head.
succeeds diff dim=8,base=1e4 dim=8,pairing=half
says '.differing == [] and all(.parts[]; .position == null)'
succeeds diff dim=8 dim=8,pairing=interleaved
says '.parts[0].position == 1 and .parts[0].channel == 0'
succeeds diff dim=2 dim=2,pairing=interleaved
says 'all(.parts[]; .position == null)'
succeeds diff dim=8 dim=8,direction=inverse
says '.parts[0].position == 1'
# Lists go on behind their own commas; axes stand at p, p + 1, p + 2.
succeeds diff dim=16,mrope_section=4,2,2 dim=16,mrope_section=4,2,2,mrope_interleaved=true
says '.parts[0].position == 0 and .parts[0].pair == 1'
succeeds diff dim=12,axes_dims=2,4,6,base=1e4 dim=12,axes_dims=2,4,6
says 'all(.parts[]; .position == null)'
succeeds diff dim=12,axes_dims=4,8,pairing=half dim=12,axes_dims=4,8,pairing=half,axes_span=head
says '.parts[0].position == 0 and .parts[0].channel == 2'
refuses 'not KEY=VALUE' diff dim=12,base=3, dim=12
succeeds diff scheme=alibi,num_heads=3 scheme=alibi,num_heads=3,form=symmetric
says '.parts[0].position == 1 and .parts[0].head == 0 and .parts[0].a.before == .parts[0].b.before'
succeeds diff scheme=sinusoidal,dim=8 scheme=sinusoidal,dim=8,exponent=half_minus_one
says '.parts[0].position == 1 and .parts[0].column == 2'

refuses 'scheme: ' diff dim=8 scheme=alibi,num_heads=8
refuses 'dim: ' diff dim=8 dim=16
refuses 'dim: ' diff dim=8 dim=7
refuses 'diim: ' diff dim=8 diim=8
refuses 'two specs' diff dim=8
refuses "$work/none" diff "$work/none" "$work/b.json"
echo '{"dim": ' >"$work/broken.json"
refuses "$work/broken.json: line" diff "$work/b.json" "$work/broken.json"
echo '{"dmi": 8}' >"$work/broken.json"
refuses 'dmi' diff "$work/b.json" "$work/broken.json"

help_example diff
finish
