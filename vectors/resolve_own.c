/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of rotating families that only one or two of them have: pairings by name, the first Qwen's
 * dynamic base, Nomic's scaling, temperatures of the query, PhiMoE's factors. */
#include "vectors/resolve.h"

#include <string.h>

static bool is_family(const struct resolve_model *m, const char *name)
{
    return strcmp(m->family->name, name) == 0;
}

/* DeepSeek's rope_interleave and Nomic's rotary_emb_interleaved name the pairing. */
static enum posref_status read_pairing(struct resolve *r, struct resolve_model *m,
                                       struct resolve_rope *rope)
{
    static const char *const keys[] = {"rope_interleave", "rotary_emb_interleaved"};
    rope->pairing = m->family->pairing;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        bool neighbours = false, given = false;
        enum posref_status status = resolve_bool(r, m->scope, keys[i], &neighbours, &given);
        if (status != POSREF_OK)
            return status;
        if (given)
            rope->pairing = neighbours ? "interleaved" : "half";
    }
    return POSREF_OK;
}

/* use_dynamic_ntk and use_logn_attn, both beyond seq_length tokens. */
static enum posref_status read_qwen(struct resolve *r, struct resolve_model *m,
                                    struct resolve_rope *rope)
{
    bool dynamic = true, logn = true, given = false;
    enum posref_status status = resolve_bool(r, m->scope, "use_dynamic_ntk", &dynamic, &given);
    if (status == POSREF_OK && !given)
        resolve_say(r, NULL, "default", "use_dynamic_ntk", "missing; true is what the class takes");
    given = false;
    if (status == POSREF_OK)
        status = resolve_bool(r, m->scope, "use_logn_attn", &logn, &given);
    if (status == POSREF_OK && !given)
        resolve_say(r, NULL, "default", "use_logn_attn", "missing; true is what the class takes");
    if (dynamic && !rope->has_max)
        resolve_say(r, NULL, "missing", "seq_length", "without it, from where on the base grows is "
                    "not known: the spec is that of shorter sequences");
    else if (dynamic && strcmp(rope->kind, "default") == 0)
        rope->kind = "dynamic_alpha";
    rope->logn = logn;
    return status;
}

static enum posref_status read_nomic(struct resolve *r, struct resolve_model *m,
                                     struct resolve_rope *rope)
{
    double factor = 0, trained = 2048;
    bool scaled = false, given = false;
    enum posref_status status = resolve_number(r, m->scope, "rotary_scaling_factor", 1, 1e6,
                                               &factor, &scaled);
    if (status == POSREF_OK)
        status = resolve_number(r, m->scope, "max_trained_positions", 1, 1 << 24, &trained,
                                &given);
    if (status != POSREF_OK || !scaled)
        return status;
    if (!given)
        resolve_say(r, NULL, "default", "max_trained_positions", "missing; 2048 is what Nomic's "
                    "class takes");
    rope->kind = "dynamic";
    rope->factor = factor;
    rope->max_position = trained;
    rope->has_factor = rope->has_max = true;
    return POSREF_OK;
}

enum posref_status resolve_own_read(struct resolve *r, struct resolve_model *m,
                                    struct resolve_rope *rope)
{
    bool original = true, given = false;
    enum posref_status status = read_pairing(r, m, rope);
    if (status == POSREF_OK && is_family(m, "qwen"))
        status = read_qwen(r, m, rope);
    if (status == POSREF_OK && is_family(m, "nomic_bert"))
        status = read_nomic(r, m, rope);
    resolve_get(m->scope, "rope_3d"); /* ERNIE: what mrope_section says */
    resolve_get(m->scope, "freq_allocation");
    if (status == POSREF_OK && is_family(m, "chatglm")) /* which of two codes; both rotate alike */
        status = resolve_bool(r, m->scope, "original_rope", &original, &given);
    if (status == POSREF_OK && rope->inside)
        status = resolve_number(r, rope->inside, "llama_4_scaling_beta", 0, 1e3,
                                &rope->query_beta, &rope->has_query_beta);
    return status;
}

static void set_everywhere(struct resolve_layer *layer, const char *field, const char *value)
{
    resolve_set(&layer->spec, field, value);
    for (int i = 0; i < layer->n_regimes; i++)
        resolve_set(&layer->regime[i].spec, field, value);
}

