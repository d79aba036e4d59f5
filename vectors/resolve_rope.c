/* SPDX-License-Identifier: Apache-2.0 */
/* One dictionary of rope parameters: read with every name it goes by, and turned into a spec by the
 * rules of Hugging Face's code. */
#include "vectors/resolve.h"

#include <math.h>
#include <string.h>

#define LARGEST 2147483648.0

/* Where a key is looked for: the dictionary first, then the model's own object. */
static enum posref_status read_both(struct resolve *r, struct resolve_model *m,
                                    struct resolve_layer *layer, struct resolve_scope *inside,
                                    const char *key, const char *const *outside, double low,
                                    double high, double *out, bool *given)
{
    double in_value = 0, out_value = 0;
    bool in_given = false, out_given = false;
    enum posref_status status = POSREF_OK;
    if (inside)
        status = resolve_number(r, inside, key, low, high, &in_value, &in_given);
    if (status == POSREF_OK)
        status = resolve_number_of(r, m->scope, outside, low, high, &out_value, &out_given);
    if (status != POSREF_OK)
        return status;
    if (in_given && out_given && in_value != out_value)
        resolve_say(r, layer, "contradiction", key, "%s%s is %.15g, but %s beside it is %.15g; the "
                    "inner one is used", inside->path, key, in_value, outside[0], out_value);
    *given = in_given || out_given;
    if (*given)
        *out = in_given ? in_value : out_value;
    return POSREF_OK;
}

static enum posref_status read_base(struct resolve *r, struct resolve_model *m,
                                    struct resolve_layer *layer, struct resolve_scope *inside,
                                    struct resolve_rope *out)
{
    static const char *const names[] = {"rope_theta", "rotary_emb_base", "global_rope_theta",
                                        "rope_freq_constant", NULL};
    double ratio = 0;
    bool has_ratio = false;
    /* out->theta may already be there: a layer type's own base. */
    if (out->has_theta)
        return POSREF_OK;
    enum posref_status status = read_both(r, m, layer, inside, "rope_theta", names, 1.0000001, 1e12,
                                          &out->theta, &out->has_theta);
    if (status == POSREF_OK)
        status = resolve_number(r, m->scope, "rope_ratio", 1e-6, 1e6, &ratio, &has_ratio);
    if (status != POSREF_OK)
        return status;
    if (!out->has_theta && resolve_has(m->scope, "attn_config")) {
        struct resolve_scope *nested = resolve_enter(r, m->scope, "attn_config",
                                                     resolve_get(m->scope, "attn_config"));
        if (!nested)
            return POSREF_BAD_INPUT;
        status = resolve_number(r, nested, "rope_theta", 1.0000001, 1e12, &out->theta,
                                &out->has_theta);
    }
    if (status == POSREF_OK && has_ratio) {
        out->theta = 10000 * ratio;
        out->has_theta = true;
        resolve_say(r, layer, "info", "rope_ratio", "the base is 10000 times rope_ratio (chatglm3 "
                    "and glm-4); chatglm2-32k's code divides positions by it instead");
    }
    if (status == POSREF_OK && !out->has_theta) {
        double base = m->family->theta > 0 ? m->family->theta : 10000;
        out->theta = base;
        resolve_say(r, layer, "default", "rope_theta", "missing; %.15g is %s", base,
                    m->family->theta > 0 ? "what Hugging Face's class for the family takes"
                                         : "the usual default, and not known to be this family's");
    }
    return status;
}

