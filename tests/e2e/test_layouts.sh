#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# The layouts in which posref test hands vectors to plugins: each is passed by a plugin that takes
# it, and each fault of a kernel that takes it wrongly is caught and named.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)
plugin=$BUILD/plugins/example_layouts.so
core_db
export POSREF_DB=$db
layouts='strided strided-dim inplace int32 bhsd bshd transposed broadcast batch-positions left-pad
    decode varlen qkv tables tables-f32 cos-sin cos-sin-cache cos-sin-cache-f32 kv-cache
    kv-cache-hnd'

# more N LEAST WHAT
more() { if [ "$1" -ge "$2" ]; then ok; else bad "$3: $1"; fi; }

# lines JQ: how many vectors of the last run it is true of.
lines() { jq -s "[.[] | select(.type == \"vector\") | select($1)] | length" "$work/out"; }

# Every layout passes, forward and backward, with heads, in part and by basis vectors.
succeeds test "$plugin" id=rope/half/none/d12- --layouts all --dtype f64,f32 --report jsonl
for layout in $layouts; do
    n=$(lines ".layout == \"$layout\" and .verdict == \"pass\"")
    more "$n" 20 "lines of $layout that pass"
done
same "$(lines '.verdict != "pass" and .verdict != "unsupported"')" 0 'all layouts'
succeeds test "$plugin" id=rope/backward/half/d12- --layouts all --dtype f32 --report jsonl
for layout in $layouts; do
    n=$(lines ".layout == \"$layout\" and .verdict == \"pass\"")
    case $layout in qkv | kv-cache*) same "$n" 0 "$layout is forward only" && continue ;; esac
    more "$n" 8 "backward lines of $layout that pass"
done

# caught FAULT LAYOUT VERDICT TENSOR: the verdicts of f64, all alike, and where.
caught() {
    run test "$plugin" --config "fault=$1" id="rope/half/none/d12-b1e6@$2" op=rotate --dtype f64 \
        --report jsonl
    same "$status $(jq -rs '[.[] | select(.type == "vector") | .verdict + " " + (.at.tensor // "-")]
        | unique | join(", ")' "$work/out")" "1 $3" "$1 in $2"
}
caught strides_ignored strided 'bad-write y'
caught strides_of_x strided 'bad-write y'
caught strides_ignored strided-dim 'bad-write y'
caught strides_ignored transposed 'fail -'
caught strides_ignored broadcast 'bad-read x'
caught strides_ignored qkv 'input-modified v'
caught writes_gap strided 'bad-write y'
caught reads_late inplace 'fail -'
caught heads_exchanged transposed 'bad-read positions, fail -'
caught batch_0_positions batch-positions 'fail -'
caught batch_0_mask left-pad 'unwritten y'
caught offset_ignored decode 'fail -'
caught not_restarted varlen 'fail -'
caught v_rotated qkv 'input-modified v'
caught reads_late qkv 'fail -'
caught tables_exchanged tables 'fail -'
caught tables_exchanged cos-sin 'fail -'
caught dtype_of_x tables-f32 'bad-read cos'
caught dtype_of_x cos-sin-cache-f32 'bad-read cos_sin_cache'
for layout in cos-sin-cache cos-sin-cache-f32; do
    caught row_of_token $layout 'nan y'
    caught tables_exchanged $layout 'fail -'
done
for layout in kv-cache kv-cache-hnd; do
    for fault in slot_ignored slot_of_position slot_from_end slot_next_block; do
        caught $fault $layout 'bad-write key_cache'
    done
    caught v_left $layout 'unwritten value_cache'
    caught v_rotated $layout 'fail value_cache'
done
caught strides_ignored kv-cache-hnd 'bad-write key_cache'
for layout in bhsd bshd; do caught heads_exchanged $layout 'bad-read positions, fail -'; done
caught positions_int64 int32 'bad-read positions, fail -'

# Norms before and after the rotation, with every way to be wrong about them.
plain=$plugin
plugin=$BUILD/plugins/example_norm.so
norms='norm norm-plus-one norm-after'
succeeds test "$plugin" id=rope/half/none/d12- op=rotate --layouts "${norms// /,}" --dtype f64,f32 \
    --report jsonl
for layout in $norms; do
    n=$(lines ".layout == \"$layout\" and .verdict == \"pass\"")
    more "$n" 20 "lines of $layout that pass"
done
for layout in $norms; do
    for fault in eps_outside eps_missing sum_for_mean all_heads mean_subtracted no_weight \
        one_added_or_not other_order; do
        caught $fault "$layout" 'fail -'
    done