static void set_number_everywhere(struct resolve_layer *layer, const char *field, double value)
{
    char text[POSREF_NUMBER_SIZE];
    posref_number_format(text, value);
    set_everywhere(layer, field, text);
}

void resolve_own_spec(struct resolve *r, const struct resolve_model *m,
                      struct resolve_layer *layer, const struct resolve_rope *rope)
{
    double original = layer->spec.original_max_position_embeddings;
    if (rope->mrope_section && strncmp(m->family->name, "ernie4_5", 8) == 0) {
        resolve_set(&layer->spec, "mrope_interleaved", "true");
        resolve_set(&layer->spec, "mrope_order", "hw_t");
        resolve_say(r, layer, "info", "mrope_section", "height, width, time: the first two take "
                    "turns");
    }
    if (is_family(m, "phimoe") && strcmp(rope->kind, "longrope") == 0) {
        if (rope->has_short_mscale)
            set_number_everywhere(layer, "short_mscale", rope->short_mscale);
        if (rope->has_long_mscale)
            set_number_everywhere(layer, "long_mscale", rope->long_mscale);
    }
    if (rope->logn && rope->has_max) {
        set_everywhere(layer, "temperature", "logn");
        set_number_everywhere(layer, "temperature_length", rope->max_position);
        resolve_say(r, layer, "info", "use_logn_attn", "the query is multiplied by ln(position + "
                    "1) / ln(%.15g) beyond that length", rope->max_position);
    }
    if (!rope->has_query_beta)
        return;
    resolve_say(r, layer, "info", "llama_4_scaling_beta", "the query is multiplied by 1 + %.15g "
                "ln(1 + floor(position / original length)) beside the rotation", rope->query_beta);
    if (rope->query_beta > 0 && original > 0) {
        set_everywhere(layer, "temperature", "ministral");
        set_number_everywhere(layer, "temperature_scale", rope->query_beta);
        set_number_everywhere(layer, "temperature_length", original);
    }
}

/* Llama 4 multiplies the query of layers that do not rotate. */
static enum posref_status set_llama4(struct resolve *r, struct resolve_model *m,
                                     struct resolve_layer *layer)
{
    const char *key = "attn_temperature_tuning"; /* true, or 4 in the released configs */
    const json_t *number = json_object_get(m->scope->at, key);
    bool tuned = true, given = json_is_number(number), has_scale = false, has_floor = false;
    double scale = 0.1, length = 8192;
    enum posref_status status = POSREF_OK;
    if (given)
        tuned = json_number_value(resolve_get(m->scope, key)) != 0; /* exact: Python's truth */
    else
        status = resolve_bool(r, m->scope, key, &tuned, &given);
    if (status == POSREF_OK)
        status = resolve_number(r, m->scope, "attn_scale", 1e-6, 1e3, &scale, &has_scale);
    if (status == POSREF_OK)
        status = resolve_number(r, m->scope, "floor_scale", 1, 2147483648.0, &length, &has_floor);
    if (status != POSREF_OK || !tuned)
        return status;
    if (!given || !has_scale || !has_floor)
        resolve_say(r, layer, "default", key, "missing, or attn_scale or "
                    "floor_scale; true, 0.1 and 8192 are what Hugging Face's class takes");
    resolve_say(r, layer, "info", key, "the query is multiplied by 1 + "
                "%.15g ln(1 + floor((position + 1) / %.15g))", scale, length);
    resolve_put(layer, "temperature", "llama4");
    resolve_put_number(layer, "temperature_scale", scale);
    resolve_put_number(layer, "temperature_length", length);
    return POSREF_OK;
}

enum posref_status resolve_own_nope(struct resolve *r, struct resolve_model *m, int n_layers)
{
    struct resolve_layer *layer = resolve_add(r, m, "nope", n_layers);
    enum posref_status status = POSREF_OK;
    if (!layer)
        return POSREF_BAD_INPUT;
    resolve_say(r, layer, "info", "", "these layers do not rotate");
    resolve_put(layer, "scheme", "none");
    if (is_family(m, "llama4_text"))
        status = set_llama4(r, m, layer);
    resolve_finish(r, layer);
    return status;
}
