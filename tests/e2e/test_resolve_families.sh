#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref resolve: every family that it knows, with what Hugging Face's class does where the config
# names nothing but sizes; and the families of other encodings, by configs that exercise their keys.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/resolve.sh"

here=$(cd "$(dirname "$0")" && pwd)
tested=' '

# group WANT KEYS NAME...: configs of KEYS and a family's name each. Of the first spec the members
# of WANT (JSON) are these, and the family is known. One jq for all: there are many.
group() {
    local want=$1 keys=$2 name got
    shift 2
    for name; do
        printf '{"model_type": "%s", %s}' "$name" "$keys" | "$POSREF" resolve - 2>&1 ||
            echo "{\"model_type\": \"$name\"}"
        tested+="$name "
    done >"$work/all"
    got=$(jq -r --argjson want "$want" 'select(((.layers[0].spec // {}) as $spec |
        $want | with_entries(.value = $spec[.key])) != $want or
        ([.notes[]? | select(.kind == "unknown")] != [])) |
        "\(.model_type): \(.layers[0].spec)"' "$work/all" 2>&1)
    same "$got" '' "$* as $want"
    same "$(jq -r .model_type "$work/all" | wc -l)" $# "answers to $*"
    cp "$work/all" "$work/answer"
}
# rope PAIRING BASE DIM ROTARY NAME...: families that rotate; sizes only, 4096 over 64 heads.
rope() {
    local want='{"scheme": "rope", "pairing": "%s", "base": %s, "dim": %s, "rotary_dim": %s}'
    # shellcheck disable=SC2059
    want=$(printf "$want" "$1" "$2" "$3" "$4")
    shift 4
    group "$want" '"hidden_size": 4096, "num_attention_heads": 64, "num_hidden_layers": 8' "$@"
    noted default rope_theta
}
rope half 10000 64 64 llama mistral qwen2 qwen2_moe qwen3_moe phi3 phi3_v phi4mm phi-msft \
    falcon olmo olmo2 olmo3 hunyuan hunyuan_v1_dense hunyuan_v1_moe mimo granite granitemoe \
    starcoder2 internlm internlm2 baichuan orion dbrx dots1 minicpm deepseek arcee olmoe chameleon \
    vaultgemma granitemoehybrid granitemoeshared zamba2 jetmoe diffllama gpt_neox_japanese \
    phi4_multimodal RefinedWeb RefinedWebModel openelm xverse aquila mixformer-sequential nanochat
rope half 10000 64 64 mistral3 ministral3 ministral nomic_bert minimax falcon_h1 \
    bailing_moe telechat3 laguna voxtral exaone internlm3 nemotron-nas
rope half 1000000 64 64 mixtral qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text phimoe lfm2 \
    qwen2_5_omni_text qwen3_omni_moe_text gemma3 gemma3n_text
rope half 500000 64 64 bitnet flex_olmo mllama_text_model qwen3_vl_moe_text
rope half 500000 128 128 qwen3_vl_text
rope half 10000 128 128 qwen3 seed_oss
rope half 10000 256 256 gemma gemma2
rope half 1000000 256 256 gemma3_text
rope half 10000 256 256 gemma4_text
rope half 10000 256 64 qwen3_next
rope half 10000 64 16 qwen3_5_text qwen3_5_moe_text gpt_neox stablelm stablelm_epoch
rope half 10000 64 32 phi nemotron glm4_moe glm4v_moe_text glm4v_moe bamba recurrent_gemma
rope half 25000 64 32 persimmon
rope half 150000 64 64 gpt_oss
rope half 160000 64 64 modernbert
rope half 2000000 64 64 smollm3
rope half 5000000 64 64 minimax_m2
rope half 12000000 64 64 apertus
rope interleaved 10000 64 64 cohere gptj codegen roformer
rope interleaved 10000 64 32 chatglm glm4v_text glm4v
rope interleaved 10000 128 64 glm glm4
rope interleaved 500000 64 64 ernie4_5 ernie4_5_moe ernie4_5_moe_vl ernie4_5_vl_moe \
    ernie4_5_vl_moe_text
rope interleaved 500000 128 128 llama4_text
rope interleaved 100000 128 128 helium

# The rotated part of a head stands apart.
latent='"hidden_size": 4096, "num_attention_heads": 64, "qk_rope_head_dim": 32'
group '{"scheme": "rope", "base": 10000, "dim": 32, "pairing": "interleaved"}' "$latent" \
    deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 longcat_flash glm4_moe_lite
noted info qk_rope_head_dim
group '{"scheme": "rope", "base": 10000, "dim": 32, "pairing": "half"}' "$latent" minicpm3

