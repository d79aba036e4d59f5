#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# A Python plugin of T5's buckets and biases: integers and table look-ups through the protocol, the
# judge and the report; and the same plugin with a fault.
. "$(dirname "$0")/lib.sh"
plugins=$(cd "$(dirname "$0")/../../harness/plugins" && pwd)
core_db
export POSREF_DB=$db
export PYTHONDONTWRITEBYTECODE=1
cd "$work" || exit 1

cat >t5.py <<END
import math, sys
sys.path.insert(0, '$plugins')
import posref
fault = {}

def bucket(r, nb, far, both):
    if fault.get("fault") == "sign":
        r = -r
    first, n = 0, max(-r, 0)
    if both:
        nb //= 2
        first, n = nb if r > 0 else 0, abs(r)
    exact = nb // 2
    if n < exact:
        return first + n
    # Whole numbers decide: the most t with (n / exact)^(nb - exact) >= (far / exact)^t.
    t, most = 0, nb - exact
    while t < most and n ** most * exact ** (t + 1) >= far ** (t + 1) * exact ** most:
        t += 1
    left, right = n ** most * exact ** t, far ** t * exact ** most
    if fault.get("fault") == "ceil" and n < far and left > right:
        t += 1
    return first + min(exact + t, nb - 1)

def kernel(op, spec, inputs):
    if spec["scheme"] != "t5_bias" or op not in ("index", "bias"):
        return None
    q = inputs.get("q_positions", inputs.get("positions")).values()
    k = inputs.get("k_positions", inputs.get("positions")).values()
    nb, far = int(spec["num_buckets"]), int(spec["max_distance"])
    rows = [[bucket(int(b) - int(a), nb, far, spec["bidirectional"] == "true") for b in k]
            for a in q]
    if op == "index":
        return {"buckets": rows}
    table, (n, heads) = inputs["weights"].values(), inputs["weights"].shape
    by_entry = (spec["weights_layout"] == "entries_heads") != (fault.get("fault") == "transposed")
    if spec["weights_layout"] == "heads_entries":
        n, heads = heads, n
    return {"bias": [[[table[e * heads + h if by_entry else h * n + e] for e in row]
                      for row in rows] for h in range(heads)]}

posref.serve(kernel, name="t5", version="1", configure=fault.update)
END

# judge [ARGUMENT...]: all T5 vectors; leaves the report in j.
judge() {
    rm -f j
    run test 'exec:python3 t5.py' --suite core scheme=t5_bias --fresh none --properties no \
        --report json:j "$@"
}
# Verdicts, counted.
counts() { jq -c '.counts' j; }

judge op=index
same "$status $(jq -r .verdict j)" '0 pass' "integers: $(counts)"
judge op=bias --dtype f64,f32,f16,bf16
same "$status $(jq -r .verdict j)" '0 pass' "copies in four dtypes: $(counts)"
n=$(jq .counts.pass j)
if [ "$n" -ge 12 ]; then ok; else bad "$n biases passed, in four dtypes"; fi
judge op=scores
same "$status" 2 'scores are declined'

judge op=index --config fault=sign
same "$status $(jq -r .verdict j)" '1 fail' "the sign of the distance: $(counts)"
if jq -e '[.failures[] | select(.verdict == "fail")] | length > 4' j >/dev/null; then ok; else
    bad "too few failures: $(counts)"
fi
whole='.got == (.got | floor) and .want == (.want | floor) and .got != .want'
if jq -e ".failures | any(.worst | .tensor == \"buckets\" and $whole)" j >/dev/null; then ok; else
    bad "a failure names no bucket: $(jq -c '.failures[0]' j | head -c 600)"
fi
judge op=bias --config fault=sign --dtype f32,bf16
same "$status $(jq -r '.verdict, .counts.pass' j | xargs)" '1 fail 0' "biases, sign: $(counts)"
judge op=bias --config fault=transposed --dtype f32,bf16
same "$status $(jq -r '.verdict, .counts.pass' j | xargs)" '1 fail 0' "transposed: $(counts)"
judge op=index --config fault=ceil
same "$status $(jq -r .verdict j)" '1 fail' "ceil for floor: $(counts)"
finish
