/* SPDX-License-Identifier: Apache-2.0 */
/* What a tensor's name says: its layer, whether it holds q or k rows, and of which kind. GGUF's
 * names are mapped to Hugging Face's. */
#include "harness/weights.h"

#include <stdlib.h>
#include <string.h>

#define MAX_COMPONENTS 24

struct components {
    char text[256];
    const char *part[MAX_COMPONENTS];
    int n;
};

static bool among(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

static void split(struct components *out, const char *name)
{
    out->n = 0;
    snprintf(out->text, sizeof out->text, "%s", name);
    char *rest = NULL;
    for (char *part = strtok_r(out->text, ".", &rest); part && out->n < MAX_COMPONENTS;
         part = strtok_r(NULL, ".", &rest))
        out->part[out->n++] = part;
}

/* The index of the layer's number, or -1. */
static int find_layer(const struct components *c, int *layer)
{
    static const char *const holders[] = {"layers", "layer", "h", "blocks", "block", "blk", NULL};
    for (int i = 1; i < c->n; i++) {
        char *end;
        long number = strtol(c->part[i], &end, 10);
        if (*end == '\0' && c->part[i][0] >= '0' && c->part[i][0] <= '9' &&
            number < POSREF_WEIGHTS_MAX_LAYERS && among(c->part[i - 1], holders)) {
            *layer = (int)number;
            return i;
        }
    }
    return -1;
}

/* Towers other than the language model, other attentions than its self-attention. */
static bool foreign(const struct components *c)
{
    static const char *const pieces[] = {"vision", "visual", "audio", "image", "speech", "indexer",
                                         "cross", "encoder_attn", "talker", "vit", NULL};
    for (int i = 0; i < c->n; i++)
        for (const char *const *piece = pieces; *piece; piece++)
            if (strstr(c->part[i], *piece))
                return true;
    return false;
}

/* The kind from the last components; *module gets the index of the module's own name. */
static bool find_kind(const struct components *c, enum posref_weights_kind *kind, int *module,
                      const char **packing)
{
    static const char *const packed[] = {"qweight", "qzeros", "scales", "g_idx", NULL};
    static const char *const bnb[] = {"absmax", "quant_map", "nested_absmax", "quant_state", NULL};
    static const char *const scales[] = {"weight_scale", "weight_scale_inv", NULL};
    const char *last = c->part[c->n - 1];
    *module = c->n - 2;
    *packing = among(last, packed) ? "GPTQ or AWQ"
               : among(last, bnb) ? "bitsandbytes"
               : strcmp(last, "weight_packed") == 0 ? "compressed-tensors" : NULL;
    if (*module >= 0 && strcmp(c->part[*module], "quant_state") == 0)
        *packing = "bitsandbytes";
    while (*packing && *module > 0 && (strcmp(c->part[*module], "weight") == 0 ||
                                       strcmp(c->part[*module], "quant_state") == 0))
        --*module;
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->part[i], "lora_B") == 0 || strcmp(c->part[i], "lora_b") == 0) {
            *kind = POSREF_KIND_LORA;
            *module = i - 1;
            if (*module > 0 && strcmp(c->part[*module], "weight") == 0)
                --*module;
            return *module >= 0;
        }
    if (*module >= 1 && strcmp(c->part[*module], "base_layer") == 0)
        --*module;
    if (strcmp(last, "weight") == 0)
        *kind = POSREF_KIND_WEIGHT;
    else if (strcmp(last, "bias") == 0)
        *kind = POSREF_KIND_BIAS;
    else if (among(last, scales))
        *kind = POSREF_KIND_SCALE;
    else
        return *packing != NULL && *module >= 0;
    return *module >= 0;
}

/* Role, and a norm's kind, from the module's name. */
static enum posref_weights_role find_role(const char *module, enum posref_weights_kind *kind,
                                          enum posref_weights_layout *layout)
{
    static const char *const q[] = {"q_proj", "wq", "query", "q_b_proj", "attn_q", "attn_q_b",
                                    "to_q", NULL};
    static const char *const k[] = {"k_proj", "wk", "key", "kv_a_proj_with_mqa", "attn_k",
                                    "attn_kv_a_mqa", "to_k", NULL};
    static const char *const q_norm[] = {"q_norm", "q_layernorm", "query_norm", "attn_q_norm",
                                         "query_layernorm", "q_ln", NULL};
    static const char *const k_norm[] = {"k_norm", "k_layernorm", "key_norm", "attn_k_norm",
                                         "key_layernorm", "k_ln", NULL};
    static const char *const concat[] = {"qkv_proj", "Wqkv", "attn_qkv", "c_attn", "W_pack", "qkv",
                                         "att_proj", NULL};
    static const char *const per_group[] = {"wqkv", "linear_qkv", NULL};
    *layout = POSREF_LAYOUT_UNKNOWN;
    if (among(module, q))
        return POSREF_ROLE_Q;
    if (among(module, k))
        return POSREF_ROLE_K;
    if (among(module, q_norm) || among(module, k_norm)) {
        if (*kind == POSREF_KIND_WEIGHT || *kind == POSREF_KIND_BIAS)
            *kind = POSREF_KIND_NORM;
        return among(module, q_norm) ? POSREF_ROLE_Q : POSREF_ROLE_K;
    }
    if (among(module, concat))
        *layout = POSREF_LAYOUT_CONCAT;
    else if (among(module, per_group))
        *layout = POSREF_LAYOUT_PER_GROUP;
    else if (strcmp(module, "query_key_value") != 0)
        return POSREF_ROLE_OTHER;
    return POSREF_ROLE_FUSED;
}

