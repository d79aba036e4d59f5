/* SPDX-License-Identifier: Apache-2.0 */
/* Families that do not rotate q and k: ALiBi, T5's buckets, learned tables, sinusoidal tables,
 * DeBERTa, and state-space models, which know no positions. */
#include "vectors/resolve.h"

#include <string.h>

static struct resolve_layer *add(struct resolve *r, const struct resolve_model *m,
                                 const char *applies_to)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", m->prefix, applies_to);
    return resolve_add_layer(r, name, m->n_hidden_layers);
}

/* Completes the spec, or says that this build does not have its scheme. */
static enum posref_status finish(struct resolve *r, struct resolve_layer *layer, bool known,
                                 const char *scheme)
{
    if (!known) {
        resolve_say(r, layer, "missing", "", "this build of posref has no scheme %s", scheme);
        return POSREF_OK;
    }
    layer->has_spec = true;
    return posref_spec_complete(&layer->spec, r->err);
}

static enum posref_status need_heads(struct resolve *r, const struct resolve_model *m)
{
    if (m->n_heads > 0)
        return POSREF_OK;
    return posref_fail(r->err, POSREF_BAD_INPUT, "num_attention_heads",
                       "is missing; the slopes depend on it");
}

static enum posref_status alibi_layer(struct resolve *r, struct resolve_model *m, const char *form)
{
    double most = 8;
    bool given = false;
    struct resolve_scope *nested = NULL;
    enum posref_status status = need_heads(r, m);
    struct resolve_layer *layer = status == POSREF_OK ? add(r, m, "all") : NULL;
    if (!layer)
        return POSREF_BAD_INPUT;
    if (resolve_has(m->scope, "attn_config")) { /* MPT */
        nested = resolve_enter(r, m->scope, "attn_config", resolve_get(m->scope, "attn_config"));
        if (!nested)
            return POSREF_BAD_INPUT;
        bool alibi = true, said = false;
        status = resolve_bool(r, nested, "alibi", &alibi, &said);
        if (status == POSREF_OK)
            status = resolve_number(r, nested, "alibi_bias_max", 1e-6, 256, &most, &given);
        if (status == POSREF_OK && said && !alibi)
            resolve_say(r, layer, "contradiction", "attn_config.alibi", "false, in a family of "
                        "ALiBi; a learned table is used instead, which is not resolved");
    }
    if (status != POSREF_OK)
        return status;
    resolve_set(&layer->spec, "scheme", "alibi");
    resolve_set_number(&layer->spec, "num_heads", m->n_heads);
    resolve_set_number(&layer->spec, "alibi_bias_max", most);
    resolve_set(&layer->spec, "form", form);
    if (!given)
        resolve_say(r, layer, "default", "alibi_bias_max", "missing; 8 is what the family takes");
    if (strcmp(form, "row") == 0)
        resolve_say(r, layer, "info", "", "the bias is slope times key position, up to a constant "
                    "of the row, which the softmax takes away");
    return finish(r, layer, true, "alibi");
}

static enum posref_status t5(struct resolve *r, struct resolve_model *m)
{
    static const char *const stacks[] = {"encoder", "decoder"};
    int buckets = 32, distance = 128, decoder = 0;
    bool has_buckets = false, has_distance = false, has_decoder = false;
    enum posref_status status = need_heads(r, m);
    if (status == POSREF_OK)
        status = resolve_whole(r, m->scope, "relative_attention_num_buckets", 2, 65536, &buckets,
                               &has_buckets);
    if (status == POSREF_OK)
        status = resolve_whole(r, m->scope, "relative_attention_max_distance", 2, 1 << 24,
                               &distance, &has_distance);
    if (status == POSREF_OK)
        status = resolve_whole(r, m->scope, "num_decoder_layers", 0, 65536, &decoder, &has_decoder);
    for (int i = 0; i < 2 && status == POSREF_OK; i++) {
        struct resolve_layer *layer = add(r, m, stacks[i]);
        if (!layer)
            return POSREF_BAD_INPUT;
        if (i == 1 && has_decoder)
            layer->n_layers = decoder;
        if (!has_buckets)
            resolve_say(r, layer, "default", "relative_attention_num_buckets", "missing; 32");
        if (!has_distance)
            resolve_say(r, layer, "default", "relative_attention_max_distance", "missing; 128");
        resolve_say(r, layer, "info", "", "%s; there is no 1/sqrt(d) in its attention",
                    strcmp(m->family->name, "umt5") == 0 ? "every layer has a table of its own"
                                                         : "the first layer's table serves all");
        bool known = resolve_set(&layer->spec, "scheme", "t5_bias") &&
                     resolve_set_number(&layer->spec, "num_heads", m->n_heads) &&
                     resolve_set_number(&layer->spec, "num_buckets", buckets) &&
                     resolve_set_number(&layer->spec, "max_distance", distance) &&
                     resolve_set(&layer->spec, "bidirectional", i == 0 ? "true" : "false");
        status = finish(r, layer, known, "t5_bias");
    }
    return status;
}