done

# Scores and attention: every layout, of vectors with and without heads, masks and positions.
plugin=$BUILD/plugins/example_attention.so
for id in none/d12/h12 none/d64/ alibi/distance/published/h12-m8/; do
    succeeds test "$plugin" id=$id --layouts all --dtype f64,f32 --fresh none --report jsonl
    same "$(lines '.verdict != "pass" and .verdict != "unsupported"')" 0 "all layouts of $id"
    for layout in strided bhsd bshd varlen; do
        n=$(lines ".layout == \"attention-$layout\" and .verdict == \"pass\"")
        more "$n" 12 "lines of attention-$layout that pass in $id"
    done
done
# What it does not know it declines: queries at the first keys.
succeeds test "$plugin" op=bias scheme=alibi --dtype f64 --fresh none
# loses FAULT LAYOUT OP PLACE VERDICTS: an expression for what becomes of vectors of 12 heads
# in f64.
loses() {
    run test "$plugin" --config "fault=$1" "id=alibi/distance/published/h12-m8/$4@attention-$2" \
        "op=$3" --dtype f64 --report jsonl
    found=$(jq -rs '[.[] | select(.type == "vector") | .verdict] | unique | join(", ")' "$work/out")
    if [[ "$status $found" =~ ^1\ ($5)$ ]]; then ok; else bad "$1 in $2, $3: $status $found"; fi
}
for op in bias weights; do
    loses strides_ignored strided $op '' bad-write
done
loses strides_ignored strided scores chunk bad-write
# What is computed of a gap's NaN may have its bits, and then looks as if it had not been written.
loses strides_ignored strided attention chunk 'unwritten|bad-write'
for op in scores attention; do
    for layout in bhsd bshd; do
        loses batch_0_keys $layout $op chunk fail
        loses heads_exchanged $layout $op chunk bad-read
    done
done
loses batch_0_values bhsd attention chunk fail
loses sequences_ignored varlen attention chunk fail
loses sequences_ignored varlen attention cross fail
plugin=$plain

# Where nothing else fails the text says so; not where plain vectors fail too.
run test "$plugin" --config fault=strides_ignored id=rope/half/none/d12-b1e6/ op=rotate \
    --dtype f64 --layouts plain,bshd,transposed --fresh none
same "$(sed -n 's/^  Only layouts fail: //p' "$work/out")" 'bshd, transposed' 'only layouts'
run test "$BUILD/plugins/example_rope.so" --config pairing=swapped id=rope/half/none/d12-b1e6/ \
    op=rotate --dtype f64 --layouts plain,bshd --fresh none
same "$status $(grep -c 'Only layouts' "$work/out")" '1 0' 'plain ones fail too'

# A wrong plugin that is not asked for layouts is right; a canary's line says what happened.
succeeds test "$plugin" --config fault=strides_ignored id=rope/half/none/d12-b1e6/ op=rotate \
    --dtype f64 --layouts plain
run test "$plugin" --config fault=strides_ignored id=rope/half/none/d12-b1e6@strided op=rotate \
    --dtype f64
more "$(grep -c 'wrote between the rows' "$work/out")" 1 'words of the gap'

# The line that repeats a failure does, with the exit status of the whole; the curl line has the id
# that the service knows.
repeat=$(grep -m1 -o 'posref test .*' "$work/out")
curl=$(grep -m1 -o 'v1/vectors/.*' "$work/out")
case $curl in *@*) bad "$curl" ;; *) ok ;; esac
eval "run ${repeat#posref }"
same "$status" 1 "$repeat"
same "$(grep -c '^  *1\. rope.*@strided f64: bad-write' "$work/out")" 1 'the one failure'

# What a plugin names is tested unasked; one that was built before layouts were is not asked.
succeeds test "$plugin" op=rotate scaling=none pairing=half --dtype f64 --suite smoke --report jsonl
more "$(lines '.layout == "varlen"')" 1 'layouts that are named'
succeeds test "$BUILD/plugins/example_rope.so" op=rotate --dtype f64 --suite smoke --report jsonl
same "$(lines '.layout')" 0 'example_rope names none'
sed -e 's/sizeof plugin,/offsetof(struct posref_plugin, layouts),/' -e 's|"../posref|"posref|' \
    "$here/harness/plugins/example_layouts.c" >"$work/old.c"
