/* SPDX-License-Identifier: Apache-2.0 */
/* From the parameters that were read to a spec, scaling by scaling, by Hugging Face's rules. */
#include "vectors/resolve.h"

#include <math.h>
#include <string.h>

#define LONGEST 2147483648.0 /* of seq_len */

static enum posref_status missing(struct resolve *r, const struct resolve_rope *rope,
                                  const char *key)
{
    char path[128];
    snprintf(path, sizeof path, "%s%s", rope->inside ? rope->inside->path : "", key);
    return posref_fail(r->err, POSREF_BAD_INPUT, path, "is missing; %s needs it", rope->kind);
}

/* A list that posref refuses (too long, or an entry out of range) is the config's fault. */
static enum posref_status set_list(struct resolve *r, struct resolve_layer *layer,
                                   const struct resolve_rope *rope, const char *key,
                                   const json_t *list)
{
    char path[128];
    snprintf(path, sizeof path, "%s%s", rope->inside->path, key);
    if (resolve_set_list(&layer->spec, key, list))
        return POSREF_OK;
    return posref_fail(r->err, POSREF_BAD_INPUT, path, "%zu numbers, one of them out of range or "
                       "too many for a head", json_array_size(list));
}

static void ignored(struct resolve *r, struct resolve_layer *layer, const struct resolve_rope *rope,
                    bool given, const char *key)
{
    if (given)
        resolve_say(r, layer, "ignored", key, "%s takes no %s", rope->kind, key);
}

/* The original length, by Hugging Face's rule: where no key says it, the model's own maximum. */
static enum posref_status set_original(struct resolve *r, struct resolve_layer *layer,
                                       const struct resolve_rope *rope)
{
    double length = rope->has_original ? rope->original : rope->max_position;
    if (!rope->has_original && !rope->has_max)
        return missing(r, rope, "original_max_position_embeddings");
    if (!rope->has_original)
        resolve_say(r, layer, "default", "original_max_position_embeddings", "missing; Hugging "
                    "Face takes max_position_embeddings, %.15g", length);
    resolve_set_number(&layer->spec, "original_max_position_embeddings", length);
    if (rope->has_max && rope->has_original && rope->has_factor &&
        strcmp(rope->kind, "yarn") == 0 && rope->max_position / length != rope->factor &&
        rope->max_position != length)
        resolve_say(r, layer, "contradiction", "factor", "%.15g, but max_position_embeddings over "
                    "the original length is %.15g; the factor is used", rope->factor,
                    rope->max_position / length);
    return POSREF_OK;
}

static enum posref_status set_factor(struct resolve *r, struct resolve_layer *layer,
                                     const struct resolve_rope *rope)
{
    double factor = rope->factor;
    if (!rope->has_factor && strcmp(rope->kind, "yarn") == 0 && rope->inside &&
        json_is_null(json_object_get(rope->inside->at, "factor")) && rope->has_original &&
        rope->has_max) {
        factor = rope->max_position / rope->original;
        resolve_say(r, layer, "default", "factor", "null; Hugging Face takes "
                    "max_position_embeddings over the original length, %.15g", factor);
    } else if (!rope->has_factor) {
        return missing(r, rope, "factor");
    }
    resolve_set_number(&layer->spec, "factor", factor);
    return POSREF_OK;
}

/* `beta or default`: Hugging Face takes 0 for missing. */
static void set_beta(struct resolve *r, struct resolve_layer *layer, const char *key, bool given,
                     double value, double otherwise)
{
    if (given && value > 0) {
        resolve_set_number(&layer->spec, key, value);
        return;
    }
    resolve_set_number(&layer->spec, key, otherwise);
    resolve_say(r, layer, "default", key, "%s; Hugging Face takes %.15g",
                given ? "0 counts as missing" : "missing", otherwise);
}

static enum posref_status set_yarn(struct resolve *r, struct resolve_layer *layer,
                                   const struct resolve_rope *rope)
{
    enum posref_status status = set_factor(r, layer, rope);
    if (status == POSREF_OK)
        status = set_original(r, layer, rope);
    if (status != POSREF_OK)
        return status;
    set_beta(r, layer, "beta_fast", rope->has_beta_fast, rope->beta_fast, 32);
    set_beta(r, layer, "beta_slow", rope->has_beta_slow, rope->beta_slow, 1);
    resolve_set(&layer->spec, "truncate", rope->truncate ? "true" : "false");
    if (rope->has_attention_factor)
        resolve_set_number(&layer->spec, "attention_factor", rope->attention_factor);
    if (rope->has_mscale)
        resolve_set_number(&layer->spec, "mscale", rope->mscale);
    if (rope->has_mscale_all_dim)
        resolve_set_number(&layer->spec, "mscale_all_dim", rope->mscale_all_dim);
    if (rope->has_attn_factor)
        resolve_say(r, layer, "ignored", "attn_factor", "Hugging Face reads attention_factor; "
                    "vLLM and llama.cpp know attn_factor");
    if (rope->has_attention_factor && rope->has_mscale && rope->has_mscale_all_dim)
        resolve_say(r, layer, "ignored", "mscale", "attention_factor replaces what mscale and "
                    "mscale_all_dim would give");
    return POSREF_OK;
}

