/* SPDX-License-Identifier: Apache-2.0 */
/* Families whose scores have terms of the distance: DeBERTa, Transformer-XL and XLNet, and the
 * conformers that follow them. */
#include "vectors/resolve.h"

#include <string.h>

/* pos_att_type, a list or one string with bars: posref's name of the terms, NULL for none. */
static enum posref_status read_terms(struct resolve *r, struct resolve_model *m, const char **out)
{
    static const char *const names[4] = {NULL, "c2p", "p2c", "c2p_p2c"};
    const json_t *value = resolve_get(m->scope, "pos_att_type");
    const char *text = json_string_value(value);
    bool c2p = text && strstr(text, "c2p"), p2c = text && strstr(text, "p2c");
    if (value && !text && !json_is_array(value))
        return posref_fail(r->err, POSREF_BAD_INPUT, "pos_att_type", "must be a list or a string");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *term = json_string_value(json_array_get(value, i));
        c2p = c2p || (term && strcmp(term, "c2p") == 0);
        p2c = p2c || (term && strcmp(term, "p2c") == 0);
    }
    *out = names[(c2p ? 1 : 0) + (p2c ? 2 : 0)];
    return POSREF_OK;
}

/* The range of the distances: Hugging Face takes max_position_embeddings for a -1. */
static enum posref_status read_reach(struct resolve *r, struct resolve_model *m,
                                     struct resolve_layer *layer, int *out)
{
    int most = -1, longest = 512;
    bool given = false, has_longest = false;
    enum posref_status status = resolve_whole(r, m->scope, "max_relative_positions", -1, 1 << 24,
                                              &most, &given);
    if (status == POSREF_OK)
        status = resolve_whole(r, m->scope, "max_position_embeddings", 1, 1 << 24, &longest,
                               &has_longest);
    if (status != POSREF_OK)
        return status;
    *out = most > 0 ? most : longest;
    if (most <= 0)
        resolve_say(r, layer, "default", "max_relative_positions", "%s; Hugging Face takes "
                    "max_position_embeddings, %d", given ? "-1" : "missing", longest);
    return POSREF_OK;
}

static enum posref_status disentangled(struct resolve *r, struct resolve_model *m)
{
    int buckets = -1, reach = 0;
    const char *terms = NULL;
    bool given = false, old = strcmp(m->family->name, "deberta") == 0;
    struct resolve_layer *layer = resolve_add(r, m, "all", m->n_hidden_layers);
    if (!layer)
        return POSREF_BAD_INPUT;
    enum posref_status status = resolve_whole(r, m->scope, "position_buckets", -1, 65536, &buckets,
                                              &given);
    if (status == POSREF_OK)
        status = read_reach(r, m, layer, &reach);
    if (status == POSREF_OK)
        status = read_terms(r, m, &terms);
    if (status != POSREF_OK)
        return status;
    if (!terms) {
        resolve_say(r, layer, "missing", "pos_att_type", "neither c2p nor p2c: the rows of the "
                    "distances are not used");
        return POSREF_OK;
    }
    if (old && buckets > 0)
        resolve_say(r, layer, "ignored", "position_buckets", "DeBERTa of the first version has no "
                    "buckets");
    resolve_put(layer, "scheme", "deberta");
    if (m->hidden_size && m->n_heads)
        resolve_put_number(layer, "dim", m->hidden_size / m->n_heads);
    if (m->n_heads)
        resolve_put_number(layer, "num_heads", m->n_heads);
    resolve_put(layer, "pos_att_type", terms);
    resolve_put_number(layer, "max_distance", reach);
    if (old || buckets <= 0)
        resolve_put(layer, "log_buckets", "false");
    else
        resolve_put_number(layer, "num_buckets", buckets);
    resolve_finish(r, layer);
    return POSREF_OK;
}

