#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref export and posref test --answers: a device that answers from files.
. "$(dirname "$0")/lib.sh"
plugins=$(cd "$(dirname "$0")/../../harness/plugins" && pwd)
db=$work/smoke.db
succeeds generate --suite smoke -o "$db"
export POSREF_DB=$db PYTHONDONTWRITEBYTECODE=1
cd "$work" || exit 1

succeeds export -o prompts id=rope/half/none/ op=rotate --dtype f32,bf16 \
    --suite smoke
n=$("$POSREF" list --suite smoke id=rope/half/none/ op=rotate | wc -l)
same "$(find prompts -name '*.safetensors' | wc -l)" $((2 * n)) 'prompts'
same "$(cut -d' ' -f1 out)" $((2 * n)) 'the count that is printed'

# The device: no posref but the files. Its rotation is right, or has a sign turned.
cat >device.py <<END
import json, math, os, struct, sys
sys.path.insert(0, '$plugins')
import posref
sign = float(sys.argv[1])
for folder, _, names in os.walk('prompts'):
    for name in names:
        document = open(os.path.join(folder, name), 'rb').read()
        (size,) = struct.unpack('<Q', document[:8])
        header = json.loads(document[8:8 + size])
        meta = header.pop('__metadata__')
        assert 'y' not in header, 'an answer is in the prompt'
        tensor = {k: posref.Tensor(v['dtype'], v['shape'], document[8 + size + v['data_offsets'][0]:
                  8 + size + v['data_offsets'][1]]) for k, v in header.items()}
        spec = dict(word.split('=') for word in meta['spec'].split())
        dim, r = int(spec['dim']), int(spec['rotary_dim'])
        y, positions = tensor['x'].values(), tensor['positions'].values()
        heads = len(y) // dim // len(positions)
        turn = sign * (-1 if spec['direction'] == 'inverse' else 1)
        for row in range(len(y) // dim):
            for i in range(r // 2):
                angle = turn * positions[row // heads] * float(spec['base']) ** (-2 * i / r)
                a, b = row * dim + i, row * dim + i + r // 2
                y[a], y[b] = (y[a] * math.cos(angle) - y[b] * math.sin(angle),
                              y[b] * math.cos(angle) + y[a] * math.sin(angle))
        (output,) = json.loads(meta['outputs'])
        path = os.path.join('answers', os.path.relpath(folder, 'prompts'))
        os.makedirs(path, exist_ok=True)
        data = posref._encode(y, output['dtype'])
        text = json.dumps({'y': {'dtype': output['dtype'], 'shape': output['shape'],
                                 'data_offsets': [0, len(data)]}}).encode()
        with open(os.path.join(path, name), 'wb') as out:
            out.write(struct.pack('<Q', len(text)) + text + data)
END
judge() {
    run test --answers answers --suite smoke id=rope/half/none/ op=rotate \
        --dtype f32,bf16 --report json:j --report text "$@"
}
python3 device.py 1
judge
same "$status $(jq -r '.verdict, .counts.pass, .run.plugin.name' j | xargs)" \
    "0 pass $((2 * n)) answers" 'right answers'
python3 device.py -1
judge
same "$status" 1 'turned answers'
same "$(jq -r '.explanations[0].fault' j)" direction 'turned answers are explained'
command=$(grep -- '--answers answers' out | grep -- ' --dtype ' | head -n 1)
$command >again 2>&1
same "$?" 1 "the command that repeats one: $command"

# Missing, broken, foreign and NaN answers.
python3 device.py 1
files=$(find answers -name '*near*.f32.safetensors' | sort)
one=$(sed -n 1p <<<"$files") two=$(find answers -name '*.bf16.safetensors' | sort | sed -n 2p)
rm "$one"
judge
same "$status $(jq -r '.counts.unsupported' j)" '0 1' 'an answer that is missing'
judge --require rotate
same "$status" 1 'one that is required'
printf 'no document' >"$two"
judge
same "$status $(jq -r '.counts.error, .failures[0].why[:38]' j | xargs)" \
    '1 1 the answer is no safetensors document:' 'a broken answer'
refuses 'nowhere: is no directory' test --answers nowhere --suite smoke
refuses 'takes the place of a plugin' test ./plugin.so --answers answers --suite smoke
mkdir empty
run test --answers empty --suite smoke
same "$status" 2 'no answer at all'
refuses '-o: missing' export scheme=rope
refuses 'no vector matches' export -o none scheme=rope dim=16384 --suite smoke
refuses "--dtype: 'i32'" export -o none --dtype i32
succeeds export --help
finish
