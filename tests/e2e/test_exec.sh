#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# exec:COMMAND plugins: the examples in Python and JavaScript, and programs that break the protocol.
. "$(dirname "$0")/lib.sh"
plugins=$(cd "$(dirname "$0")/../../harness/plugins" && pwd)
db=$work/smoke.db
succeeds generate --suite smoke -o "$db"
export POSREF_DB=$db
export PYTHONDONTWRITEBYTECODE=1
cd "$work" || exit 1

# judge COMMAND [ARGUMENT...]: on the rotations without scaling; leaves the report in j.
judge() {
    local command=$1
    shift
    rm -f j
    run test "exec:$command" --suite smoke op=rotate scaling=none dim=4 pairing=half \
        --fresh none --report json:j "$@"
}

judge "python3 $plugins/example.py" --dtype f64,f32,f16,bf16
same "$status $(jq -r '.verdict, .counts.pass, .run.plugin.name' j | xargs)" '0 pass 4 example.py' \
    'the example in Python'
judge "python3 $plugins/example.py" --config a=b
same "$status" 2 'a setting that it does not take'
if grep -q 'refused to open: takes no --config' err; then ok; else bad "$(cat err)"; fi
# Without the filter of the lines above: what the examples do not know they decline.
everything() {
    run test "exec:$1" --suite smoke --report json:j --report text
    same "$status $(jq -r '[.verdict, (.counts | .pass > 15, .unsupported > 50)] | map(tostring) |
        join(" ")' j)" '0 pass true true' "$1 on all of smoke"
    same "$(grep -c '^note ' out)" 0 "$1: notes"
}
everything "python3 $plugins/example.py"
if command -v node >/dev/null; then
    everything "node $plugins/example.mjs"
    judge "node $plugins/example.mjs" --dtype f64,f32,bf16
    same "$status $(jq -r '.verdict, .counts.pass, .counts.unsupported' j | xargs)" '0 pass 2 1' \
        'the example in JavaScript'
else
    echo 'skipped: no node, so the example in JavaScript was not run'
fi
if python3 -c 'import torch' 2>/dev/null; then
    judge "python3 $plugins/example_torch.py" --dtype f64,f32,bf16
    same "$status $(jq -r '.verdict' j)" '0 pass' 'the example in PyTorch'
else
    echo 'skipped: no torch, so the example in PyTorch was not run'
fi

# kernel CODE: a program that serves the code as its kernel, which may print.
kernel() {
    printf 'import os, sys, time\nsys.path.insert(0, %s)\nimport posref\n' "'$plugins'" >k.py
    printf 'def kernel(op, spec, inputs):\n    x = inputs["x"].values()\n    %s\n' "$1" >>k.py
    echo 'posref.serve(kernel)' >>k.py
}
# Results that vary, declared and not.
for varies in True False; do
    kernel 'kernel.n = getattr(kernel, "n", 0) + 1; return {"y": [v + kernel.n for v in x]}'
    sed -i "s/serve(kernel)/serve(kernel, varies=$varies)/" k.py
    judge 'python3 k.py' --dtype f32 --report jsonl:l
    same "$(jq -r 'select(.type == "footer").varies' l)" \
        "$([ $varies = True ] && echo true || echo null)" "varies=$varies"
    same "$(jq -r '.counts | [.fail, .nondeterministic] | join(" ")' j)" \
        "$([ $varies = True ] && echo 1 0 || echo 0 1)" "verdict with varies=$varies"