# Tables, learned or of sines.
sizes='"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2'
learned() { # OFFSET X_SCALE NAME...
    local want="{\"scheme\": \"learned\", \"dim\": 32, \"offset\": $1, \"x_scale\": \"$2\"}"
    shift 2
    group "$want" "\"max_position_embeddings\": 64, $sizes" "$@"
    noted info max_position_embeddings 'a learned table'
}
learned 0 one gpt2 gpt_bigcode gpt_neo openai-gpt bert electra albert distilbert mobilebert \
    megatron-bert convbert layoutlm big_bird blenderbot
learned 2 one roberta xlm-roberta xlm-roberta-xl camembert longformer mpnet luke esm data2vec-text
noted default pad_token_id
learned 2 one opt bart mbart plbart
noted info max_position_embeddings 'position 0 is row 2'
learned 2 sqrt_dim biogpt
noted default scale_embedding
sines() { # ORDER EXPONENT OFFSET X_SCALE NAME...
    local want='{"scheme": "sinusoidal", "order": "%s", "exponent": "%s", "offset": %s,
        "x_scale": "%s"}'
    # shellcheck disable=SC2059
    want=$(printf "$want" "$1" "$2" "$3" "$4")
    shift 4
    group "$want" '"d_model": 32, "encoder_attention_heads": 4' "$@"
}
sines concat d 0 one marian pegasus ctrl
sines flipped half_minus_one 0 one musicgen_decoder
sines concat half_minus_one 2 sqrt_dim m2m_100 fsmt speech_to_text xglm
sines concat half_minus_one 0 one whisper
others() { # SCHEME NAME...
    local want="{\"scheme\": \"$1\"}"
    shift
    group "$want" "$sizes" "$@"
}
others alibi bloom mpt refact jais
others t5_bias t5 mt5 umt5 longt5 switch_transformers
others none mamba mamba2 falcon_mamba rwkv rwkv5 rwkv6 rwkv7 xlstm jamba nemotron_h
noted info model_type 'knows no positions'
others transformer_xl xlnet transfo-xl wav2vec2-conformer
others none beit data2vec-vision
group '{"scheme": null}' "$sizes" wav2vec2-bert wav2vec2 hubert wavlm reformer funnel
noted missing model_type 'positions of funnel'

config '{"model_type": "whisper", "d_model": 32, "encoder_attention_heads": 4,
    "max_source_positions": 1500, "max_target_positions": 448}'
layers 'encoder 1, decoder 1'
spec 1 scheme=learned dim=32
noted info max_source_positions 1500
noted info max_target_positions 448
says '.unused_keys == []'

# ---- RoBERTa and its kin: rows behind the padding's ----
config '{"model_type": "xlm-roberta", "pad_token_id": 7, "max_position_embeddings": 514,
    '"$sizes"'}'
spec 0 offset=8
noted info pad_token_id 'from row 8 on; padding gets row 7'
noted info max_position_embeddings '514 rows'
config '{"model_type": "m2m_100", "d_model": 33, "pad_token_id": 0, "scale_embedding": false}'
spec 0 offset=1 x_scale=one odd_dim=zero_column
config '{"model_type": "mbart", "d_model": 32, "scale_embedding": true, "pad_token_id": 9}'
spec 0 offset=2 x_scale=sqrt_dim

# ---- position_embedding_type, in families that rotate and in families that do not ----
config '{"model_type": "bert", "position_embedding_type": "relative_key_query",
    "max_position_embeddings": 64, '"$sizes"'}'
spec 0 scheme=shaw position_embedding_type=relative_key_query max_relative_position=63 dim=8
layers 'all 2'
config '{"model_type": "electra", "position_embedding_type": "relative_key", '"$sizes"'}'
spec 0 scheme=shaw position_embedding_type=relative_key max_relative_position=511
noted default max_position_embeddings 512
config '{"model_type": "esm", "position_embedding_type": "rotary", '"$sizes"'}'
spec 0 scheme=rope dim=8 base=10000 pairing=half
config '{"model_type": "xlm-roberta", "position_embedding_type": "rotary",
    "rotary_emb_base": 20000, '"$sizes"'}'
