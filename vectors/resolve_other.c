/* SPDX-License-Identifier: Apache-2.0 */
/* Families that do not rotate q and k: which of their files says what, ALiBi, T5's buckets, and
 * those that know no positions or get them in a way that posref has no scheme for. */
#include "vectors/resolve.h"

#include <string.h>

struct resolve_layer *resolve_add(struct resolve *r, const struct resolve_model *m,
                                  const char *applies_to, int n_layers)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", m->prefix, applies_to);
    return resolve_add_layer(r, name, n_layers);
}

static enum posref_status need_heads(struct resolve *r, const struct resolve_model *m)
{
    if (m->n_heads > 0)
        return POSREF_OK;
    return posref_fail(r->err, POSREF_BAD_INPUT, "num_attention_heads",
                       "is missing; the slopes depend on it");
}

/* MPT's attn_config. *alibi: whether it asks for ALiBi at all. */
static enum posref_status read_attn_config(struct resolve *r, struct resolve_model *m,
                                           struct resolve_layer *layer, double *most, bool *given,
                                           bool *alibi)
{
    bool said = false;
    if (!resolve_has(m->scope, "attn_config"))
        return POSREF_OK;
    struct resolve_scope *nested = resolve_enter(r, m->scope, "attn_config",
                                                 resolve_get(m->scope, "attn_config"));
    if (!nested)
        return POSREF_BAD_INPUT;
    enum posref_status status = resolve_bool(r, nested, "alibi", alibi, &said);
    if (status == POSREF_OK)
        status = resolve_number(r, nested, "alibi_bias_max", 1e-6, 256, most, given);
    if (status == POSREF_OK && *given && *most != 8) /* exact: as written */
        resolve_say(r, layer, "info", "alibi_bias_max", "Hugging Face's own MptModel takes 8 all "
                    "the same; MPT's code, vLLM and llama.cpp take %.15g", *most);
    return status;
}

static enum posref_status alibi_layer(struct resolve *r, struct resolve_model *m, const char *form)
{
    double most = 8;
    bool given = false, alibi = true;
    enum posref_status status = need_heads(r, m);
    struct resolve_layer *layer =
        status == POSREF_OK ? resolve_add(r, m, "all", m->n_hidden_layers) : NULL;
    if (!layer)
        return POSREF_BAD_INPUT;
    status = read_attn_config(r, m, layer, &most, &given, &alibi);
    if (status != POSREF_OK)
        return status;
    if (!alibi) {
        resolve_say(r, layer, "missing", "attn_config.alibi", "false, in a family of ALiBi: the "
                    "checkpoint's own code has a learned table or rotates instead, which is not "
                    "resolved; Hugging Face's class adds ALiBi all the same");
        return POSREF_OK;
    }
    resolve_put(layer, "scheme", "alibi");
    resolve_put_number(layer, "num_heads", m->n_heads);
    resolve_put_number(layer, "alibi_bias_max", most);
    resolve_put(layer, "form", form);
    if (!given)
        resolve_say(r, layer, "default", "alibi_bias_max", "missing; 8 is what the family takes");
    if (strcmp(form, "row") == 0)
        resolve_say(r, layer, "info", "", "the bias is slope times key position, up to a constant "
                    "of the row, which the softmax takes away");
    resolve_finish(r, layer);
    return POSREF_OK;
}

static enum posref_status t5_stack(struct resolve *r, struct resolve_model *m, const char *stack,
                                   int n_layers, const double sizes[2], const bool given[2])
{
    bool own_tables = strcmp(m->family->name, "umt5") == 0;
    struct resolve_layer *layer = resolve_add(r, m, stack, n_layers);
    if (!layer)
        return POSREF_BAD_INPUT;
    if (!given[0])
        resolve_say(r, layer, "default", "relative_attention_num_buckets", "missing; 32");
    if (!given[1])
        resolve_say(r, layer, "default", "relative_attention_max_distance", "missing; 128");
    resolve_say(r, layer, "info", "", "%s; there is no 1/sqrt(d) in its attention",
                own_tables ? "every layer has a table of its own"
                           : "the first layer's table serves all");
    resolve_put(layer, "scheme", "t5_bias");
    resolve_put_number(layer, "num_heads", m->n_heads);
    resolve_put_number(layer, "num_buckets", sizes[0]);
    resolve_put_number(layer, "max_distance", sizes[1]);
    resolve_put(layer, "bidirectional", strcmp(stack, "encoder") == 0 ? "true" : "false");
    resolve_finish(r, layer);
    return POSREF_OK;
}

