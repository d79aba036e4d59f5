#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# Dtypes of 8 bits: offered to who asks and to plugins that name them, in rotations; what rounds
# once passes, what rounds twice does not, and faults are named.
. "$(dirname "$0")/lib.sh"
plugins=$(cd "$(dirname "$0")/../../harness/plugins" && pwd)
write=$(cd "$(dirname "$0")" && pwd)/safetensors.pl
example=$BUILD/plugins/example_rope.so faulty=$BUILD/mutants/faulty_rope.so
db=$work/smoke.db
succeeds generate --suite smoke -o "$db"
export POSREF_DB=$db PYTHONDONTWRITEBYTECODE=1
cd "$work" || exit 1
both=f8e4m3,f8e5m2

# lines JQ: of how many lines of the last run it is true.
lines() { jq -s "[.[] | select(.type == \"vector\") | select($1)] | length" out; }

# Nobody gets them unasked.
succeeds test "$example" --suite smoke op=rotate scaling=none --report jsonl --report markdown:m
same "$(lines '.dtype | startswith("f8")')" 0 'lines in 8 bits that nobody asked for'
same "$(grep -c f8 m)" 0 'columns of 8 bits that nobody asked for'

# Who asks gets rotations, drawn ones too; the rest is declined without blame.
succeeds test "$example" --suite smoke scheme=rope scaling=none --dtype $both \
    --require table --report jsonl --report markdown:m --report html:h --report junit:x \
    --report tap:t --report github:g --report text:o
