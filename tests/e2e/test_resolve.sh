#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref resolve: configs written for the purpose, a family and a quirk each; what eval makes of the
# specs; what a broken config is answered with.
. "$(dirname "$0")/lib.sh"

# shellcheck source=tests/e2e/resolve.sh
. "$(dirname "$0")/resolve.sh"
size='"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 4'

# ---- where the base is, and what it is when it is nowhere ----
config '{"model_type": "llama", "rope_theta": 500000, '"$size"'}'
spec 0 scheme=rope dim=128 rotary_dim=128 base=500000 pairing=half scaling=none
same "$(jq -r '.layers[0] | [.applies_to, .n_layers] | join(" ")' "$work/answer")" 'all 4' layers
config '{"model_type": "llama", '"$size"'}'
spec 0 base=10000
noted default rope_theta "what Hugging Face's class"
config '{"model_type": "qwen3", "head_dim": 128, "rope_parameters": {"rope_type": "default",
    "rope_theta": 1e6}, '"$size"'}'
spec 0 base=1000000
config '{"model_type": "llama", "rope_theta": 20000, "rope_parameters": {"rope_type": "default",
    "rope_theta": 30000}, '"$size"'}'
spec 0 base=30000
noted contradiction rope_theta 'the inner one is used'
config '{"model_type": "gpt_neox", "rotary_emb_base": 20000, "rotary_pct": 0.25,
    "hidden_size": 6144, "num_attention_heads": 64}'
spec 0 dim=96 rotary_dim=24 base=20000
config '{"model_type": "chatglm", "kv_channels": 128, "rope_ratio": 500, '"$size"'}'
spec 0 base=5000000 rotary_dim=64 pairing=interleaved
noted info rope_ratio
config '{"model_type": "dbrx", "d_model": 6144, "n_heads": 48,
    "attn_config": {"rope_theta": 500000}}'
spec 0 dim=128 base=500000
config '{"model_type": "who_knows", '"$size"'}'
spec 0 base=10000 pairing=half
noted unknown model_type who_knows
noted default rope_theta "not known to be this family"
config '{"architectures": ["MistralForCausalLM"], '"$size"'}'
noted default model_type MistralForCausalLM
same "$(jq -r .model_type "$work/answer")" mistral 'the family of an architecture'

# ---- widths ----
config '{"model_type": "mistral", "hidden_size": 5120, "num_attention_heads": 32,
    "head_dim": 128, "rope_theta": 1e6}'
spec 0 dim=128
noted info head_dim '128 is given, and is not 5120 / 32'
config '{"model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32,
    "head_dim": null}'
spec 0 dim=128
config '{"model_type": "gptj", "n_embd": 4096, "n_head": 16, "rotary_dim": 64}'
spec 0 dim=256 rotary_dim=64 pairing=interleaved base=10000
config '{"model_type": "phi", "partial_rotary_factor": 0.4, "rope_theta": 10000,
    "hidden_size": 2560, "num_attention_heads": 32}'
spec 0 dim=80 rotary_dim=32
config '{"model_type": "phi", "hidden_size": 2048, "num_attention_heads": 32}'
spec 0 rotary_dim=32
noted default partial_rotary_factor 0.5
config '{"model_type": "stablelm", "partial_rotary_factor": 0.25, "rope_pct": 0.5, '"$size"'}'
spec 0 rotary_dim=32
noted contradiction rope_pct
config '{"model_type": "glm4", "partial_rotary_factor": 0.5,
    "rope_parameters": {"rope_theta": 10000, "partial_rotary_factor": 0.25}, '"$size"'}'
spec 0 rotary_dim=32 pairing=interleaved
noted contradiction partial_rotary_factor
config '{"model_type": "deepseek_v3", "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
    "rope_theta": 10000, '"$size"'}'
spec 0 dim=64 pairing=interleaved
noted info qk_rope_head_dim

# ---- scalings, with anchors computed with 40 digits ----
llama3='"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0'
config '{"model_type": "llama", "rope_theta": 500000.0, "max_position_embeddings": 131072,
    "rope_scaling": {"rope_type": "llama3", "original_max_position_embeddings": 8192,
    '"$llama3"'}, '"$size"'}'
