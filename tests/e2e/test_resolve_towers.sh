#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154
# posref resolve: towers of images and sound, beside a language model and alone.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/resolve.sh"

here=$(cd "$(dirname "$0")" && pwd)
tested=' '

# tower NAME KEYS WANT: a vision_config of that model_type; WANT is a jq expression of its layers,
# {NAME: SPEC, ...}.
tower() {
    config "{\"model_type\": \"some_vlm\", \"text_config\": {\"model_type\": \"llama\",
        \"hidden_size\": 64, \"num_attention_heads\": 2},
        \"${kind:-vision}_config\": {\"model_type\": \"$1\"${2:+, $2}}}"
    jq '.layers | map({key: .applies_to, value: .spec}) | from_entries' "$work/answer" >"$work/out"
    says "$3"
    tested+="$1 "
}
blocks='."vision/all" | .scheme == "rope" and .base == 10000 and .pairing == "half" and
    .axes_span == "head" and .axes_ladder == "independent" and .angle_unit == "radian"'

# Qwen: the width is embed_dim, for hidden_size is the language model's; later hidden_size is it.
tower qwen2_vl '"embed_dim": 640, "num_heads": 8, "hidden_size": 3584, "depth": 5' \
    "$blocks and .dim == 80 and .axes_dims == [40, 40]"
layers 'all, vision/all 5'
noted info '' 'positions=blocks:2:H:W'
tower qwen2_vl '"hidden_size": 8192, "in_chans": 3' "$blocks and .dim == 80"
noted default embed_dim 'vision_config.embed_dim is missing; 1280'
noted default num_heads
tower DFNRope_vision_transformer '"embed_dim": 1280, "hidden_size": 3584, "num_heads": 16' \
    "$blocks and .dim == 80"
tower qwen2_5_vl '"hidden_size": 1280, "num_heads": 16' "$blocks and .dim == 80"
tower qwen2_5_omni_vision_encoder '"hidden_size": 1280, "num_heads": 16' "$blocks and .dim == 80"
for name in qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe qwen3_omni_moe_vision_encoder; do
    tower $name '"hidden_size": 288, "num_heads": 4, "num_position_embeddings": 2304' \
        '."vision/embedding".dim == 288 and '"($blocks and .dim == 72)"
done
noted info '' '2304 rows'
noted info '' 'corner on corner'
for name in glm4v glm4v_moe glm4v_vision glm4v_moe_vision; do
    tower $name '"hidden_size": 256, "num_heads": 4, "image_size": 336, "patch_size": 14' \
        '."vision/embedding".dim == 256 and '"($blocks and .dim == 64)"
done
noted info '' 'source_grid=24,24'

# The other rotations, and what stands before or beside them.
tower llama4_vision_model '"hidden_size": 176, "num_attention_heads": 2, "image_size": 336,
    "patch_size": 14, "rope_theta": 5000, "num_hidden_layers": 3' '."vision/all" | .dim == 88 and
    .pairing == "interleaved" and .axes_dims == [44, 44] and .axes_span == "axis" and .base == 5000'
noted info '' 'positions=xgrid:W@1:H@1'
noted info '' '577 rows; the last one is the class token'
layers 'all, vision/embedding 1, vision/all 3'
tower pixtral '"hidden_size": 128, "num_attention_heads": 2, "head_dim": 64, "rope_theta": 1e4' \
    '."vision/all" | .dim == 64 and .axes_ladder == "split" and .axes_span == "head" and
    .pairing == "half" and .axes_dims == [32, 32]'
# Row and column have every other rung of a ladder: 10000^(-2/64) is the first of the columns.
same "$(jq '.layers[1].inv_freq[0, 16]' "$work/answer" | tr '\n' ' ')" '1 0.7498942093324559 ' split
tower gemma4_vision '"hidden_size": 144, "num_attention_heads": 2, "head_dim": 72,
    "rope_parameters": {"rope_type": "default", "rope_theta": 50}, "position_embedding_size": 99,
    "max_position_embeddings": 131072' '."vision/all" | .dim == 72 and .base == 50 and
    .axes_span == "axis" and .pairing == "half" and .axes_dims == [36, 36]'
noted info '' '99 rows for columns and one for rows'
says_nothing_unknown() {
    same "$(jq -c '[.notes[], .layers[].notes[] | select(.kind == "unknown" or
        .kind == "contradiction")]' "$work/answer")" '[]' 'nothing unknown'
}
says_nothing_unknown
tower gemma4_vision '' '."vision/all".base == 100'
tower dinov3_vit '"hidden_size": 128, "num_attention_heads": 2, "rope_theta": 100' \
    '."vision/all" | .dim == 64 and .angle_unit == "turn" and .base == 100 and .axes_span == "head"'
same "$(jq '.layers[1].inv_freq[0]' "$work/answer")" 6.283185307179586 'a turn'
tower moonvit '"hidden_size": 144, "num_attention_heads": 2, "init_pos_emb_height": 8,
    "init_pos_emb_width": 6' '."vision/all" | .axes_order == "frequency" and
    .pairing == "interleaved" and .dim == 72'