static enum posref_status t5(struct resolve *r, struct resolve_model *m)
{
    double sizes[2] = {32, 128};
    bool given[2] = {false, false}, has_decoder = false;
    int decoder = m->n_hidden_layers;
    enum posref_status status = need_heads(r, m);
    if (resolve_get(m->scope, "n_positions"))
        resolve_say(r, NULL, "ignored", "n_positions", "no code of T5 reads it: any length has "
                    "buckets");
    if (status == POSREF_OK)
        status = resolve_number(r, m->scope, "relative_attention_num_buckets", 2, 65536, &sizes[0],
                                &given[0]);
    if (status == POSREF_OK)
        status = resolve_number(r, m->scope, "relative_attention_max_distance", 2, 1 << 24,
                                &sizes[1], &given[1]);
    if (status == POSREF_OK)
        status = resolve_whole(r, m->scope, "num_decoder_layers", 0, 65536, &decoder, &has_decoder);
    if (status == POSREF_OK)
        status = t5_stack(r, m, "encoder", m->n_hidden_layers, sizes, given);
    return status == POSREF_OK ? t5_stack(r, m, "decoder", decoder, sizes, given) : status;
}

enum posref_status resolve_none(struct resolve *r, const struct resolve_model *m,
                                const char *applies_to, int n_layers, const char *key,
                                const char *why)
{
    struct resolve_layer *layer = resolve_add(r, m, applies_to, n_layers);
    if (!layer)
        return POSREF_BAD_INPUT;
    resolve_say(r, layer, "info", key, "%s", why);
    resolve_put(layer, "scheme", "none");
    resolve_finish(r, layer);
    return POSREF_OK;
}

/* Where positions come from in families that posref has no scheme for. */
static enum posref_status unsaid(struct resolve *r, const struct resolve_model *m)
{
    static const struct { const char *name, *text; } reasons[] = {
        {"wav2vec2-bert", "learned vectors of distances clipped to another reach on either side"},
        {"wavlm", "a convolution over the input, and gated buckets of distances"},
        {"reformer", "learned tables of two axes of the position (axial)"},
        {"funnel", "relative terms of pooled sequences"},
    };
    const char *text = "a convolution over the input";
    struct resolve_layer *layer = resolve_add(r, m, "all", m->n_hidden_layers);
    if (!layer)
        return POSREF_BAD_INPUT;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].name, m->family->name) == 0)
            text = reasons[i].text;
    resolve_say(r, layer, "missing", "model_type", "positions of %s: %s; posref has no such scheme",
                m->family->name, text);
    return POSREF_OK;
}

enum posref_status resolve_other(struct resolve *r, struct resolve_model *m)
{
    const char *type = NULL;
    enum posref_status status = resolve_string(r, m->scope, "position_embedding_type", &type);
    if (status != POSREF_OK)
        return status;
    if (type && strcmp(type, "alibi") == 0)
        return alibi_layer(r, m, "symmetric");
    switch (m->family->kind) {
    case RESOLVE_ALIBI: return alibi_layer(r, m, "row");
    case RESOLVE_T5: return t5(r, m);
    case RESOLVE_LEARNED: return resolve_learned(r, m, type);
    case RESOLVE_SINUSOIDAL: return resolve_sinusoidal(r, m);
    case RESOLVE_DEBERTA: return resolve_deberta(r, m);
    case RESOLVE_BEIT: return resolve_beit(r, m);
    case RESOLVE_SWIN: return resolve_swin(r, m);
    case RESOLVE_XL: return resolve_xl(r, m);
    case RESOLVE_CONFORMER: return resolve_conformer(r, m);
    case RESOLVE_UNSAID: return unsaid(r, m);
    case RESOLVE_STATE_SPACE:
        resolve_get(m->scope, "max_position_embeddings");
        return resolve_none(r, m, "all", m->n_hidden_layers, "model_type",
                            "knows no positions: order enters by recurrence");
    case RESOLVE_ROPE: break;
    }
    return posref_fail(r->err, POSREF_INTERNAL, "model_type", "a family of no kind");
}

enum posref_status resolve_falcon_alibi(struct resolve *r, struct resolve_scope *scope,
                                        const char *family)
{
    static const struct resolve_family falcon = {"falcon", RESOLVE_ALIBI, "", 0, 1, 0};
    static const char *const heads[] = {"num_attention_heads", "n_head", NULL};
    struct resolve_model m = {.scope = scope, .family = &falcon, .n_hidden_layers = -1};
    bool given = false;
    enum posref_status status = resolve_whole_of(r, scope, heads, 1, 65536, &m.n_heads, &given);
    if (status != POSREF_OK)
        return status;
    if (strcmp(family, "falcon") == 0)
        resolve_say(r, NULL, "info", "alibi", "Falcon rounds the slopes to bf16, and its eager "
                    "code divides the bias by the square root of the head's width too");
    return alibi_layer(r, &m, "row");
}
