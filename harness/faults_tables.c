/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of sinusoidal tables, of timesteps and of ALiBi, most likely first. */
#include "faults_spec.h"

const struct posref_fault posref_faults_sinusoidal[] = {
    {.name = "order", .kind = "T", .change = posref_change_order,
     .n_values = 3, .value = {POSREF_ORDER_INTERLEAVED, POSREF_ORDER_CONCAT, POSREF_ORDER_FLIPPED},
     .formula = "sines and cosines in another order",
     .advice = "lay the table out in the order that the spec says",
     .equivalent = "permuting the channels of what reads the table",
     .seen = "kimiyoung/transformer-xl#119 tensorflow/tensor2tensor#1925 "
             "openvinotoolkit/openvino_notebooks#3327"},
    {.name = "exponent", .kind = "R", .change = posref_change_exponent,
     .formula = "base^(-i / (dim/2 - 1)) for base^(-2i / dim), or the reverse",
     .advice = "divide the exponent as the spec says",
     .seen = "kohya-ss/sd-scripts#1187 huggingface/diffusers#12791 wenet-e2e/wenet#2141"},
    {.name = "exponent_per_channel", .kind = "R", .bend = {POSREF_BEND_THETA_SQUARED},
     .formula = "base^(-2j/d) of channel j for base^(-2 floor(j/2)/d)",
     .advice = "sine and cosine of a pair share one frequency: count pairs, not channels",
     .seen = "jadore801120/attention-is-all-you-need-pytorch#32 Kyubyong/transformer#38 "
             "SamLynnEvans/Transformer#25"},
    {.name = NULL},
};

const struct posref_fault posref_faults_timestep[] = {
    {.name = "flip", .kind = "R", .change = posref_change_flip,
     .formula = "all sines first for all cosines first, or the reverse",
     .advice = "honour flip_sin_to_cos, once",
     .seen = "flashinfer-ai/flashinfer#3819 huggingface/diffusers#1369"},
    {.name = "freq_shift", .kind = "R", .change = posref_change_freq_shift,
     .formula = "exponent i/(d/2) for i/(d/2 - 1), or the reverse",
     .advice = "take downscale_freq_shift from the spec",
     .seen = "kohya-ss/sd-scripts#1187"},
    {.name = NULL},
};

const struct posref_fault posref_faults_alibi[] = {
    {.name = "bias_form_distance", .kind = "O", .change = posref_change_form_distance,
     .formula = "-m (q - k)", .advice = "compute the form of bias that the spec asks for",
     .equivalent = "softmax over keys, where the spec has form=row",
     .seen = "mosaicml/llm-foundry#186 ofirpress/attention_with_linear_biases#9"},
    {.name = "bias_form_symmetric", .kind = "O", .change = posref_change_form_symmetric,
     .formula = "-m |q - k|", .advice = "compute the form of bias that the spec asks for",
     .equivalent = "a causal mask, where the spec has form=distance", .seen = ""},
    {.name = "bias_form_row", .kind = "O", .change = posref_change_form_row,
     .formula = "m k", .advice = "compute the form of bias that the spec asks for",
     .equivalent = "softmax over keys, where the spec has form=distance",
     .seen = "NVIDIA-NeMo/Speech#7105 TransformerLensOrg/TransformerLens#434"},
    {.name = "bias_sign", .kind = "O", .bend = {POSREF_BEND_BIAS_SIGN},
     .formula = "+m (q - k) for -m (q - k)",
     .advice = "the bias of a distant key is negative",
     .seen = "meta-pytorch/attention-gym#86 ofirpress/attention_with_linear_biases#5"},
    {.name = "slopes_early", .kind = "O", .bend = {POSREF_BEND_SLOPE_EARLY},
     .formula = "2^(-8h/n) for 2^(-8(h + 1)/n)",
     .advice = "the first slope is 2^(-8/n), not 1", .seen = "paiml/aprender#2143"},
    {.name = "slopes_geometric", .kind = "O", .bend = {POSREF_BEND_SLOPE_GEOMETRIC},
     .formula = "2^(-8(h + 1)/n) for every n",
     .advice = "heads beyond a power of two take every other slope of twice as many heads",
     .equivalent = "a model trained with geometric slopes",
     .seen = "baichuan-inc/Baichuan2#225"},
    {.name = "alibi_bias_max_default", .kind = "O", .change = posref_change_bias_max_default,
     .formula = "slopes with alibi_bias_max = 8",
     .advice = "take alibi_bias_max from the spec: the usual default was used", .seen = ""},
    {.name = "slopes_bf16", .kind = "O", .bend = {POSREF_BEND_SLOPE_BF16},
     .formula = "slopes rounded to bf16",
     .advice = "keep the slopes in float32", .seen = "Dao-AILab/flash-attention#846"},
    {.name = "bias_bf16", .kind = "O", .bend = {POSREF_BEND_BIAS_BF16},
     .formula = "biases rounded to bf16",
     .advice = "add the bias in float32",
     .seen = "HabanaAI/vllm-fork#503 NVIDIA/TensorRT-Model-Connect#667"},
    {.name = NULL},
};