static enum posref_status learned(struct resolve *r, struct resolve_model *m)
{
    static const char *const names[] = {"max_position_embeddings", "n_positions", "n_ctx", NULL};
    int rows = 0;
    bool given = false;
    enum posref_status status = resolve_whole_of(r, m->scope, names, 1, 1 << 24, &rows, &given);
    struct resolve_layer *layer = status == POSREF_OK ? add(r, m, "embedding") : NULL;
    if (!layer)
        return POSREF_BAD_INPUT;
    layer->n_layers = 1;
    bool shifted = m->family->traits & RESOLVE_ROW_OFFSET_2;
    if (given)
        resolve_say(r, layer, "info", names[0], "a learned table for %d positions%s", rows, shifted
                    ? "; its first two rows are not positions: position 0 is row 2" : "");
    bool known = resolve_set(&layer->spec, "scheme", "learned");
    if (known && m->hidden_size)
        known = resolve_set_number(&layer->spec, "dim", m->hidden_size);
    if (known && shifted)
        known = resolve_set(&layer->spec, "offset", "2");
    struct posref_spec spec = layer->spec;
    struct posref_error why;
    if (known && posref_spec_complete(&spec, &why) != POSREF_OK) {
        resolve_say(r, layer, "missing", why.key, "%s", why.text);
        return POSREF_OK;
    }
    return finish(r, layer, known, "learned");
}

static enum posref_status sinusoidal(struct resolve *r, struct resolve_model *m)
{
    bool whisper = strcmp(m->family->name, "whisper") == 0;
    bool marian = strcmp(m->family->name, "marian") == 0;
    if (m->hidden_size == 0)
        return posref_fail(r->err, POSREF_BAD_INPUT, "d_model", "is missing");
    struct resolve_layer *layer = add(r, m, whisper ? "encoder" : "embedding");
    if (!layer)
        return POSREF_BAD_INPUT;
    resolve_set(&layer->spec, "scheme", "sinusoidal");
    resolve_set_number(&layer->spec, "dim", m->hidden_size);
    resolve_set(&layer->spec, "order", "concat");
    resolve_set(&layer->spec, "exponent", marian ? "d" : "half_minus_one");
    if (whisper)
        resolve_say(r, layer, "info", "", "the decoder has a learned table");
    else if (!marian)
        resolve_say(r, layer, "info", "pad_token_id", "the first real token has position "
                    "padding_idx + 1");
    return finish(r, layer, true, "sinusoidal");
}

static enum posref_status state_space(struct resolve *r, struct resolve_model *m)
{
    struct resolve_layer *layer = add(r, m, "all");
    if (!layer)
        return POSREF_BAD_INPUT;
    resolve_say(r, layer, "info", "model_type", "%s knows no positions: order enters by recurrence",
                m->family->name);
    return finish(r, layer, resolve_set(&layer->spec, "scheme", "none"), "none");
}

static enum posref_status deberta(struct resolve *r, struct resolve_model *m)
{
    struct resolve_layer *layer = add(r, m, "all");
    int buckets = -1;
    bool given = false;
    if (!layer)
        return POSREF_BAD_INPUT;
    enum posref_status status = resolve_whole(r, m->scope, "position_buckets", -1, 65536, &buckets,
                                              &given);
    if (status != POSREF_OK)
        return status;
    resolve_say(r, layer, "info", "position_buckets", "disentangled attention, %d buckets",
                buckets);
    bool known = resolve_set(&layer->spec, "scheme", "deberta");
    if (known && buckets > 0)
        known = resolve_set_number(&layer->spec, "num_buckets", buckets);
    struct posref_spec spec = layer->spec;
    struct posref_error why;
    if (known && posref_spec_complete(&spec, &why) != POSREF_OK) {
        resolve_say(r, layer, "missing", why.key, "%s", why.text);
        return POSREF_OK;
    }
    return finish(r, layer, known, "deberta");
}

enum posref_status resolve_other(struct resolve *r, struct resolve_model *m)
{
    const char *type = NULL;
    enum posref_status status = resolve_string(r, m->scope, "position_embedding_type", &type);
    if (status != POSREF_OK)
        return status;
    if (type && strcmp(type, "alibi") == 0)
        return alibi_layer(r, m, "symmetric");
    if (type && strcmp(type, "absolute") != 0 && m->family->kind == RESOLVE_LEARNED)
        resolve_say(r, NULL, "missing", "position_embedding_type", "'%.40s': the relative term is "
                    "not resolved, only the learned table", type);
    switch (m->family->kind) {
    case RESOLVE_ALIBI: return alibi_layer(r, m, "row");
    case RESOLVE_T5: return t5(r, m);
    case RESOLVE_LEARNED: return learned(r, m);
    case RESOLVE_SINUSOIDAL: return sinusoidal(r, m);
    case RESOLVE_STATE_SPACE: return state_space(r, m);
    case RESOLVE_DEBERTA: return deberta(r, m);
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

/* Vision towers: those with a learned or a rotary table that posref knows; others are named. */
enum posref_status resolve_vision(struct resolve *r, struct resolve_scope *scope,
                                  const char *family)
{
    const struct resolve_family *known = resolve_family_find(family);
    if (known && known->kind != RESOLVE_ROPE)
        return resolve_model(r, scope, family, "vision/");
    struct resolve_layer *layer = resolve_add_layer(r, "vision/all", -1);
    if (!layer)
        return POSREF_BAD_INPUT;
    resolve_say(r, layer, "missing", "vision_config", "the positions of a tower of '%.40s' are not "
                "resolved", family);
    return POSREF_OK;
}