same "$(lines '.dtype != "f8e4m3" and .dtype != "f8e5m2"')" 0 'other dtypes'
same "$(lines '.verdict != "pass" and .verdict != "unsupported"')" 0 'verdicts'
for dtype in f8e4m3 f8e5m2; do
    n=$(lines ".dtype == \"$dtype\" and .verdict == \"pass\" and .grade == \"float32\"")
    if [ "$n" -gt 20 ]; then ok; else bad "$dtype: too few lines pass"; fi
    if [ "$(lines ".dtype == \"$dtype\" and .verdict == \"pass\" and
        (.id | startswith(\"fresh/\"))")" -gt 0 ]; then ok; else bad "$dtype: no drawn inputs"; fi
    if grep -q "$dtype" m && grep -q "<th>$dtype</th>" h; then ok; else bad "$dtype: columns"; fi
done
same "$(lines '.verdict == "pass" and .op != "rotate" and .op != "rotate_backward"')" 0 'other ops'
same "$(grep -c '| f64 | f32 | f16 | bf16 | f8e4m3 | f8e5m2 |' m)" 1 'columns'

# A plugin that does not name them, or names one.
refuses 'declined every vector' test "$BUILD/plugins/example_layouts.so" --suite smoke op=rotate \
    --layouts plain --properties no --dtype $both --report jsonl:n
same "$(jq -r 'select(.type == "vector") | .why' n | sort -u)" \
    "$(printf 'the plugin does not name %s among its dtypes\n' f8e4m3 f8e5m2)" 'why'
refuses "is none of f64, f32, f16, bf16, f8e4m3, f8e5m2" test "$example" --dtype f8

# judge FAULT [ARGUMENT...]: the faulty rope on rotations; sets status, leaves the report in j.
judge() {
    local fault=$1
    shift
    rm -f j
    run test "$faulty" --suite smoke op=rotate scaling=none --config "fault=$fault" \
        --report json:j "$@"
}
for dtype in f8e4m3 f8e5m2; do
    judge none --dtype $dtype
    same "$status" 0 "$dtype: a right one"
    for fault in pairing direction sine_sign base sine_cosine_exchanged; do
        judge $fault --dtype $dtype
        same "$status $(jq -r '.explanations[0].fault' j)" "1 $fault" "$dtype: $fault"
    done
    for fault in truncated products_float8; do
        judge $fault --dtype $dtype
        same "$status $(jq '.counts.fail > 10' j)" '1 true' "$dtype: $fault"
        same "$(jq -r '[.explanations[].fault] - ["truncated"] | join(" ")' j)" '' \
            "$dtype: what $fault is taken for"
    done
    judge table_bf16 --dtype $dtype
    same "$status $(jq -r '.grade' j)" '0 low' "$dtype: tables of bfloat16"
    judge table_bf16 --dtype $dtype --min-grade fast
    same "$status" 1 "$dtype: tables of bfloat16 at a better grade"
done

# A program. Its kernel counts what it computes in doubles; posref.py rounds.
cat >k.py <<END
import math, sys
sys.path.insert(0, '$plugins')
import posref
for name, (values, end) in posref._FLOAT8.items():
    for code in range(256):
        value = posref._from_float8(code, name)
        if value == value:
            assert posref._to_float8(value, name) == code, (name, code)
    for code in range(end - 1):
        middle = (values[code] + values[code + 1]) / 2
        assert posref._to_float8(middle, name) == code + code % 2, (name, code)
        assert posref._to_float8(-middle * (1 + 1e-12), name) == 128 + code + 1, (name, code)
assert [posref._to_float8(x, 'F8_E4M3') for x in (464, 465, 1e9, -1e9)] == [126, 127, 127, 255]
assert [posref._to_float8(x, 'F8_E5M2') for x in (61439, 61440, float('-inf'))] == [123, 124, 252]
def kernel(op, spec, inputs):
    if op != 'rotate' or spec['pairing'] != 'half' or spec['partial'] != 'leading' or \
            spec['direction'] != 'forward' or len(inputs['positions'].shape) != 1:
        return None
    dim, r, x = int(spec['dim']), int(spec['rotary_dim']), inputs['x']
    assert x.dtype in ('F8_E4M3', 'F8_E5M2'), x.dtype
    positions, y = inputs['positions'].values(), x.values()
    heads = len(y) // dim // len(positions)
    for row in range(len(y) // dim):
        for i in range(r // 2):
            angle = positions[row // heads] * float(spec['base']) ** (-2 * i / r)
            a, b = row * dim + i, row * dim + i + r // 2
            y[a], y[b] = (y[a] * math.cos(angle) - y[b] * math.sin(angle),
                          y[b] * math.cos(angle) + y[a] * math.sin(angle))
    return {'y': y}
posref.serve(kernel, dtypes='f8e4m3 f8e5m2')
END
rm -f j
run test 'exec:python3 k.py' --suite smoke op=rotate scaling=none --dtype $both --report json:j
same "$status $(jq '.verdict, .counts.pass > 10, .counts.fail // 0' j | xargs)" '0 pass true 0' \
    'a program'

# Prompts and answers.
succeeds export -o prompts --suite smoke scheme=rope scaling=none pairing=half --dtype $both
same "$(find prompts -type f -exec grep -aLE '"op": ?"rotate' {} + | wc -l)" 0 'other ops'
if [ "$(find prompts -name '*.f8e4m3.safetensors' | wc -l)" -gt 3 ]; then ok; else bad prompts; fi
one=$(find prompts -name '*.f8e5m2.safetensors' | head -n 1)
same "$(tail -c +9 "$one" | head -c 2000 | grep -c '"F8_E5M2"')" 1 "the dtype in $one"

# A saved output: x itself, which position 0 leaves alone.
for tensor in x y table; do
    "$write" $tensor:F8_E4M3:1x4=56,64,196,126 >$tensor
done
succeeds explain scheme=rope dim=4 positions=0 --input x --output y --format json
says '.verdict == "pass" and .dtype == "f8e4m3"'
run explain scheme=rope dim=4 positions=1 --input x --output y --format json
says '.verdict == "fail"'
refuses 'f8e4m3 is judged in rotations alone' explain scheme=sinusoidal dim=4 positions=0 \
    --output table
succeeds eval scheme=rope dim=4 positions=0 x=@x
says '.outputs.y.data == [1, 2, -3, 448]'

finish
