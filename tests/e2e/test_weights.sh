#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref weights: the walk of docs/porting.md on a small model, and bad input.
. "$(dirname "$0")/lib.sh"

docs=$(cd "$(dirname "$0")/../../docs" && pwd)
cd "$work" || exit 1
mkdir model broken

# make PATH: 2 layers, 4 q heads and 2 kv heads of 16, hidden 8, F32 values that differ everywhere.
make() {
    perl -e '
        my ($header, $data, $at, $x) = ("", "", 0, 1);
        for my $layer (0, 1) {
            for (["q_proj.weight", 64, 8], ["k_proj.weight", 32, 8], ["v_proj.weight", 32, 8],
                 ["q_proj.bias", 64, 0], ["k_proj.bias", 32, 0]) {
                my ($name, $rows, $columns) = @$_;
                my $n = $rows * ($columns || 1);
                my $shape = $columns ? "$rows,$columns" : $rows;
                $header .= "," if $header;
                $header .= sprintf q("model.layers.%d.self_attn.%s":{"dtype":"F32","shape":[%s],) .
                    q("data_offsets":[%d,%d]}), $layer, $name, $shape, $at, $at + 4 * $n;
                $at += 4 * $n;
                $data .= pack "f<", ($x = $x * 69069 % 65537) / 64 for 1 .. $n;
            }
        }
        binmode STDOUT;
        print pack("Q<", 2 + length $header), "{$header}", $data;' >"$1"
}
# shows TEXT: the last output holds it.
shows() { if grep -qF -- "$1" out; then ok; else bad "no '$1' in: $(cat out)"; fi; }

config='"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16'
make model/model.safetensors
echo "{\"model_type\": \"llama\", $config}" >model/config.json

# A right port, there and back.
succeeds weights permute model -o port.safetensors --from half --to interleaved \
    --config model/config.json
shows 'permuted 8 tensors, half to interleaved'
succeeds weights check model port.safetensors --format json
says '.kernel_pairing == "interleaved" and .consistent and .findings == []'
says '[.tensors[].mapping] | unique == ["half_to_interleaved"]'
says '.tensors | length == 8'
says '.tensors[0].name == "model.layers.0.self_attn.q_proj.weight"'
says '.other_tensors == {"equal": 2, "within_error": 0, "not_compared": 0, "changed": []}'
succeeds weights check model port.safetensors
same "$(tail -n 1 out)" 'verdict: conforms' 'last line of a right port'
succeeds weights permute port.safetensors -o back.safetensors --from interleaved --to half \
    --config=model/config.json
same "$(cmp model/model.safetensors back.safetensors 2>&1)" '' 'there and back'
succeeds weights check model back.safetensors --format json
says '.kernel_pairing == "half" and ([.tensors[].mapping] | unique == ["identity"])'

# One tensor alone agrees with nothing.
succeeds weights check model port.safetensors --tensor model.layers.0.self_attn.q_proj.weight
shows 'q and k: only q was compared; k must carry the same'

# A limit on files is met like a full disk: exit 3, one line, nothing left.
(ulimit -f 1 && "$POSREF" weights permute model -o limited --from half --to interleaved) \
    >out 2>err
same "$?" 3 'exit code under a limit on files'
same "$(wc -l <err)" 1 'lines under a limit on files'
same "$(echo limited*)" 'limited*' 'what a limit on files leaves'

# Only q ported: exit 1, and it says so.
succeeds weights permute model -o step1 --from half --to interleaved --config model/config.json \
    --tensor model.layers.0.self_attn.q_proj.weight
run weights check model step1 --format json
same "$status" 1 'exit code of a wrong port'
says '.consistent == false and ([.findings[].fault] | contains(["q_k_disagree"]))'
says '.findings[] | select(.fault == "q_k_disagree") | .layers == [0]'
run weights check model step1
shows 'WRONG: q_k_disagree in layers 0'

# A right port under the wrong kernel, and twice.
run weights check model port.safetensors --kernel half --format json
same "$status" 1 'exit code under the wrong kernel'
says '[.findings[].fault] == ["kernel_disagrees"]'
succeeds weights permute port.safetensors -o twice --from half --to interleaved \
    --config model/config.json