spec 0 scheme=rope base=20000
config '{"model_type": "granitemoehybrid", "position_embedding_type": "nope", '"$sizes"'}'
spec 0 scheme=none
noted info position_embedding_type 'do not rotate'
config '{"model_type": "granitemoehybrid", "position_embedding_type": "rope", '"$sizes"'}'
spec 0 scheme=rope
config '{"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40}'
spec 0 scheme=alibi num_heads=40
noted info hidden_size 'Baichuan 13B'
config '{"model_type": "mpt", "d_model": 4096, "n_heads": 32, "attn_config": {"alibi": false}}'
same "$(jq -c '.layers[0].spec' "$work/answer")" null 'MPT without ALiBi'
noted missing attn_config.alibi
config '{"model_type": "mpt", "d_model": 64, "n_heads": 4, "attn_config": {"alibi_bias_max": 16}}'
noted info alibi_bias_max 'takes 8 all the same'
broken "position_embedding_type: 'magic' is not known" \
    '{"model_type": "bert", "position_embedding_type": "magic", '"$sizes"'}'
config '{"model_type": "modernbert", "position_embedding_type": "absolute", '"$sizes"'}'
layers 'full_attention, sliding_attention'
spec 0 scheme=rope base=160000
spec 1 scheme=rope base=10000
noted ignored position_embedding_type "'absolute': the family rotates all the same"
noted default rope_local_base_freq

# ---- DeBERTa ----
config '{"model_type": "deberta-v2", "relative_attention": true, "position_buckets": 16,
    "max_relative_positions": -1, "max_position_embeddings": 64, "position_biased_input": false,
    "pos_att_type": ["p2c", "c2p"], '"$sizes"'}'
layers 'all 2'
spec 0 scheme=deberta num_buckets=16 max_distance=64 num_heads=4 dim=8 pos_att_type=c2p_p2c
noted default max_relative_positions '-1; Hugging Face takes max_position_embeddings, 64'
config '{"model_type": "deberta-v2", "relative_attention": true, "position_buckets": 16,
    "max_relative_positions": 128, "pos_att_type": "c2p", '"$sizes"'}'
layers 'all 2, embedding 1'
spec 0 max_distance=128 pos_att_type=c2p
spec 1 scheme=learned dim=32
noted default position_biased_input
config '{"model_type": "deberta", "relative_attention": true, "position_biased_input": false,
    "position_buckets": 16, "pos_att_type": "p2c|none", '"$sizes"'}'
spec 0 scheme=deberta log_buckets=false max_distance=512 pos_att_type=p2c num_buckets=null
noted ignored position_buckets
config '{"model_type": "deberta-v2", "relative_attention": true, "position_biased_input": false,
    "position_buckets": -1, "pos_att_type": ["c2p"], '"$sizes"'}'
spec 0 log_buckets=false
config '{"model_type": "deberta-v2", "relative_attention": true, '"$sizes"'}'
same "$(jq -c '[.layers[].spec.scheme]' "$work/answer")" '[null,"learned"]' 'no terms'
noted missing pos_att_type
broken 'pos_att_type: must be a list or a string' '{"model_type": "deberta",
    "relative_attention": true, "pos_att_type": 3, '"$sizes"'}'
config '{"model_type": "deberta", "position_biased_input": false, '"$sizes"'}'
spec 0 scheme=none
noted default relative_attention
tested+='deberta deberta-v2 '

# ---- windows ----
stages='"num_heads": [2, 4], "depths": [3, 5], "embed_dim": 16'
config '{"model_type": "swin", "window_size": 4, "image_size": 64, "patch_size": 4,
    "use_absolute_embeddings": true, '"$stages"'}'
layers 'embedding 1, stage1 3, stage2 5'
spec 0 scheme=learned dim=16
noted info use_absolute_embeddings '256 rows'
spec 1 scheme=swin num_heads=2
spec 2 scheme=swin num_heads=4
same "$(jq -c '.layers[2].spec.window_size' "$work/answer")" '[4,4]' 'window of Swin'
config '{"model_type": "donut-swin", "image_size": [80, 60], "window_size": [5, 6], '"$stages"'}'
same "$(jq -c '.layers[1].spec.window_size' "$work/answer")" '[5,6]' 'window of Donut'
config '{"model_type": "swinv2", "window_size": 16, "image_size": 64, "patch_size": 4,
    "pretrained_window_sizes": [12, 0], '"$stages"'}'
same "$(jq -c '[.layers[].spec | [.scheme, .window_size, .pretrained_window_size, .mlp_width]]' \
    "$work/answer")" '[["swinv2",[16,16],[12,12],512],["swinv2",[8,8],null,512]]' 'Swin V2'
noted info window_size '8,8: the stage is smaller'
config '{"model_type": "swin"}'
layers 'stage1 2, stage2 2, stage3 6, stage4 2'
noted default num_heads
noted default window_size 7
tested+='swin donut-swin swinv2 '
config '{"model_type": "beit", "use_shared_relative_position_bias": true, "image_size": 96,
    "patch_size": 16, "use_absolute_position_embeddings": true, '"$sizes"'}'