static enum posref_status read_partial(struct resolve *r, struct resolve_model *m,
                                       struct resolve_layer *layer, struct resolve_scope *inside,
                                       struct resolve_rope *out)
{
    static const char *const names[] = {"partial_rotary_factor", "rotary_pct", "rotary_percentage",
                                        "rotary_emb_fraction", "rope_pct", NULL};
    enum posref_status status = read_both(r, m, layer, inside, "partial_rotary_factor", names,
                                          1e-6, 1, &out->partial, &out->has_partial);
    if (status == POSREF_OK && !out->has_partial) {
        out->partial = m->family->partial;
        if (m->family->partial < 1 && !m->has_rotary_dim)
            resolve_say(r, layer, "default", "partial_rotary_factor", "missing; %.15g is what "
                        "Hugging Face's class for the family takes", out->partial);
    }
    return status;
}

static const char *kind_of(const char *name)
{
    static const char *const same[][2] = {
        {"su", "longrope"}, {"mrope", "default"}, {"none", "default"}, {"deepseek_yarn", "yarn"},
        {"telechat3-yarn", "yarn"}, {"yarn_telechat", "yarn"}, {"gptj", "default"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(name, same[i][0]) == 0)
            return same[i][1];
    return name;
}

static enum posref_status read_type(struct resolve *r, struct resolve_layer *layer,
                                    struct resolve_scope *inside, struct resolve_rope *out)
{
    enum posref_status status = resolve_string(r, inside, "rope_type", &out->rope_type);
    if (status == POSREF_OK)
        status = resolve_string(r, inside, "type", &out->type);
    if (status != POSREF_OK)
        return status;
    const char *chosen = out->rope_type ? out->rope_type : out->type ? out->type : "default";
    out->kind = kind_of(chosen);
    if (out->rope_type && out->type && strcmp(out->rope_type, out->type) != 0)
        resolve_say(r, layer, "contradiction", "rope_type", "rope_type is %.40s and type is %.40s; "
                    "Hugging Face takes rope_type", out->rope_type, out->type);
    if (!out->rope_type && out->type)
        resolve_say(r, layer, "legacy", "type", "the older name of rope_type");
    if (strcmp(out->kind, chosen) != 0)
        resolve_say(r, layer, "legacy", "rope_type", "%.40s is read as %s", chosen, out->kind);
    if (!out->rope_type && !out->type && inside && json_object_size(inside->at) > 0)
        resolve_say(r, layer, "default", "rope_type", "missing; Hugging Face takes default: no "
                    "scaling");
    if (strcmp(out->kind, "yarn") == 0 && resolve_has(inside, "long_factor")) {
        out->kind = "longrope";
        resolve_say(r, layer, "legacy", "rope_type", "yarn with long_factor is Phi-3's older name "
                    "of longrope");
    }
    return POSREF_OK;
}

static enum posref_status read_lengths(struct resolve *r, struct resolve_model *m,
                                       struct resolve_layer *layer, struct resolve_scope *inside,
                                       struct resolve_rope *out)
{
    static const char *const longest[] = {"max_position_embeddings", "n_positions", "n_ctx",
                                          "seq_length", "max_sequence_length", NULL};
    static const char *const qwen[] = {"seq_length", NULL}; /* of its two lengths, what scales */
    const char *key = "original_max_position_embeddings";
    bool is_qwen = strcmp(m->family->name, "qwen") == 0 && resolve_has(m->scope, qwen[0]);
    if (is_qwen)
        resolve_get(m->scope, longest[0]);
    enum posref_status status = resolve_number_of(r, m->scope, is_qwen ? qwen : longest, 1, LARGEST,
                                                  &out->max_position, &out->has_max);
    if (status == POSREF_OK && inside)
        status = resolve_number(r, inside, key, 1, LARGEST, &out->original_inside,
                                &out->has_inside);
    if (status == POSREF_OK)
        status = resolve_number(r, m->scope, key, 1, LARGEST, &out->original_outside,
                                &out->has_outside);
    if (status != POSREF_OK)
        return status;
    /* Hugging Face: the outer key wins over one dictionary, and is not read for several. */
    bool outer = out->has_outside && !out->layered;
    out->has_original = outer || out->has_inside;
    out->original = outer ? out->original_outside : out->original_inside;
    if (out->has_outside && out->has_inside && out->original_outside != out->original_inside)
        resolve_say(r, layer, "contradiction", key, "%.15g at the top, %.15g in %s; Hugging Face "
                    "takes the one at the top", out->original_outside, out->original_inside,
                    inside->path);
    return POSREF_OK;
}

static enum posref_status read_numbers(struct resolve *r, struct resolve_scope *inside,
                                       struct resolve_rope *out)
{
    const struct { const char *key; double low, high; double *to; bool *given; } items[] = {
        {"factor", 1e-6, 1e6, &out->factor, &out->has_factor},
        {"alpha", 1e-6, 1e9, &out->alpha, &out->has_alpha},
        {"beta_fast", 0, 1e6, &out->beta_fast, &out->has_beta_fast},
        {"beta_slow", 0, 1e6, &out->beta_slow, &out->has_beta_slow},
        {"mscale", 0, 1e3, &out->mscale, &out->has_mscale},
        {"mscale_all_dim", 0, 1e3, &out->mscale_all_dim, &out->has_mscale_all_dim},
        {"attention_factor", 0, 1e6, &out->attention_factor, &out->has_attention_factor},
        {"attn_factor", 0, 1e6, &out->attn_factor, &out->has_attn_factor},
        {"low_freq_factor", 0, 1e6, &out->low_freq_factor, &out->has_low},
        {"high_freq_factor", 0, 1e6, &out->high_freq_factor, &out->has_high},
        {"short_mscale", 0, 1e6, &out->short_mscale, &out->has_short_mscale},
        {"long_mscale", 0, 1e6, &out->long_mscale, &out->has_long_mscale},
    };
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        enum posref_status status = resolve_number(r, inside, items[i].key, items[i].low,
                                                   items[i].high, items[i].to, items[i].given);
        if (status != POSREF_OK)
            return status;
    }
    return resolve_bool(r, inside, "truncate", &out->truncate, &out->has_truncate);
}

