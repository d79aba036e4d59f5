#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref eval: the worked example, every form of input, and bad input.
. "$(dirname "$0")/lib.sh"

# The example of RoFormer's formula that the literature works through: dim 4, position 1.
succeeds eval scheme=rope dim=4 pairing=interleaved positions=1 x=1,0.5,-0.5,1.5
says '.outputs.y.shape == [1, 4]'
says '.outputs.y.data | map(. * 1e6 | floor) == [119566, 1111622, -514975, 1494925]'
says '.outputs.inv_freq == {"shape": [2], "data": [1, 0.01]}'
says '.outputs.attention_factor == {"shape": [], "data": [1]}'
says '.outputs.cos.shape == [1, 2] and .outputs.sin.shape == [1, 2]'
says '.outputs.cos.data[0] == 0.5403023058681398 and .outputs.sin.data[0] == 0.8414709848078965'
says '.spec == {"scheme": "rope", "dim": 4, "base": 10000, "rotary_dim": 4, "partial": "leading",
      "pairing": "interleaved", "direction": "forward", "scaling": "none"}'
same "$(head -c 23 "$work/out")" '{"spec": {"scheme": "ro' 'layout of the answer'
same "$(wc -l <"$work/out")" 1 'lines of the answer'

# The same numbers, typed otherwise, give the same bytes.
cp "$work/out" "$work/first"
for x in 1.0,5e-1,-.5,1.50 0x1p0,0x1p-1,-0x.8p0,0x1.8p0 \
    3ff0000000000000,3fe0000000000000,bfe0000000000000,3ff8000000000000; do
    succeeds eval scheme=rope dim=4 pairing=interleaved base=1e4 positions=1..1 "x=$x"
    same "$(cmp "$work/first" "$work/out" 2>&1)" '' "bytes for x=$x"
done
env LC_ALL=de_DE.UTF-8 "$POSREF" eval scheme=rope dim=4 pairing=interleaved positions=1 \
    x=1,0.5,-0.5,1.5 >"$work/out"
same "$(cmp "$work/first" "$work/out" 2>&1)" '' 'bytes under another locale'

# Defaults, ranges, ops.
succeeds eval dim=8
says '.spec.scheme == "rope" and .spec.pairing == "half" and (.outputs | keys | length) == 2'
succeeds eval dim=8 positions=0..60/4
says '.outputs.cos.shape == [16, 4]'
succeeds eval dim=2 positions=3ff0000000000000,bits:4000000000000000,bits:3ff8000000000000 op=table
cp "$work/out" "$work/first"
succeeds eval dim=2 positions=1,2,0x1.8p0 op=table
same "$(cmp "$work/first" "$work/out" 2>&1)" '' 'positions as bits'
refuses 'n_axes' eval dim=2 positions=bits:3ff0000000000000:bits:4000000000000000
long=0.1000000000000000055511151231257827021181583404541015625$(printf '%0900d' 0)
succeeds eval dim=2 "positions=$long,$long..2/$long" op=table
says '.outputs.cos.shape == [21, 1]'
succeeds eval dim=8 positions=0,1 op=table
says '.outputs | keys == ["cos", "sin"]'
succeeds eval scheme=sinusoidal dim=4 positions=0..3
says '.outputs.table.shape == [4, 4] and .outputs.table.data[0:4] == [0, 1, 0, 1]'
# MAE: half of the channels encode the column, and they come first.
succeeds eval scheme=sinusoidal dim=4 order=concat axes_channels=column_first positions=0:1
says '.spec.axes_dims == [2, 2] and
      .outputs.table.data == [0.8414709848078965, 0.5403023058681398, 0, 1]'
succeeds eval scheme=sinusoidal dim=8 axes_lengths=25,34 length_eps=1e-6 angle_unit=turn \
    positions=grid:25@1:34@1
says '.outputs.table.shape == [850, 8]'
refuses 'axes_dims: must add up to dim=8' eval scheme=sinusoidal dim=8 axes_dims=4,6 positions=1:2
refuses 'positions: ' eval scheme=sinusoidal dim=8 axes_dims=4,4 positions=1
succeeds eval scheme=alibi num_heads=8 q_positions=2 k_positions=0,1,2
says '.outputs.slopes.data[0] == 0.5 and .outputs.bias.shape == [8, 1, 3]'
says '.outputs.bias.data[0:2] == [-1, -0.5]'
# A channel that does not rotate is copied with its sign, zero or not.
succeeds eval dim=4 rotary_dim=2 positions=0 x=1,2,-0,-0.0
same "$(grep -c '"y": {"shape": \[1, 4\], "data": \[1, 2, -0.0, -0.0\]}' "$work/out")" 1 'zeros'