run weights check model twice --format json
same "$status" 1 'exit code of a double port'
says '.kernel_pairing == "none" and .tensors[0].mapping == "applied_twice"'

# What docs/porting.md prints is true: k permuted by the number of q heads.
perl -0777 -e '
    my ($from, $to) = map { open my $f, "<:raw", $_ or die; <$f> } @ARGV;
    my $header = 8 + unpack "Q<", $from;
    for my $layer (0, 1) {
        $from =~ /layers\.$layer\.self_attn\.k_proj\.weight":\{[^}]*data_offsets":\[(\d+),/ or die;
        my $at = $header + $1;
        for my $head (0 .. 3) { for my $i (0 .. 3) { for my $t (0, 1) {
            substr($to, $at + 32 * (8 * $head + 2 * $i + $t), 32) =
                substr($from, $at + 32 * (8 * $head + 4 * $t + $i), 32);
        } } }
    }
    binmode STDOUT;
    print $to;' model/model.safetensors port.safetensors >wrong
mv port.safetensors good.safetensors
mv wrong port.safetensors
run weights check model port.safetensors
same "$status" 1 'exit code of the page'
sed -n '/\$ posref weights check model port.safetensors/,/verdict: wrong/p' "$docs/porting.md" |
    sed '1d; s/^    //' >page
same "$(diff page out)" '' 'what the page prints'
mv good.safetensors port.safetensors

# Two tensors by name, and no config at all.
q=model.layers.0.self_attn.q_proj.weight
succeeds weights check model/model.safetensors:$q port.safetensors:$q --format json
says '.tensors | length == 1 and .[0].mapping == "half_to_interleaved"'
cp model/model.safetensors broken/a.safetensors
succeeds weights check broken/a.safetensors port.safetensors --format json
says '.head_dim_inferred and .before.head_dim == 16 and .kernel_pairing == "interleaved"'

succeeds weights guess model --format json
says '.verdict == null and .pairing == "half" and .evidence[1].strength == "weak"'
succeeds weights guess model
succeeds weights permute model --dry-run --from half --to interleaved --format json
says '.written == false and (.tensors | length == 8)'
succeeds weights --help
succeeds weights check --help

# Bad input: one line, exit 2, nothing written.
refuses 'check, permute or guess' weights
refuses 'check, permute or guess' weights chekc a b
refuses 'needs BEFORE and AFTER' weights check model
refuses 'one path too many' weights check model model model
refuses 'no such option' weights check model model --colour red
refuses 'needs a value' weights check model model --heads
refuses 'no integer' weights check model model --heads 4x
refuses 'no integer' weights check model model --heads 0
refuses 'neither half nor interleaved' weights check model model --kernel neox
refuses 'No such file' weights check model nowhere
refuses 'no tensor called x' weights check model/model.safetensors:x model
refuses '--from: missing' weights permute model -o new --to half
refuses '--to: is the same as --from' weights permute model -o new --from half --to half
refuses '-o: missing' weights permute model --from half --to interleaved
refuses 'is the input' weights permute model -o model/model.safetensors --from half \
    --to interleaved
refuses 'No such file' weights permute model -o no/new --from half --to interleaved
same "$(ls -d new no 2>/dev/null)" '' 'what a refused permute wrote'
head -c 1000 model/model.safetensors >broken/a.safetensors
refuses 'leave the' weights check broken/a.safetensors model
head -c 3000 model/model.safetensors >broken/a.safetensors
refuses 'tensor model.layers.' weights check model broken/a.safetensors
: >broken/a.safetensors
refuses 'no safetensors header' weights check model broken/a.safetensors
printf 'GGUF\001\000\000\000' >broken/a.safetensors
refuses 'GGUF version 1' weights check model broken/a.safetensors
echo '{"model_type": "llama", "num_attention_heads": -1}' >bad.json
refuses 'num_attention_heads is no positive integer' weights check model model --config bad.json
echo '{"model_type": "llama", "num_attention_heads": 5, "head_dim": 16}' >bad.json
refuses '64 rows are not 5 heads of 16' weights check model model --config bad.json

finish