enum posref_status resolve_deberta(struct resolve *r, struct resolve_model *m)
{
    bool relative = false, added = true, given = false, has_added = false;
    enum posref_status status = resolve_bool(r, m->scope, "relative_attention", &relative, &given);
    if (status == POSREF_OK)
        status = resolve_bool(r, m->scope, "position_biased_input", &added, &has_added);
    if (status != POSREF_OK)
        return status;
    if (!given)
        resolve_say(r, NULL, "default", "relative_attention", "missing; false is what Hugging "
                    "Face's class takes");
    if (!has_added)
        resolve_say(r, NULL, "default", "position_biased_input", "missing; true is what Hugging "
                    "Face's class takes: a learned table is added");
    if (relative)
        status = disentangled(r, m);
    if (status == POSREF_OK && added)
        status = resolve_learned(r, m, NULL);
    if (status == POSREF_OK && !relative && !added)
        status = resolve_none(r, m, "all", m->n_hidden_layers, "relative_attention",
                              "neither relative terms nor a table");
    return status;
}

/* Relative keys from sinusoids of the model's width. */
static void put_xl(struct resolve *r, const struct resolve_model *m, struct resolve_layer *layer,
                   int head_dim, const char *order, int clamp)
{
    resolve_put(layer, "scheme", "transformer_xl");
    if (head_dim)
        resolve_put_number(layer, "dim", head_dim);
    if (m->hidden_size)
        resolve_put_number(layer, "model_dim", m->hidden_size);
    resolve_put(layer, "order", order);
    if (clamp > 0)
        resolve_put_number(layer, "clamp_len", clamp);
    resolve_finish(r, layer);
}

static int width_of(const struct resolve_model *m)
{
    return m->n_heads ? m->hidden_size / m->n_heads : 0;
}

enum posref_status resolve_xl(struct resolve *r, struct resolve_model *m)
{
    int clamp = strcmp(m->family->name, "transfo-xl") == 0 ? 1000 : -1, head_dim = width_of(m);
    bool has_clamp = false, has_width = false;
    struct resolve_layer *layer = resolve_add(r, m, "all", m->n_hidden_layers);
    if (!layer)
        return POSREF_BAD_INPUT;
    enum posref_status status = resolve_whole(r, m->scope, "clamp_len", -1, 1 << 30, &clamp,
                                              &has_clamp);
    if (status == POSREF_OK)
        status = resolve_whole(r, m->scope, "d_head", 2, POSREF_MAX_DIM, &head_dim, &has_width);
    if (status != POSREF_OK)
        return status;
    if (!has_clamp)
        resolve_say(r, layer, "default", "clamp_len", "missing; %d is what Hugging Face's class "
                    "takes", clamp);
    put_xl(r, m, layer, head_dim, "concat", clamp);
    return POSREF_OK;
}

enum posref_status resolve_conformer(struct resolve *r, struct resolve_model *m)
{
    const char *key = "position_embeddings_type", *type = NULL;
    double base = 10000;
    bool given = false, none = json_is_null(json_object_get(m->scope->at, key));
    enum posref_status status = resolve_string(r, m->scope, key, &type);
    if (status == POSREF_OK)
        status = resolve_number(r, m->scope, "rotary_embedding_base", 1.0000001, 1e12, &base,
                                &given);
    if (status != POSREF_OK)
        return status;
    if (none)
        return resolve_none(r, m, "all", m->n_hidden_layers, key, "null: the attention knows no "
                            "positions; a convolution within each layer does");
    struct resolve_layer *layer = resolve_add(r, m, "all", m->n_hidden_layers);
    if (!layer)
        return POSREF_BAD_INPUT;
    if (!type)
        resolve_say(r, layer, "default", key, "missing; relative is what Hugging Face's class "
                    "takes");
    if (!type || strcmp(type, "relative") == 0) {
        put_xl(r, m, layer, width_of(m), "interleaved", 0);
        return POSREF_OK;
    }
    if (strcmp(type, "rotary") != 0)
        return posref_fail(r->err, POSREF_BAD_INPUT, key, "'%.40s' is not known", type);
    if (!given)
        resolve_say(r, layer, "default", "rotary_embedding_base", "missing; 10000 is what Hugging "
                    "Face's class takes");
    resolve_say(r, layer, "info", key, "the input of q and k is rotated head by head, before they "
                "are projected");
    resolve_put(layer, "scheme", "rope");
    resolve_put_number(layer, "dim", width_of(m));
    resolve_put_number(layer, "base", base);
    resolve_put(layer, "pairing", "half");
    resolve_put(layer, "scaling", "none");
    resolve_finish(r, layer);
    return POSREF_OK;
}