${CC:-cc} -fPIC -shared -I"$here/harness" -o "$work/old.so" "$work/old.c" -lm
succeeds test "$work/old.so" op=rotate scaling=none pairing=half --dtype f64 --suite smoke \
    --report jsonl
same "$(lines '.layout')" 0 'the structure ends before'
more "$(lines '.verdict == "pass"')" 1 'lines of an older plugin that pass'

# exec: gets what is contiguous, declines the rest.
cat >"$work/mine.py" <<'PY'
import math, sys
sys.path.insert(0, sys.argv[1])
import posref
def kernel(op, spec, inputs):
    x = inputs["x"]
    if spec["layout"] not in ("plain", "bhsd") or spec["pairing"] != "half":
        return None
    at, y = inputs["positions"].values(), x.values()
    dim, half = int(spec["dim"]), int(spec["rotary_dim"]) // 2
    seq = len(at) if spec["layout"] == "bhsd" else len(y) // dim
    each = 1 if spec["layout"] == "bhsd" else seq // len(at)
    for row in range(len(y) // dim):
        for i in range(half):
            a = at[row % seq // each] * float(spec["base"]) ** (-i / half)
            j, k, c, s = row * dim + i, row * dim + i + half, math.cos(a), math.sin(a)
            y[j], y[k] = y[j] * c - y[k] * s, y[k] * c + y[j] * s
    return {"y": y}
posref.serve(kernel, name="mine", version="1", layouts="bhsd strided")
PY
succeeds test "exec:python3 $work/mine.py $here/harness/plugins" id=rope/half/none/d12-b1e6/ \
    op=rotate direction=forward --dtype f64 --layouts plain,bhsd,strided --report jsonl
more "$(lines '.layout == "bhsd" and .verdict == "pass"')" 6 'exec: bhsd'
same "$(lines '.layout == "strided" and (.why | test("contiguous") | not)')" 0 'exec: strided'

# 16-bit tables are taken as they are: arithmetic in double on them is of the best grade there is,
# and one that forms its own cosines is not right.
cat >"$work/given.py" <<'PY'
import math, sys
sys.path.insert(0, sys.argv[1])
import posref
def kernel(op, spec, inputs):
    if spec["pairing"] != "half" or "cos" not in inputs:
        return None
    c, s, y, dim = inputs["cos"], inputs["sin"].values(), inputs["x"].values(), int(spec["dim"])
    n, half = c.shape
    c = c.values()
    if sys.argv[2] == "own":
        c = [math.sqrt(1 - v * v) * math.copysign(1, w) for v, w in zip(s, c)]
    for row in range(len(y) // dim):
        for i in range(half):
            at, j, k = row * n // (len(y) // dim) * half + i, row * dim + i, row * dim + i + half
            y[j], y[k] = y[j] * c[at] - y[k] * s[at], y[k] * c[at] + y[j] * s[at]
    return {"y": y}
posref.serve(kernel, name="given", version="1")
PY
succeeds test "exec:python3 $work/given.py $here/harness/plugins given" id=rope/half/none/d12- \
    direction=forward partial=leading op=rotate --layouts tables,tables-f32 --dtype f16,bf16 \
    --report jsonl
same "$(lines '.verdict == "pass" and .grade == "float32"')" "$(lines true)" 'tables of 16 bits'
more "$(lines true)" 50 'lines of tables of 16 bits'
run test "exec:python3 $work/given.py $here/harness/plugins own" id=rope/half/none/d12-b1e6/ \
    direction=forward op=rotate --layouts tables --dtype bf16 --report jsonl
same "$status" 1 'own cosines'

# Shards hold every case once.
for k in 1 2; do
    run test "$plugin" id=rope/half/none/d12-b1e6@bhsd --dtype f64 --shard $k/2 \
        --report "jsonl:$work/shard$k"
done
succeeds merge "$work/shard1" "$work/shard2" --report jsonl
same "$(lines '.layout == "bhsd"')" "$(lines true)" 'merged'

# The last --layouts counts, as with every option.
succeeds test "$plugin" id=rope/half/none/d12- --layouts all --layouts bhsd --dtype f32 \
    --report jsonl
same "$(lines '.layout != "bhsd"')" 0 'the last --layouts'
refuses "'bshx' is no layout" test "$plugin" --layouts plain,bshx
refuses "'nix' is no layout" test "$plugin" id=rope/half@nix
refuses '--layouts' test --answers "$work" --layouts bhsd
refuses 'no vector matches' test "$plugin" scheme=alibi --layouts bhsd
finish