done
# becomes VERDICT TEXT ARGUMENT...: the kernel's verdict, and what the report says of it.
becomes() {
    local verdict=$1 text=$2
    shift 2
    judge 'python3 k.py' --dtype f32 "$@"
    same "$status" 1 "exit status of $verdict"
    same "$(jq -r ".counts[\"$verdict\"]" j)" 1 "verdict $verdict: $(jq -c .counts j)"
    # shellcheck disable=SC2016 # jq's own variable
    local said='[.failures[].why // "", .printed // ""] | any(contains($text))'
    if jq -e --arg text "$text" "$said" j >/dev/null; then ok; else
        bad "'$text' is not said: $(jq -c .failures j | head -c 400)"
    fi
}
kernel 'return {"y": x}'
becomes fail ''
kernel 'print("hello from", op); return {"y": [float("nan")] * len(x)}'
becomes nan 'hello from rotate'
kernel 'return {}'
becomes error "the answer's y is missing"
kernel 'return {"y": x[1:]}'
becomes error 'no safetensors document: tensor y'
kernel 'raise ValueError("out of luck")'
becomes error 'ValueError: out of luck'
kernel 'return {"y": "text"}'
becomes error 'cannot be encoded'
kernel 'os.kill(os.getpid(), 9)'
becomes crash ''
kernel 'os._exit(7)'
becomes exited ''
kernel 'time.sleep(60)'
becomes timeout '' --timeout 0.5 --start-timeout 2
kernel 'hold = [bytearray(1 << 24) for _ in range(64)]; time.sleep(20); return {"y": x}'
becomes crash 'held more than 300 MiB' --memory 300
echo 'import no_such_module' >none.py
judge 'python3 none.py'
same "$status" 2 'a program that ends before it is opened'
if grep -q "with status 1 before it answered; it printed: ModuleNotFoundError: .*no_such_module" err
then ok; else bad "$(cat err)"; fi
kernel 'return None'
judge 'python3 k.py' --dtype f32
same "$status" 2 'everything declined'

# Frames that are none. The greeting is right, the answer to the first call is not.
cat >raw.py <<'END'
import json, struct, sys
def doc(metadata):
    text = json.dumps({"__metadata__": metadata}).encode()
    document = struct.pack("<Q", len(text)) + text
    return struct.pack("<Q", len(document)) + document
def ask():
    size = sys.stdin.buffer.read(8)
    if len(size) == 8:
        sys.stdin.buffer.read(struct.unpack("<Q", size)[0])
def say(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
ask(); say(doc({"status": "ok", "name": "raw"})); ask()
say(eval(sys.argv[1]))
while sys.stdin.buffer.read(4096):
    pass
END
raw() {
    judge "python3 raw.py '$1'" --dtype f32,f64
    same "$status $(jq -r .counts.error j)" '1 2' "each call is an error: $1 ($(jq -c .counts j))"
    if jq -e --arg text "$2" '[.failures[].why] | all(contains($text))' j >/dev/null; then
        ok
    else
        bad "'$2' is not said: $(jq -c '[.failures[].why]' j)"
    fi
}
raw 'b"\xff" * 8' 'above 64 MiB'
raw 'b"\1\0\0\0\0\0\0\0x"' 'shorter than any document'
raw 'struct.pack("<Q", 64) + b"\xff" * 64' 'no safetensors document'
raw 'struct.pack("<Q", 16) + struct.pack("<Q", 8) + b"not json"' 'no safetensors document'
raw 'doc({"status": "perhaps"}) * 9' 'none of ok, unsupported, error'
raw 'doc({}) * 9' 'none of ok, unsupported, error'
judge "python3 raw.py 'sys.exit(0)'" --dtype f32
same "$status $(jq -r .counts.exited j)" '1 1' 'ends without an answer'

# A command that cannot be opened is bad input.
refuses 'refused to open: the program ended with status 3' test --suite smoke 'exec:exit 3'
refuses 'refused to open: the program ended with status 127' test --suite smoke exec:./nothing
refuses 'refused to open: the reply is no frame' test --suite smoke 'exec:cat /dev/zero'
refuses 'refused to open: the ' test --suite smoke 'exec:echo hello there, posref'
for pid in $(pgrep -f 'raw.py|k.py'); do readlink "/proc/$pid/cwd"; done >running
same "$(grep -cxF "$PWD" running)" 0 'nothing is left running'

# identify works on programs too.
run identify "exec:python3 $plugins/example.py" scheme=rope dim=16 --format json
if jq -e '.spec.scheme == "rope" and .spec.base == 10000' out >/dev/null; then ok; else
    bad "identify: $(head -c 300 out err)"
fi
finish