spec 0 scaling=llama3 factor=8 original_max_position_embeddings=8192
says '.layers[0].inv_freq[29] == 0.0021665707635033586 and .layers[0].attention_factor == 1'
config '{"model_type": "llama", "rope_theta": 500000.0, "max_position_embeddings": 131072,
    "rope_scaling": {"rope_type": "llama3", "original_max_position_embeddings": 4096,
    '"$llama3"'}, '"$size"'}'
spec 0 original_max_position_embeddings=4096
noted runtime original_max_position_embeddings 'llama.cpp reads it at the top level only'
config '{"model_type": "llama", "rope_theta": 500000.0, "max_position_embeddings": 16384,
    "original_max_position_embeddings": 4096, "rope_scaling": {"rope_type": "llama3",
    "original_max_position_embeddings": 8192, '"$llama3"'}, '"$size"'}'
spec 0 original_max_position_embeddings=4096
noted contradiction original_max_position_embeddings 'takes the one at the top'
config '{"model_type": "llama", "rope_theta": 500000.0, "max_position_embeddings": 32768,
    "rope_scaling": {"rope_type": "llama3", '"$llama3"'}, '"$size"'}'
spec 0 original_max_position_embeddings=32768
noted default original_max_position_embeddings
noted runtime original_max_position_embeddings 'mlx takes 8192'

config '{"model_type": "gpt_oss", "head_dim": 64, "rope_theta": 150000,
    "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
    "truncate": false, "original_max_position_embeddings": 4096},
    "max_position_embeddings": 131072, "hidden_size": 2880, "num_attention_heads": 64}'
spec 0 scaling=yarn truncate=false
says '.layers[0].inv_freq[12] == 0.006794959489732218 and
    .layers[0].attention_factor == 1.3465735902799727'
parts llama.cpp truncate 17 0.00012931870124506273 0.00022794779579512526
parts mlx truncate 17 0.00012931870124506273 0.00022794779579512526
yarn='"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768'
config '{"model_type": "qwen2", "rope_theta": 1e6, "max_position_embeddings": 131072,
    "rope_scaling": {'"$yarn"'}, '"$size"'}'
says '.layers[0].inv_freq[31] == 0.0008029597275452303 and
    .layers[0].attention_factor == 1.138629436111989'
noted default beta_fast 32
noted default beta_slow 1
config '{"model_type": "qwen2", "rope_theta": 1e6, "max_position_embeddings": 65536,
    "rope_scaling": {'"$yarn"', "attention_factor": 1.0}, '"$size"'}'
spec 0 attention_factor=1
noted contradiction factor 'over the original length is 2'
says '[.layers[0].notes[] | select(.key == "attention_factor") | [.runtime, .attention_factor]] ==
    [["vllm", {"huggingface": 1, "vllm": 1.138629436111989}],
     ["llama.cpp", {"huggingface": 1, "llama.cpp": 1.138629436111989}],
     ["mlx", {"huggingface": 1, "mlx": 1.138629436111989}]]'
deepseek='"qk_rope_head_dim": 64, "rope_theta": 10000, "max_position_embeddings": 163840, '"$size"
yarn40='"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1,
    "original_max_position_embeddings": 4096'
config '{"model_type": "deepseek_v3", "rope_scaling": {'"$yarn40"', "mscale": 1.0,
    "mscale_all_dim": 1.0}, '"$deepseek"'}'
says '.layers[0].inv_freq[16] == 0.0055 and .layers[0].attention_factor == 1'
noted legacy type
config '{"model_type": "deepseek_v2", "rope_scaling": {'"$yarn40"', "mscale": 0.707},
    '"$deepseek"'}'
says '.layers[0].attention_factor == 1.3688879454113936'
says '[.layers[0].notes[] | select(.key == "mscale") | [.runtime, (.attention_factor[.runtime] *
    1e5 | round)]] == [["vllm", 126080], ["mlx", 126080]]'
config '{"model_type": "llama", "max_position_embeddings": 8192, "rope_theta": 10000,
    "rope_scaling": {"rope_type": "yarn", "factor": 2.0, "beta_fast": 0, "beta_slow": 0},
    '"$size"'}'