noted info '' '48 rows'
same "$(jq '[.layers[2].inv_freq[0, 1, 2]] | .[0] == .[1] and .[1] > .[2]' "$work/answer")" true \
    'the axes take turns'

# Tables alone: rows are patches, and tokens before them.
rows() { # NAME ROWS KEYS
    tower "$1" "\"hidden_size\": 64, $3" '."vision/embedding" | .scheme == "learned" and .dim == 64'
    noted info '' "a learned table of $2 rows"
}
sizes='"image_size": 64, "patch_size": 8'
for name in siglip_vision_model idefics2_vision idefics3_vision smolvlm_vision; do
    rows $name 64 "$sizes"
done
for name in clip_vision_model chinese_clip_vision_model blip_vision_model vit dinov2 \
    dinov2_with_registers mllama_vision_model; do
    rows $name 65 "$sizes"
done
rows internvl_vision 33 '"image_size": [64, 32], "patch_size": [8, 8]'
noted info '' 'prefix_rows=1 source_grid=8,4'
rows intern_vit_6b 65 "$sizes"
rows vit 4294967297 '"image_size": 65536, "patch_size": 1'
rows deit 66 "$sizes"
noted info '' 'distillation'
rows vit 197 '"num_attention_heads": 4'
noted default image_size 'vision_config.image_size is missing; 224'
noted default patch_size
rows idefics3_vision 64 "$sizes"
noted info '' 'its own share'

# Sound, and towers by the name of the whole model, or of a class that older configs leave out.
kind=audio
for name in whisper voxtral_encoder qwen2_audio_encoder qwen2_5_omni_audio_encoder; do
    tower $name '"d_model": 64, "max_source_positions": 30' '."audio/embedding" |
        .scheme == "sinusoidal" and .order == "concat" and .exponent == "half_minus_one" and
        .dim == 64'
done
noted info max_source_positions '30 frames'
config '{"model_type": "clip", "text_config": {"hidden_size": 32, "max_position_embeddings": 77},
    "vision_config": {"hidden_size": 64, "image_size": 64, "patch_size": 8}}'
layers 'embedding 1, vision/embedding 1'
spec 0 scheme=learned dim=32
spec 1 scheme=learned dim=64
noted info '' '77 rows'
config '{"model_type": "siglip_text_model", "max_position_embeddings": 64}'
layers 'embedding 1'
spec 0 scheme=learned dim=768
noted default hidden_size
tested+='clip_text_model siglip_text_model '
config '{"model_type": "dinov3_vit", "hidden_size": 384, "num_attention_heads": 6}'
layers all
spec 0 dim=64 angle_unit=turn
config '{"model_type": "some_omni", "thinker_config": {"model_type": "some_thinker",
    "vision_config": {"model_type": "qwen2_5_omni_vision_encoder", "hidden_size": 1280,
    "num_heads": 16}, "audio_config": {"model_type": "qwen2_5_omni_audio_encoder", "d_model": 64},
    "text_config": {"model_type": "qwen2_5_omni_text", "hidden_size": 64,
    "num_attention_heads": 2}}}'
layers 'all, vision/all, audio/embedding 1'
config '{"model_type": "vision-encoder-decoder", "encoder": {"model_type": "donut-swin",
    "num_heads": [2], "depths": [2]}, "decoder": {"model_type": "mbart", "d_model": 32}}'
layers 'embedding 1, encoder/stage1 2'
kind=vision
tower some_tower '' '."vision/all" == null'
noted missing model_type "a tower of 'some_tower'"

# A tower of sizes that posref refuses has no spec, and a note says why; one of other types fails.
tower siglip_vision_model '"hidden_size": 16777216' '."vision/embedding" == null'
noted missing dim 'no spec: dim'
tower qwen2_5_vl '"hidden_size": 1276, "num_heads": 16' '."vision/all" == null'
text='"text_config": {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 2}'
broken 'vision_config.image_size: must be a number or a list of two' \
    '{"vision_config": {"model_type": "vit", "image_size": "224"}, '"$text"'}'
broken 'vision_config.image_size: must lie in' \
    '{"vision_config": {"model_type": "vit", "image_size": -1}, '"$text"'}'
broken 'vision_config.patch_size: must be a whole number' \
    '{"vision_config": {"model_type": "vit", "patch_size": [1.5, 2]}, '"$text"'}'
broken 'patch_size: 300 is more than the image' \
    '{"vision_config": {"model_type": "vit", "patch_size": 300}, '"$text"'}'
broken "'yarn' is not read for a tower" '{"vision_config": {"model_type": "gemma4_vision",
    "rope_parameters": {"rope_type": "yarn"}}, '"$text"'}'

for name in $(sed -n '/struct tower towers/,/^};/p' "$here/../../vectors/resolve_tower.c" |
    grep -oE '^    \{"[^"]+"' | tr -d ' {"'); do
    case $tested in *" $name "*) ok ;; *) bad "no config of the tower $name" ;; esac
done
finish
