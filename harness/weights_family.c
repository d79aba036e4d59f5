/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of model families: the pairing of their own kernel, the layout of their fused
 * projection, and the share of a head they rotate by default. */
#include "harness/weights.h"

#include <string.h>

/* Hugging Face's model_type. Pairings are those of the Hugging Face implementation and its
 * checkpoints (catalogue: pairing of the family, section 8). */
struct family {
    const char *name;
    enum posref_weights_order order;
    enum posref_weights_layout layout;
    double rotary_fraction; /* when the config says nothing; 0: the whole head */
};

#define HALF POSREF_ORDER_HALF
#define INTERLEAVED POSREF_ORDER_INTERLEAVED_ROWS
#define CONCAT POSREF_LAYOUT_CONCAT
#define PER_HEAD POSREF_LAYOUT_PER_HEAD
#define PER_GROUP POSREF_LAYOUT_PER_GROUP

static const struct family families[] = {
    {"llama", HALF, CONCAT, 0}, {"mistral", HALF, CONCAT, 0}, {"mixtral", HALF, CONCAT, 0},
    {"mistral3", HALF, CONCAT, 0}, {"ministral", HALF, CONCAT, 0}, {"qwen", HALF, CONCAT, 0},
    {"qwen2", HALF, CONCAT, 0}, {"qwen2_moe", HALF, CONCAT, 0}, {"qwen3", HALF, CONCAT, 0},
    {"qwen3_moe", HALF, CONCAT, 0}, {"qwen3_next", HALF, CONCAT, 0.25},
    {"qwen3_5_text", HALF, CONCAT, 0.25}, {"qwen3_5_moe_text", HALF, CONCAT, 0.25},
    {"qwen2_vl", HALF, CONCAT, 0}, {"qwen2_5_vl", HALF, CONCAT, 0}, {"qwen3_vl", HALF, CONCAT, 0},
    {"gemma", HALF, CONCAT, 0}, {"gemma2", HALF, CONCAT, 0}, {"gemma3", HALF, CONCAT, 0},
    {"gemma3_text", HALF, CONCAT, 0}, {"phi", HALF, CONCAT, 0.5}, {"phi3", HALF, CONCAT, 0},
    {"phimoe", HALF, CONCAT, 0}, {"gpt_neox", HALF, PER_HEAD, 0.25}, {"falcon", HALF, PER_HEAD, 0},
    {"stablelm", HALF, CONCAT, 0.25}, {"persimmon", HALF, PER_HEAD, 0.5},
    {"nemotron", HALF, CONCAT, 0.5}, {"olmo", HALF, CONCAT, 0}, {"olmo2", HALF, CONCAT, 0},
    {"olmo3", HALF, CONCAT, 0}, {"olmoe", HALF, CONCAT, 0}, {"gpt_oss", HALF, CONCAT, 0},
    {"smollm3", HALF, CONCAT, 0}, {"internlm2", HALF, PER_GROUP, 0}, {"baichuan", HALF, CONCAT, 0},
    {"dbrx", HALF, CONCAT, 0}, {"starcoder2", HALF, CONCAT, 0}, {"granite", HALF, CONCAT, 0},
    {"modernbert", HALF, CONCAT, 0}, {"nomic_bert", HALF, CONCAT, 0}, {"exaone4", HALF, CONCAT, 0},
    {"minicpm", HALF, CONCAT, 0}, {"apertus", HALF, CONCAT, 0}, {"glm4_moe", HALF, CONCAT, 0.5},
    {"hunyuan_v1_dense", HALF, CONCAT, 0}, {"seed_oss", HALF, CONCAT, 0},
    {"llama4", INTERLEAVED, CONCAT, 0}, {"llama4_text", INTERLEAVED, CONCAT, 0},
    {"cohere", INTERLEAVED, CONCAT, 0}, {"cohere2", INTERLEAVED, CONCAT, 0},
    {"gptj", INTERLEAVED, CONCAT, 0}, {"codegen", INTERLEAVED, POSREF_LAYOUT_CODEGEN, 0},
    {"chatglm", INTERLEAVED, CONCAT, 0.5}, {"glm", INTERLEAVED, CONCAT, 0.5},
    {"glm4", INTERLEAVED, CONCAT, 0.5}, {"deepseek_v2", INTERLEAVED, CONCAT, 0},
    {"deepseek_v3", INTERLEAVED, CONCAT, 0}, {"ernie4_5", INTERLEAVED, CONCAT, 0},
    {"bloom", POSREF_ORDER_NONE, PER_HEAD, 0}, {"mpt", POSREF_ORDER_NONE, CONCAT, 0},
    {"gpt2", POSREF_ORDER_NONE, CONCAT, 0}, {"opt", POSREF_ORDER_NONE, CONCAT, 0},
    {"bert", POSREF_ORDER_NONE, CONCAT, 0},
};