spec 0 beta_fast=32 beta_slow=1 original_max_position_embeddings=8192
noted default beta_slow '0 counts as missing'
noted runtime beta_slow 'vllm divides by it'
noted runtime original_max_position_embeddings 'llama.cpp does not convert'
config '{"model_type": "llama", "max_position_embeddings": 8192, "rope_theta": 10000,
    "rope_scaling": {"rope_type": "yarn", "factor": null,
    "original_max_position_embeddings": 2048}, '"$size"'}'
spec 0 factor=4
noted default factor null
config '{"model_type": "kimi_k2", "qk_rope_head_dim": 64, "rope_theta": 50000,
    "max_position_embeddings": 131072, "rope_scaling": {"type": "yarn", "factor": 32.0,
    "beta_fast": 1.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
    "original_max_position_embeddings": 4096}, '"$size"'}'
spec 0 beta_fast=1 beta_slow=1
config '{"model_type": "llama", "rope_theta": 10000, "rope_scaling": {"type": "linear",
    "factor": 4.0}, '"$size"'}'
spec 0 scaling=linear factor=4
config '{"model_type": "cohere", "rope_theta": 8e6, "rope_scaling": {"type": "linear",
    "factor": 4.0}, '"$size"'}'
parts mlx rope_scaling 0 0.25 1
config '{"model_type": "hunyuan_v1_moe", "rope_theta": 10000, "rope_scaling": {"type": "dynamic",
    "alpha": 1000.0, "factor": 1.0}, '"$size"'}'
spec 0 scaling=ntk factor=1000
noted ignored factor
config '{"model_type": "internlm2", "rope_theta": 1e6, "max_position_embeddings": 32768,
    "rope_scaling": {"type": "dynamic", "factor": 2.0}, '"$size"'}'
noted runtime rope_type 'vllm fixes the base once'
noted runtime rope_type 'llama.cpp does not convert'
spec 0 scaling=dynamic factor=2 seq_len=32768 original_max_position_embeddings=32768
says '[.layers[0].regimes[].spec.seq_len] == [65536, 131072]'
config "$(cat "$(dirname "$0")/configs/phi-4-mini.json")"
spec 0 scaling=longrope rotary_dim=96 seq_len=4096 factor=32
says '.layers[0].attention_factor == 1.1902380714238083'
says '.layers[0].regimes | length == 1 and .[0].spec.seq_len == 4097'
says '.layers[0] | .inv_freq[1] / .regimes[0].inv_freq[1] - 1.118320672 | fabs < 1e-15'
noted runtime rope_type 'mlx takes the long factors'
config '{"model_type": "qwen2_vl", "rope_theta": 1e6, "rope_scaling": {"type": "mrope",
    "rope_type": "default", "mrope_section": [16, 24, 24]}, '"$size"'}'
spec 0 scaling=none base=1000000 mrope_interleaved=false
says '.layers[0].spec.mrope_section == [16, 24, 24]'
noted contradiction rope_type 'Hugging Face takes rope_type'
noted runtime type 'mlx reads type before'
config '{"model_type": "qwen2", "rope_theta": 1e6, "rope_scaling": {"type": "linear",
    "rope_type": "default", "factor": 2.0}, '"$size"'}'
spec 0 scaling=none
noted ignored factor
noted runtime rope_type 'vllm refuses'

# ---- layers that differ ----
types='"layer_types": ["sliding_attention", "sliding_attention", "sliding_attention",
    "full_attention"]'
config '{"model_type": "gemma3_text", "head_dim": 256, "rope_theta": 1000000,
    "rope_local_base_freq": 10000, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    '"$types, $size"'}'
same "$(jq -c '[.layers[] | [.applies_to, .n_layers]]' "$work/answer")" \
    '[["full_attention",1],["sliding_attention",3]]' 'layers of Gemma 3'
spec 0 base=1000000 scaling=linear factor=8
spec 1 base=10000 scaling=none dim=256
config '{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "head_dim": 256,
    "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0,
    "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}},
    '"$types, $size"'}, "vision_config": {"model_type": "siglip_vision_model",
    "hidden_size": 1152, "num_attention_heads": 16}}'
same "$(jq -c '[.layers[] | .applies_to]' "$work/answer")" \
    '["full_attention","sliding_attention","vision/embedding"]' 'nested layers'
spec 0 base=1000000 scaling=linear
spec 1 base=10000 scaling=none
config '{"model_type": "modernbert", "global_rope_theta": 160000.0, "local_rope_theta": 10000.0,
    "hidden_size": 768, "num_attention_heads": 12}'