layers 'embedding 1, all 2'
spec 0 scheme=learned dim=32
spec 1 scheme=beit num_heads=4
same "$(jq -c '.layers[1].spec.window_size' "$work/answer")" '[6,6]' 'window of BEiT'
noted info use_shared_relative_position_bias 'one table serves'
broken 'num_heads: must be a list of 1 to 6' '{"model_type": "swin", "num_heads": 3}'
broken 'num_heads: must hold whole numbers' '{"model_type": "swin", "num_heads": [3, "6"]}'
broken 'patch_size: 300 is more' '{"model_type": "swin", "patch_size": 300}'
config '{"model_type": "swin", "window_size": 4, "image_size": 65536, "patch_size": 1,
    "use_absolute_embeddings": true, '"$stages"'}'
noted info use_absolute_embeddings '4294967296 rows'

# ---- Transformer-XL's kin ----
config '{"model_type": "xlnet", "d_model": 32, "n_head": 4, "n_layer": 2, "clamp_len": -1}'
spec 0 scheme=transformer_xl dim=8 model_dim=32 order=concat clamp_len=null
config '{"model_type": "transfo-xl", "d_model": 32, "n_head": 4, "d_head": 16}'
spec 0 dim=16 model_dim=32 clamp_len=1000
noted default clamp_len
config '{"model_type": "wav2vec2-conformer", "position_embeddings_type": "relative", '"$sizes"'}'
spec 0 scheme=transformer_xl dim=8 model_dim=32 order=interleaved
config '{"model_type": "wav2vec2-conformer", "position_embeddings_type": "rotary",
    "rotary_embedding_base": 5000, '"$sizes"'}'
spec 0 scheme=rope dim=8 base=5000 pairing=half
noted info position_embeddings_type 'before they are projected'
config '{"model_type": "wav2vec2-conformer", "position_embeddings_type": null, '"$sizes"'}'
spec 0 scheme=none

# ---- keys of single families ----
config '{"model_type": "cohere2", "sliding_window_pattern": 4, '"$sizes"'}'
layers 'full_attention, sliding_attention'
spec 0 scheme=none
spec 1 pairing=interleaved base=10000
config '{"model_type": "qwen", "seq_length": 2048, "max_position_embeddings": 8192,
    "use_dynamic_ntk": true, "use_logn_attn": true, "kv_channels": 128, "rotary_pct": 1.0,
    "rotary_emb_base": 10000, '"$sizes"'}'
spec 0 scaling=dynamic_alpha original_max_position_embeddings=2048 seq_len=2048 temperature=logn \
    temperature_length=2048
says '[.layers[0].regimes[].spec | [.seq_len, .temperature]] == [[4096, "logn"], [8192, "logn"]]'
says '[.notes[], .layers[].notes[] | select(.kind == "contradiction" or .kind == "unknown")] == []'
config '{"model_type": "qwen", "seq_length": 2048, "use_dynamic_ntk": false,
    "use_logn_attn": false, '"$sizes"'}'
spec 0 scaling=none temperature=null
config '{"model_type": "nomic_bert", "rotary_emb_base": 1000, "rotary_scaling_factor": 2,
    "max_trained_positions": 1024, "rotary_emb_interleaved": true, "n_positions": 8192,
    '"$sizes"'}'
spec 0 scaling=dynamic factor=2 original_max_position_embeddings=1024 pairing=interleaved base=1000
config '{"model_type": "deepseek_v3", "rope_interleave": false, "qk_rope_head_dim": 16,
    '"$sizes"'}'
spec 0 pairing=half
config '{"model_type": "gptj", "n_embd": 512, "n_head": 4}'
spec 0 dim=128 rotary_dim=64
noted default rotary_dim 64
config '{"model_type": "gptj", "n_embd": 512, "n_head": 4, "rotary_dim": null}'
spec 0 rotary_dim=128
config '{"model_type": "openelm", "rope_freq_constant": 5000, "head_dim": 64}'
spec 0 base=5000 dim=64
config '{"model_type": "exaone4", "sliding_window": null, '"$sizes"'}'
layers 'all 2'
spec 0 scheme=rope
config '{"model_type": "exaone4", "sliding_window": 4096, "layer_types": ["sliding_attention",
    "full_attention"], '"$sizes"'}'
layers 'full_attention 1, sliding_attention 1'
spec 0 scheme=none
spec 1 scheme=rope
config '{"model_type": "mllama_text_model", "cross_attention_layers": [1], '"$sizes"'}'
layers 'rotated 1, nope 1'
config '{"model_type": "llama4_text", "attn_scale": 0.2, "floor_scale": 4096,
    "attn_temperature_tuning": true, "no_rope_layers": [1, 0], "hidden_size": 256,
    "num_attention_heads": 2}'