static enum posref_status set_llama3(struct resolve *r, struct resolve_layer *layer,
                                     const struct resolve_rope *rope)
{
    enum posref_status status = set_factor(r, layer, rope);
    if (status == POSREF_OK)
        status = set_original(r, layer, rope);
    if (status == POSREF_OK && !rope->has_low)
        status = missing(r, rope, "low_freq_factor");
    if (status == POSREF_OK && !rope->has_high)
        status = missing(r, rope, "high_freq_factor");
    if (status != POSREF_OK)
        return status;
    resolve_set_number(&layer->spec, "low_freq_factor", rope->low_freq_factor);
    resolve_set_number(&layer->spec, "high_freq_factor", rope->high_freq_factor);
    return POSREF_OK;
}

static struct resolve_regime *add_regime(struct resolve_layer *layer, double seq_len)
{
    struct resolve_regime *regime = &layer->regime[layer->n_regimes++];
    regime->spec = layer->spec;
    resolve_set_number(&regime->spec, "seq_len", seq_len);
    return regime;
}

/* Tables for up to the original length, and the long ones behind it. */
static enum posref_status set_longrope(struct resolve *r, struct resolve_layer *layer,
                                       const struct resolve_rope *rope)
{
    enum posref_status status = set_original(r, layer, rope);
    double length = rope->has_original ? rope->original : rope->max_position, factor = rope->factor;
    if (status == POSREF_OK && !rope->short_factor)
        status = missing(r, rope, "short_factor");
    if (status == POSREF_OK && !rope->long_factor)
        status = missing(r, rope, "long_factor");
    if (status == POSREF_OK && !rope->has_factor && !rope->has_max)
        status = missing(r, rope, "factor");
    if (status != POSREF_OK)
        return status;
    if (!rope->has_factor) {
        factor = rope->max_position / length;
        resolve_say(r, layer, "default", "factor", "missing; Hugging Face takes "
                    "max_position_embeddings over the original length, %.15g", factor);
    }
    resolve_set_number(&layer->spec, "factor", factor);
    if (rope->has_attention_factor)
        resolve_set_number(&layer->spec, "attention_factor", rope->attention_factor);
    status = set_list(r, layer, rope, "short_factor", rope->short_factor);
    if (status == POSREF_OK)
        status = set_list(r, layer, rope, "long_factor", rope->long_factor);
    if (status != POSREF_OK)
        return status;
    resolve_set_number(&layer->spec, "seq_len", length);
    struct resolve_regime *regime = add_regime(layer, length + 1);
    snprintf(regime->when, sizeof regime->when, "more than %.15g tokens", length);
    return POSREF_OK;
}

/* A base that grows with the length, from the model's own maximum on. */
static void set_growing(struct resolve *r, struct resolve_layer *layer,
                        const struct resolve_rope *rope)
{
    double length = rope->max_position;
    ignored(r, layer, rope, rope->has_inside, "original_max_position_embeddings");
    resolve_set_number(&layer->spec, "original_max_position_embeddings", length);
    resolve_set_number(&layer->spec, "seq_len", length);
    for (int times = 2; times <= 4 && times * length <= LONGEST; times *= 2) {
        struct resolve_regime *regime = add_regime(layer, times * length);
        snprintf(regime->when, sizeof regime->when, "%.15g tokens (the base grows with the length)",
                 times * length);
    }
    resolve_say(r, layer, "info", "rope_type", "above %.15g tokens the base grows with the longest "
                "sequence that was met; keys already in the cache keep their rotation", length);
}

static enum posref_status set_dynamic(struct resolve *r, struct resolve_layer *layer,
                                      const struct resolve_rope *rope)
{
    if (rope->has_alpha) { /* Hunyuan: a constant, in spite of the name */
        resolve_set(&layer->spec, "scaling", "ntk");
        resolve_set_number(&layer->spec, "factor", rope->alpha);
        ignored(r, layer, rope, rope->has_factor, "factor");
        resolve_say(r, layer, "info", "alpha", "dynamic with alpha is ntk with factor alpha: the "
                    "length changes nothing");
        return POSREF_OK;
    }
    enum posref_status status = set_factor(r, layer, rope);
    if (status == POSREF_OK && !rope->has_max)
        status = missing(r, rope, "max_position_embeddings");
    if (status != POSREF_OK)
        return status;
    set_growing(r, layer, rope);
    return POSREF_OK;
}