spec 0 base=160000 dim=64
spec 1 base=10000
config '{"model_type": "olmo3", "rope_theta": 500000, "max_position_embeddings": 65536,
    "rope_scaling": {"rope_type": "yarn", "factor": 8.0,
    "original_max_position_embeddings": 8192, "attention_factor": 1.2079441541679836,
    "beta_fast": 32.0, "beta_slow": 1.0}, '"$types, $size"'}'
spec 0 scaling=yarn attention_factor=1.2079441541679836
spec 1 scaling=none base=500000
config '{"model_type": "cohere2", "rope_theta": 50000, "head_dim": 128, '"$types, $size"'}'
same "$(jq -c '[.layers[] | [.applies_to, .n_layers]]' "$work/answer")" \
    '[["full_attention",1],["sliding_attention",3]]' 'layers of Cohere 2'
spec 1 base=50000 pairing=interleaved
config '{"model_type": "smollm3", "rope_theta": 5e6, "no_rope_layers": [1, 1, 1, 0], '"$size"'}'
same "$(jq -c '[.layers[] | [.applies_to, .n_layers]]' "$work/answer")" \
    '[["rotated",3],["nope",1]]' 'layers of SmolLM3'
config '{"model_type": "llama4_text", "head_dim": 128, "rope_theta": 500000,
    "max_position_embeddings": 1048576, "rope_scaling": {"rope_type": "llama3", "factor": 16.0,
    "low_freq_factor": 1.0, "high_freq_factor": 1.0, "original_max_position_embeddings": 8192},
    "hidden_size": 5120, "num_attention_heads": 40, "num_hidden_layers": 48}'
same "$(jq -c '[.layers[] | [.applies_to, .n_layers]]' "$work/answer")" \
    '[["rotated",36],["nope",12]]' 'layers of Llama 4'
spec 0 pairing=interleaved scaling=llama3 low_freq_factor=1 high_freq_factor=1
noted default no_rope_layer_interval
noted runtime rope_scaling 'mlx reads no scaling'
config '{"model_type": "qwen3_next", "head_dim": 256, "partial_rotary_factor": 0.25,
    "rope_theta": 1e7, "layer_types": ["linear_attention", "linear_attention",
    "linear_attention", "full_attention"], '"$size"'}'
same "$(jq -c '[.layers[] | [.applies_to, .n_layers]]' "$work/answer")" \
    '[["rotated",1],["linear_attention",3]]' 'layers of Qwen3-Next'
spec 0 dim=256 rotary_dim=64
config '{"model_type": "gemma4_text", "head_dim": 256, "global_head_dim": 512,
    "rope_parameters": {"full_attention": {"rope_type": "proportional",
    "partial_rotary_factor": 0.25, "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}, '"$types, $size"'}'
spec 0 dim=512 partial=proportional partial_rotary_factor=0.25 scaling=none
says '.layers[0].inv_freq | length == 256 and .[63] > 0 and .[64] == 0'
spec 1 dim=256 base=10000

# ---- families that do not rotate ----
config '{"model_type": "bloom", "n_head": 112, "hidden_size": 14336, "n_layer": 70}'
spec 0 scheme=alibi num_heads=112 form=row alibi_bias_max=8
config '{"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32,
    "attn_config": {"alibi": true, "alibi_bias_max": 16}}'
spec 0 scheme=alibi alibi_bias_max=16
config '{"model_type": "falcon", "alibi": true, "num_attention_heads": 64, "hidden_size": 4096}'
spec 0 scheme=alibi num_heads=64
noted info alibi bf16
config '{"model_type": "bert", "position_embedding_type": "alibi", "hidden_size": 768,
    "num_attention_heads": 12}'
spec 0 scheme=alibi form=symmetric
config '{"model_type": "t5", "d_model": 512, "num_heads": 8, "num_layers": 6,
    "num_decoder_layers": 5, "relative_attention_num_buckets": 32}'
same "$(jq -c '[.layers[] | [.applies_to, .n_layers]]' "$work/answer")" \
    '[["encoder",6],["decoder",5]]' 'stacks of T5'
noted default relative_attention_max_distance
config '{"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_positions": 1024}'
noted info n_positions '1024 positions'
config '{"model_type": "opt", "hidden_size": 768, "num_attention_heads": 12,
    "max_position_embeddings": 2048}'