spec 1 scheme=none temperature=llama4 temperature_scale=0.2 temperature_length=4096
config '{"model_type": "llama4_text", "attn_temperature_tuning": false, "no_rope_layers": [1, 0],
    "hidden_size": 256, "num_attention_heads": 2}'
spec 1 scheme=none temperature=null
config '{"model_type": "ministral3", "max_position_embeddings": 262144, "head_dim": 64,
    "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "beta_fast": 32.0,
    "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1,
    "original_max_position_embeddings": 16384}}'
spec 0 temperature=ministral temperature_scale=0.1 temperature_length=16384
config '{"model_type": "ministral3", "max_position_embeddings": 4096, "head_dim": 64,
    "rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e6, "factor": 2.0,
    "llama_4_scaling_beta": 0.1}}'
says '[.layers[0] | .spec, .regimes[].spec | [.temperature, .temperature_scale]] | unique ==
    [["ministral", 0.1]]'
lists='"short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]'
config '{"model_type": "phimoe", "original_max_position_embeddings": 64,
    "max_position_embeddings": 256, "rope_scaling": {"type": "longrope", "short_mscale": 1.2,
    "long_mscale": 1.4, '"$lists"'}, '"$sizes"'}'
says '.layers[0] | [.attention_factor, .regimes[0].attention_factor] == [1.2, 1.4]'
config '{"model_type": "phi3", "original_max_position_embeddings": 64,
    "max_position_embeddings": 256, "rope_scaling": {"type": "longrope", "short_mscale": 1.2,
    "long_mscale": 1.4, '"$lists"'}, '"$sizes"'}'
says '.layers[0].attention_factor != 1.2'
noted runtime short_mscale 'vllm multiplies'
broken 'short_factor: must lie in' '{"model_type": "phi3", "max_position_embeddings": 256,
    "rope_scaling": {"type": "longrope", "factor": 2.0, "short_factor": [1, -1, 1, 1],
    "long_factor": [1, 1, 1, 1]}, '"$sizes"'}'

# ---- what configs leave out, since it is what the class takes ----
config '{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
    "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}}'
layers 'full_attention, sliding_attention'
spec 0 base=1000000 scaling=linear dim=256
spec 1 base=10000 scaling=none dim=256
noted default rope_local_base_freq 10000
noted default head_dim 256
config '{"model_type": "llava", "text_config": {"model_type": "llama",
    "max_position_embeddings": 4096}}'
spec 0 dim=128 base=10000
noted default head_dim 128
config '{"model_type": "llama4_text", "attn_temperature_tuning": 4, "no_rope_layers": [1, 0]}'
spec 1 temperature=llama4 temperature_scale=0.1 temperature_length=8192
noted default attn_temperature_tuning
config '{"model_type": "ernie4_5_moe_vl", "rope_scaling": {"type": "default",
    "mrope_section": [1, 1, 2]}, "rope_3d": true, "freq_allocation": 20, '"$sizes"'}'
spec 0 mrope_order=hw_t mrope_interleaved=true pairing=interleaved
says '.unused_keys == []'
config '{"model_type": "mamba2", "time_step_limit": [0.0, Infinity], "a \" Infinity": -Infinity,
    "max_position_embeddings": 64, "rope_theta": null}'
spec 0 scheme=none
noted legacy '' 'Infinity is no JSON'
says '.unused_keys == ["time_step_limit", "a \" Infinity", "rope_theta"]'
says '[.notes[] | select(.kind == "unknown")] == []'
broken 'rope_theta: must lie in' '{"model_type": "llama", "rope_theta": Infinity, '"$sizes"'}'
config '{"model_type": "t5", "n_positions": 512, '"$sizes"'}'
noted ignored n_positions

# A runtime's reading is claimed only of a family that was read.
config '{"model_type": "arcee", "rope_scaling": {"rope_type": "yarn", "factor": 2.0,
    "truncate": false}, "max_position_embeddings": 64, '"$sizes"'}'
says '[.layers[].notes[] | select(.kind == "runtime")] == []'

# Every family of the table is here.
tested+='qwen exaone4 cohere2 '
for name in $(grep -oE '(ROPE|MORE|OTHER|LEARNED|SINES)\("[^"]+"|^    \{"[^"]+", RESOLVE' \
    "$here/../../vectors/resolve_family.c" | grep -oE '"[^"]+"' | tr -d '"'); do
    case $tested in *" $name "*) ok ;; *) bad "no config of the family $name" ;; esac
done
finish