static enum posref_status read_list(struct resolve *r, struct resolve_scope *scope,
                                    const char *key, const json_t **out)
{
    const json_t *value = resolve_get(scope, key);
    char path[128];
    if (!value)
        return POSREF_OK;
    snprintf(path, sizeof path, "%s%s", scope->path, key);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_number(json_array_get(value, i)))
            return posref_fail(r->err, POSREF_BAD_INPUT, path, "must hold numbers only");
    if (!json_is_array(value) || json_array_size(value) == 0)
        return posref_fail(r->err, POSREF_BAD_INPUT, path, "must be a list of numbers");
    *out = value;
    return POSREF_OK;
}

enum posref_status resolve_rope_read(struct resolve *r, struct resolve_model *m,
                                     struct resolve_layer *layer, struct resolve_scope *inside,
                                     struct resolve_rope *out)
{
    bool given = false;
    enum posref_status status = read_base(r, m, layer, inside, out);
    if (status == POSREF_OK)
        status = read_partial(r, m, layer, inside, out);
    out->kind = "default";
    out->inside = inside;
    out->truncate = true;
    if (status == POSREF_OK && inside)
        status = read_type(r, layer, inside, out);
    if (status == POSREF_OK)
        status = read_lengths(r, m, layer, inside, out);
    if (status == POSREF_OK && inside)
        status = read_numbers(r, inside, out);
    if (status == POSREF_OK && inside)
        status = read_list(r, inside, "short_factor", &out->short_factor);
    if (status == POSREF_OK && inside)
        status = read_list(r, inside, "long_factor", &out->long_factor);
    if (status == POSREF_OK && inside)
        status = read_list(r, inside, "mrope_section", &out->mrope_section);
    if (status == POSREF_OK && inside)
        status = resolve_bool(r, inside, "mrope_interleaved", &out->mrope_interleaved, &given);
    return status == POSREF_OK ? resolve_own_read(r, m, out) : status;
}