noted info max_position_embeddings 'position 0 is row 2'
config '{"model_type": "whisper", "d_model": 384, "encoder_attention_heads": 6,
    "max_source_positions": 1500}'
spec 0 scheme=sinusoidal order=concat exponent=half_minus_one dim=384
config '{"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64}'
noted info model_type 'knows no positions'

# ---- what is not read is said ----
config '{"model_type": "llama", "rope_theta": 1e4, "rope_interleaved": false, "vocab_size": 5,
    "rope_scaling": {"rope_type": "linear", "factor": 2.0, "mystery": 1}, '"$size"'}'
says '.unused_keys == ["rope_interleaved", "vocab_size", "rope_scaling.mystery"]'
noted unknown rope_interleaved
noted unknown mystery

# ---- broken configs: one line, exit 2 ----
broken 'config.json: line' 'no json'
broken 'config.json: line' ''
broken 'is no JSON object' '[1, 2]'
broken 'config.json: line' '{"rope_theta": NaN}'
broken 'config.json: line' '{"rope_theta": 1e999}'
broken 'config.json: line' '{"a": 1, "a": 2}'
broken 'rope_theta: must be a number, got a string' '{"model_type": "llama",
    "rope_theta": "10000", '"$size"'}'
broken 'rope_theta: must lie in' '{"model_type": "llama", "rope_theta": -1, '"$size"'}'
broken 'rope_scaling.factor: must lie in' '{"model_type": "llama",
    "rope_scaling": {"type": "linear", "factor": -8}, '"$size"'}'
broken 'rope_scaling.factor: is missing; linear needs it' '{"model_type": "llama",
    "rope_scaling": {"type": "linear"}, '"$size"'}'
broken 'rope_scaling: must be an object or null' '{"model_type": "llama", "rope_scaling": 4,
    '"$size"'}'
broken "'ntk_by_magic' is no scaling" '{"model_type": "llama",
    "rope_scaling": {"type": "ntk_by_magic"}, '"$size"'}'
broken 'hidden_size: must lie in' '{"model_type": "llama", "hidden_size": 1e18,
    "num_attention_heads": 32}'
broken 'num_attention_heads: must lie in' '{"model_type": "llama", "hidden_size": 64,
    "num_attention_heads": 0}'
broken 'hidden_size: 8 over 32 heads' '{"model_type": "llama", "hidden_size": 8,
    "num_attention_heads": 32}'
broken 'hidden_size: is missing' '{"model_type": "falcon"}'
broken 'even number' '{"model_type": "phi", "partial_rotary_factor": 0.39, "hidden_size": 2560,
    "num_attention_heads": 32}'
broken 'layer_types: must be a list' '{"model_type": "llama", "layer_types": 5, '"$size"'}'
broken 'model_type: must be a string' '{"model_type": 7, '"$size"'}'
broken 'max_position_embeddings: must lie in' '{"model_type": "llama",
    "max_position_embeddings": 1e300, '"$size"'}'
broken 'must hold numbers only' '{"model_type": "phi3", "rope_scaling": {"type": "longrope",
    "short_factor": [1, "2"], "long_factor": [1]}, '"$size"'}'
head -c 12000 /dev/zero | tr '\0' '[' >"$work/config.json"
refuses 'config.json: line' resolve "$work/config.json"
for ((i = 0; i < 10000; i++)); do printf '{"text_config": '; done >"$work/config.json"
refuses 'maximum parsing depth' resolve "$work/config.json"
printf '\xef\xbb\xbf{"model_type": "llama", %s}' "$size" >"$work/config.json"
refuses 'config.json: line 1' resolve "$work/config.json"
printf '{"model_type": "ll\xffama", %s}' "$size" >"$work/config.json"
refuses 'unable to decode byte 0xff' resolve "$work/config.json"
broken 'must be a whole number' '{"model_type": "llama", "hidden_size": 4096.5,
    "num_attention_heads": 32}'
broken 'must be a number, got a boolean' '{"model_type": "llama", "hidden_size": true,
    "num_attention_heads": 32}'
broken 'more than 12 kinds of layers' "{\"model_type\": \"llama\", $size, \"rope_parameters\": {$(
    seq -s, -f '"t%g": {"rope_theta": 10000}' 100)}}"