/* GGUF architectures whose ggml kernel is NORMAL (interleaved) or NEOX and its multi-axis kin
 * (half): llama.cpp's own table. */
static const char *const gguf_interleaved[] = {
    "llama", "llama4", "llada", "deci", "baichuan", "starcoder", "internlm2", "minicpm", "xverse",
    "command-r", "cohere2", "olmo", "arctic", "deepseek", "deepseek2", "plm", "chatglm", "granite",
    "granitemoe", "granitehybrid", "chameleon", "bailingmoe", "neo-bert", "smollm3", "arcee",
    "ernie4_5", "ernie4_5-moe", "mistral3", "glm4", NULL,
};
static const char *const gguf_half[] = {
    "falcon", "falcon-h1", "grok", "dbrx", "bert", "jina-bert-v3", "nomic-bert", "nomic-bert-moe",
    "modern-bert", "stablelm", "bitnet", "qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3",
    "qwen3moe", "qwen3next", "qwen3vl", "qwen3vlmoe", "olmo2", "olmoe", "phi2", "phi3", "phimoe",
    "plamo", "plamo2", "gemma", "gemma2", "gemma3", "gemma3n", "gemma-embedding", "starcoder2",
    "openelm", "gptneox", "codeshell", "orion", "nemotron", "exaone", "exaone4", "minicpm3",
    "bailingmoe2", "dots1", "hunyuan-moe", "hunyuan-dense", "gpt-oss", "lfm2", "lfm2moe",
    "smallthinker", "seed_oss", "grovemoe", "apertus", "minimax-m2", "cogvlm", "glm4moe", NULL,
};
static const char *const gguf_none[] = {"gpt2", "gptj", "mpt", "refact", "bloom", "mamba", "mamba2",
                                        "t5", "t5encoder", "jais", "rwkv6", "rwkv7", NULL};

static bool among(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

static void know_gguf(struct posref_weights_geometry *geometry)
{
    geometry->layout = POSREF_LAYOUT_CONCAT; /* converters rearrange every family's to this */
    if (among(geometry->family, gguf_interleaved))
        geometry->order = INTERLEAVED;
    else if (among(geometry->family, gguf_half))
        geometry->order = HALF;
    else if (among(geometry->family, gguf_none))
        geometry->order = POSREF_ORDER_NONE;
}

void posref_weights_know_family(struct posref_weights_geometry *geometry)
{
    if (geometry->gguf) {
        know_gguf(geometry);
        return;
    }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct family *family = &families[i];
        if (strcmp(family->name, geometry->family) != 0)
            continue;
        geometry->family_known = true;
        if (geometry->layout == POSREF_LAYOUT_UNKNOWN)
            geometry->layout = family->layout;
        if (geometry->order == POSREF_ORDER_UNKNOWN)
            geometry->order = family->order;
        if (geometry->rotary_fraction <= 0 && geometry->rotary_dim == 0)
            geometry->rotary_fraction = family->rotary_fraction;
    }
}

const char *posref_weights_order_name(enum posref_weights_order order)
{
    static const char *const names[] = {"unknown", "half", "interleaved", "none"};
    return names[order];
}

enum posref_weights_layout posref_weights_find_layout(const char *name)
{
    static const char *const names[] = {"", "concat", "per_head", "per_group", "codegen"};
    for (int i = 1; i < 5; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum posref_weights_layout)i;
    return POSREF_LAYOUT_UNKNOWN;
}