# Files.
succeeds eval dim=4 positions=0,5 x=1,2,3,4,5,6,7,8
cp "$work/out" "$work/flat"
printf '%s' '{"x":{"dtype":"F64","shape":[2,4],"data_offsets":[0,64]}}' >"$work/header"
{
    printf '\x3a\x00\x00\x00\x00\x00\x00\x00'
    printf '%s ' "$(cat "$work/header")"
    for high in 3ff0 4000 4008 4010 4014 4018 401c 4020; do
        printf '\x00\x00\x00\x00\x00\x00'
        printf '%b' "\\x${high:2:2}\\x${high:0:2}"
    done
} >"$work/x.safetensors"
succeeds eval dim=4 positions=0,5 "x=@$work/x.safetensors"
same "$(cmp "$work/flat" "$work/out" 2>&1)" '' 'x from a file'
succeeds eval dim=4 positions=0,5 "x=@$work/x.safetensors:x"
refuses 'z' eval dim=4 positions=0,5 "x=@$work/x.safetensors:z"
refuses 'No such file' eval dim=4 positions=0,5 "x=@$work/none.safetensors"
refuses 'dmi: unknown key; did you mean dim?' eval "dmi=@$work/x.safetensors"
refuses "fire, ...; got 'ropee'; did you mean rope?" eval scheme=ropee dim=4
refuses "must be one of forward, inverse; got 'back'" eval dim=4 direction=back
refuses 'dim: is no tensor' eval "dim=@$work/x.safetensors"
refuses 'op: is no tensor' eval dim=4 "op=@$work/x.safetensors"
refuses 'x: no file' eval dim=4 positions=0 x=@

# Nothing to compute: what the scheme's ops take is said, and nothing printed.
refuses 'q: nothing can be computed of these inputs: scores need q and k; scheme=cope reads' \
    eval scheme=cope dim=4 npos_max=3
refuses 'q: nothing can be computed' eval scheme=none dim=4 positions=0,1
refuses 'positions: nothing can be computed of these inputs: a bias needs positions' \
    eval scheme=t5_bias
refuses 'r1: nothing can be computed' eval scheme=kerple kernel=log num_heads=2 positions=0,1
succeeds eval scheme=t5_bias positions=0,1
says '.outputs | keys == ["buckets"]'

# Bad input: one line that names the key.
refuses 'dim: ' eval
refuses 'dim: ' eval dim=5
refuses 'dim: ' eval dim=0
refuses 'dim: ' eval dim=4 dim=4
refuses 'dim: ' eval dim=1e9
refuses 'rotary_dim: ' eval dim=8 rotary_dim=3
refuses 'rotary_dim: ' eval dim=8 rotary_dim=10
refuses 'base: ' eval dim=8 base=1
refuses 'base: ' eval dim=8 base=1.1e12
refuses 'base: ' eval dim=8 base=nan
refuses 'factor: ' eval dim=8 scaling=linear factor=0
refuses 'factor: ' eval dim=8 scaling=linear
refuses 'factor: ' eval dim=8 factor=2
run eval dim=2 scaling=ntk factor=2
same "$status $(grep -cE 'rotary_dim|scaling|dim' "$work/err")" '2 1' 'ntk with two channels'
refuses 'num_heads: ' eval dim=8 num_heads=2
refuses 'paring: unknown key; did you mean pairing?' eval dim=8 paring=half
refuses 'pairing: ' eval dim=8 pairing=neox
refuses 'positions: ' eval dim=8 positions=2147483648
refuses 'positions: ' eval dim=8 positions=-2147483648
refuses 'positions: ' eval dim=8 positions=0..70000
refuses 'positions: ' eval dim=8 positions=1,,2
refuses 'positions: ' eval dim=8 positions=
refuses 'axes_dims: ' eval dim=16 axes_dims=5,11 positions=1:2
refuses 'axes_dims: must add up to rotary_dim=16' eval dim=16 axes_dims=4,4,4 positions=1:2:3
refuses 'axes_span: needs axes_dims' eval dim=16 axes_span=head
refuses 'mrope_section: counts pairs and must add up to rotary_dim / 2 = 8' \
    eval dim=16 mrope_section=16,24,24 positions=1:2:3
refuses 'positions: must be [n] or [n_axes, n] with n_axes = 2' \
    eval dim=16 axes_dims=8,8 positions=1:2:3
refuses 'positions: must be' eval dim=16 mrope_section=4,2,2 positions=1
refuses 'positions: ' eval dim=16 axes_dims=8,8 positions=blocks:2:3:4
refuses 'positions: ' eval dim=16 mrope_section=4,2,2 positions=mrope:text=1,image=2
refuses 'x: ' eval dim=2 positions=0 x=1,2,3
refuses 'x: ' eval dim=2 positions=0 x=1,inf
refuses 'positions: ' eval dim=2 x=1,2
refuses 'dim' eval dim
refuses 'op: ' eval dim=2 op=turn
for command in eval test resolve identify explain export list; do
    refuses "posref $command: '': an argument is empty" "$command" ''
done
refuses '=4' eval =4

# Whatever is quoted, an error stays one line of text.
refuses '4?5' eval $'dim=4\n5'
refuses 'd?m' eval $'d\tm=4'
refuses '?[31m' eval $'\e[31mdim=4'
refuses '?' eval $'dim=\xff'
refuses "$(printf '%039d' 0)?'" eval "pairing=$(printf '%039d' 0)é" dim=4
refuses 'nope?x: no such command' $'nope\nx'
refuses 'x: ' version x

# Output that does not arrive is no success.
for arguments in 'eval dim=4' 'eval --help' version --help 'generate --cases'; do
    # shellcheck disable=SC2086
    "$POSREF" $arguments >/dev/full 2>"$work/err"
    same "$? $(wc -l <"$work/err")" '3 1' "posref $arguments on a full device"
done

help_example eval
finish