broken 'layer_types: must be a list of at most 4096' "{\"model_type\": \"llama\", $size,
    \"layer_types\": [$(seq -s, 5000)]}"
config '{"model_type": "llama", "max_position_embeddings": 2147483647,
    "rope_scaling": {"type": "dynamic", "factor": 2.0}, '"$size"'}'
says '.layers[0].regimes == []'
# 200,000 keys that look like positions: said, and cut short, within 256 MiB and a minute
# (AddressSanitizer maps terabytes).
most=262144
if grep -qa __asan_init "$POSREF"; then most=unlimited; fi
(printf '{"model_type": "llama", %s' "$size" && seq -f ', "rope_%g": 1' 200000 && echo '}') \
    >"$work/config.json"
(ulimit -v "$most" && timeout 60 "$POSREF" resolve "$work/config.json") >"$work/out"
says '(.unused_keys | length == 2000) and (.notes | length == 48)'
printf 'GGUF\3\0\0\0%s' "$(printf '\377%.0s' {1..16})" >"$work/config.json"
refuses 'metadata keys in a file of 24 bytes' resolve "$work/config.json"
(printf '{"a": "' && head -c 100000000 /dev/zero | tr '\0' 'x' && printf '"}') >"$work/config.json"
refuses 'a config of 100000009 bytes' resolve "$work/config.json"
"$POSREF" resolve - <"$work/config.json" >"$work/out" 2>"$work/err"
same "$? $(grep -c 'more than' "$work/err")" '2 1' '100 MB through a pipe'
printf '{"model_type": "llama", %s}' "$size" | "$POSREF" resolve - >"$work/out" 2>"$work/err"
same "$? $(jq .layers[0].spec.dim "$work/out")" '0 128' 'a pipe'
refuses 'No such file' resolve "$work/none.json"
refuses 'one file is needed' resolve

# The table of docs/models.md on runtimes is what resolve says of the configs.
here=$(cd "$(dirname "$0")" && pwd)
for file in "$here"/configs/*.json; do
    succeeds resolve "$file"
    command jq -r --arg name "$(basename "$file" .json)" -f "$here/runtimes.jq" "$work/out" \
        >>"$work/rows"
done
same "$(sed -n '/^| model | layers/,/^$/p' "$here/../../docs/models.md" | sed -e 1,2d -e '/^$/d')" \
    "$(cat "$work/rows")" 'the runtimes of docs/models.md'

# Where the database has vectors of a config's spec, the numbers are theirs.
succeeds generate --suite smoke -o "$work/smoke.db"
n_vectors=0
for file in "$here"/configs/*.json; do
    succeeds resolve "$file"
    cp "$work/out" "$work/answer"
    while IFS=$'\t' read -r -a words; do
        layer=${words[0]}
        run list op=frequencies "${words[@]:1}" --db "$work/smoke.db"
        id=$(head -n 1 "$work/out")
        [ -n "$id" ] || continue
        n_vectors=$((n_vectors + 1))
        succeeds show "$id" --format json --db "$work/smoke.db"
        same "$(jq -c --argjson layer "$layer" \
            '.layers[$layer] | [.inv_freq, .attention_factor]' "$work/answer")" \
            "$(jq -c '.outputs | [.inv_freq.data, .attention_factor.data[0] // 1]' "$work/out")" \
            "$id for $file"
    done < <(jq -r '.layers | to_entries[] | select(.value.spec.scheme == "rope") |
        [(.key | tostring), (.value.spec | to_entries[] |
        select(.key | startswith("temperature") or . == "seq_len" | not) | .key + "=" + (.value |
        if type == "array" then map(tostring) | join(",") else tostring end))] | join("\t")' \
        "$work/answer")
done
if [ "$n_vectors" -ge 5 ]; then ok; else bad "vectors of $n_vectors specs only"; fi

# docs/resolve.md shows what its commands print.
root=$(cd "$(dirname "$0")/../.." && pwd)
if (cd "$root" && tests/e2e/readme.pl docs/resolve.md "build/posref=$POSREF") >"$work/out"; then
    ok
else
    bad "docs/resolve.md: $(cat "$work/out")"
fi

printf '{"model_type": "llama", %s}' "$size" >"$work/config.json"
help_example resolve
finish