/* The scaling that the parameters name; `layer` has the rest of its spec already. */
static enum posref_status set_scaling(struct resolve *r, struct resolve_layer *layer,
                                      const struct resolve_rope *rope)
{
    bool proportional = strcmp(rope->kind, "proportional") == 0; /* that is where pairs lie */
    const char *name = strcmp(rope->kind, "default") == 0 ? "none" : rope->kind;
    if (proportional)
        name = rope->has_factor ? "linear" : "none";
    if (!resolve_set(&layer->spec, "scaling", name))
        return posref_fail(r->err, POSREF_BAD_INPUT, "rope_type", "'%.40s' is no scaling that "
                           "is known", name);
    if (strcmp(name, "linear") == 0 || strcmp(name, "ntk") == 0)
        return set_factor(r, layer, rope);
    if (strcmp(name, "yarn") == 0)
        return set_yarn(r, layer, rope);
    if (strcmp(name, "llama3") == 0)
        return set_llama3(r, layer, rope);
    if (strcmp(name, "longrope") == 0)
        return set_longrope(r, layer, rope);
    if (strcmp(name, "dynamic") == 0)
        return set_dynamic(r, layer, rope);
    if (strcmp(name, "dynamic_alpha") == 0 && rope->has_max) {
        set_growing(r, layer, rope);
        return POSREF_OK;
    }
    if (strcmp(name, "none") != 0)
        return posref_fail(r->err, POSREF_BAD_INPUT, "rope_type", "'%.40s' is not read", name);
    if (!proportional)
        ignored(r, layer, rope, rope->has_factor, "factor");
    ignored(r, layer, rope, rope->has_attention_factor, "attention_factor");
    return POSREF_OK;
}

/* How many channels rotate, and where they are. */
static enum posref_status set_width(struct resolve *r, struct resolve_model *m,
                                    struct resolve_layer *layer, const struct resolve_rope *rope)
{
    bool proportional = strcmp(rope->kind, "proportional") == 0;
    int rotated = m->has_rotary_dim ? m->rotary_dim
                                    : (int)((double)m->head_dim * rope->partial);
    if (m->latent || proportional)
        rotated = m->head_dim;
    if (m->has_rotary_dim && rope->has_partial && rotated != (int)(m->head_dim * rope->partial))
        resolve_say(r, layer, "contradiction", "rotary_dim", "%d, but the partial factor gives %d; "
                    "rotary_dim is used", rotated, (int)(m->head_dim * rope->partial));
    if (rotated < 2 || rotated % 2 != 0 || rotated > m->head_dim)
        return posref_fail(r->err, POSREF_BAD_INPUT, m->has_rotary_dim ? "rotary_dim"
                           : "partial_rotary_factor", "%d of %d channels rotate; it must be an "
                           "even number, 2 at least", rotated, m->head_dim);
    resolve_set_number(&layer->spec, "dim", m->head_dim);
    if (proportional) {
        resolve_set(&layer->spec, "partial", "proportional");
        resolve_set_number(&layer->spec, "partial_rotary_factor", rope->partial);
        return POSREF_OK;
    }
    resolve_set_number(&layer->spec, "rotary_dim", rotated);
    return POSREF_OK;
}

static enum posref_status set_sections(struct resolve *r, struct resolve_layer *layer,
                                       const struct resolve_rope *rope)
{
    if (!rope->mrope_section)
        return POSREF_OK;
    resolve_set(&layer->spec, "mrope_interleaved", rope->mrope_interleaved ? "true" : "false");
    return set_list(r, layer, rope, "mrope_section", rope->mrope_section);
}

/* What the same keys do beside the rotation: the specs do not have it, so it is said. */
static void say_beside(struct resolve *r, const struct resolve_model *m,
                       struct resolve_layer *layer, const struct resolve_rope *rope)
{
    if (m->latent)
        resolve_say(r, layer, "info", "qk_rope_head_dim", "the rotated part of a head stands apart "
                    "from the rest: dim is its width");
    if (m->family->traits & RESOLVE_MLA && strcmp(rope->kind, "yarn") == 0 &&
        rope->has_mscale_all_dim && rope->mscale_all_dim > 0)
        resolve_say(r, layer, "info", "mscale_all_dim", "the softmax scale is multiplied by "
                    "(1 + 0.1 %.15g ln factor)^2 beside the rotation", rope->mscale_all_dim);
}

enum posref_status resolve_rope_spec(struct resolve *r, struct resolve_model *m,
                                     struct resolve_layer *layer, const struct resolve_rope *rope)
{
    layer->has_spec = true;
    resolve_set(&layer->spec, "scheme", "rope");
    resolve_set(&layer->spec, "pairing", rope->pairing);
    resolve_set_number(&layer->spec, "base", rope->theta);
    if (m->family->traits & RESOLVE_INVERSE)
        resolve_set(&layer->spec, "direction", "inverse");
    enum posref_status status = set_width(r, m, layer, rope);
    if (status == POSREF_OK)
        status = set_scaling(r, layer, rope);
    if (status == POSREF_OK)
        status = set_sections(r, layer, rope);
    if (status != POSREF_OK)
        return status;
    resolve_own_spec(r, m, layer, rope);
    say_beside(r, m, layer, rope);
    return POSREF_OK;
}