/* GGUF's names inside a block, and at the top. */
static const char *hugging_face(const char *module)
{
    static const char *const names[][2] = {
        {"attn_q", "self_attn.q_proj"}, {"attn_k", "self_attn.k_proj"},
        {"attn_v", "self_attn.v_proj"}, {"attn_output", "self_attn.o_proj"},
        {"attn_qkv", "self_attn.qkv_proj"}, {"attn_q_norm", "self_attn.q_norm"},
        {"attn_k_norm", "self_attn.k_norm"}, {"attn_q_a", "self_attn.q_a_proj"},
        {"attn_q_b", "self_attn.q_b_proj"}, {"attn_q_a_norm", "self_attn.q_a_layernorm"},
        {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
        {"attn_kv_a_norm", "self_attn.kv_a_layernorm"}, {"attn_kv_b", "self_attn.kv_b_proj"},
        {"attn_norm", "input_layernorm"}, {"ffn_norm", "post_attention_layernorm"},
        {"ffn_gate", "mlp.gate_proj"}, {"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"},
        {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], module) == 0)
            return names[i][1];
    return NULL;
}

static void canonical_name(struct posref_weights_name *out, const struct components *c,
                           const char *name)
{
    snprintf(out->canonical, sizeof out->canonical, "%s", name);
    bool block = c->n >= 3 && strcmp(c->part[0], "blk") == 0;
    const char *mapped = block ? hugging_face(c->part[2]) : c->n == 2 ? hugging_face(c->part[0])
                                                                      : NULL;
    if (!mapped)
        return;
    int length = block ? snprintf(out->canonical, sizeof out->canonical, "model.layers.%s.%s",
                                  c->part[1], mapped)
                       : snprintf(out->canonical, sizeof out->canonical, "%s", mapped);
    for (int i = block ? 3 : 1; i < c->n && (size_t)length < sizeof out->canonical; i++)
        length += snprintf(out->canonical + length, sizeof out->canonical - (size_t)length, ".%s",
                           c->part[i]);
}

/* What comes before the module's own name, less an adapter's prefix. */
static uint64_t find_block(const struct components *c, int module)
{
    char path[sizeof c->text] = "";
    size_t length = 0;
    bool adapter = module > 2 && strcmp(c->part[0], "base_model") == 0 &&
                   strcmp(c->part[1], "model") == 0;
    for (int i = adapter ? 2 : 0; i < module; i++)
        length += (size_t)snprintf(path + length, sizeof path - length, "%s.", c->part[i]);
    return posref_weights_hash((const unsigned char *)path, (int64_t)length).word[0];
}

void posref_weights_parse_name(struct posref_weights_name *out, const char *name)
{
    struct components c;
    enum posref_weights_kind kind = POSREF_KIND_WEIGHT;
    int layer = -1, module = 0;
    memset(out, 0, sizeof *out);
    out->layer = -1;
    split(&c, name);
    canonical_name(out, &c, name);
    if (c.n < 2 || !find_kind(&c, &kind, &module, &out->packing))
        return;
    int at = find_layer(&c, &layer);
    enum posref_weights_layout layout;
    enum posref_weights_role role = find_role(c.part[module], &kind, &layout);
    if (role == POSREF_ROLE_OTHER || foreign(&c) || (at >= 0 && module <= at)) {
        out->packing = NULL;
        return;
    }
    out->layer = layer;
    out->role = role;
    out->kind = kind;
    out->layout = layout;
    out->block = find_block(&c, module);
}

const char *posref_weights_role_name(enum posref_weights_role role)
{
    static const char *const names[] = {"other", "q", "k", "v", "qkv"};
    return names[role];
}

const char *posref_weights_kind_name(enum posref_weights_kind kind)
{
    static const char *const names[] = {"weight", "bias", "norm", "scale", "lora_b"};
    return names[kind];
}
