/* SPDX-License-Identifier: Apache-2.0 */
/* One model of a config: its sizes, which layers there are, and which dictionary of rope parameters
 * belongs to which. */
#include "vectors/resolve.h"

#include <string.h>

#define MAX_LAYERS 4096

static const char *const hidden[] = {"hidden_size", "n_embd", "d_model", "dim", NULL};
static const char *const heads[] = {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                    "encoder_attention_heads", NULL};
static const char *const layers_of[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                        NULL};

static enum posref_status read_head_dim(struct resolve *r, struct resolve_model *m)
{
    static const char *const names[] = {"head_dim", "kv_channels", "attention_head_dim", NULL};
    bool given = false, latent = false, has_hidden = false, has_heads = false, layers = false;
    int rope_dim = 0;
    enum posref_status status = resolve_whole_of(r, m->scope, hidden, 1, 1 << 24, &m->hidden_size,
                                                 &has_hidden);
    if (status == POSREF_OK)
        status = resolve_whole_of(r, m->scope, heads, 1, 65536, &m->n_heads, &has_heads);
    if (status == POSREF_OK)
        status = resolve_whole_of(r, m->scope, layers_of, 1, 65536, &m->n_hidden_layers, &layers);
    if (status == POSREF_OK)
        status = resolve_whole_of(r, m->scope, names, 1, POSREF_MAX_DIM, &m->head_dim, &given);
    if (status == POSREF_OK)
        status = resolve_whole(r, m->scope, "qk_rope_head_dim", 2, POSREF_MAX_DIM, &rope_dim,
                               &latent);
    if (status != POSREF_OK)
        return status;
    m->n_hidden_layers = layers ? m->n_hidden_layers : -1;
    m->latent = latent;
    if (latent) {
        m->head_dim = rope_dim;
        return POSREF_OK;
    }
    if (given) {
        if (has_hidden && has_heads && m->head_dim * m->n_heads != m->hidden_size)
            resolve_say(r, NULL, "info", "head_dim", "%d is given, and is not %d / %d", m->head_dim,
                        m->hidden_size, m->n_heads);
        return POSREF_OK;
    }
    if (m->family->kind != RESOLVE_ROPE)
        return POSREF_OK;
    m->head_dim = resolve_family_head_dim(m->family->name, has_hidden || has_heads);
    if (m->head_dim) {
        resolve_say(r, NULL, "default", "head_dim", "missing; %d is what Hugging Face's class for "
                    "the family takes", m->head_dim);
        return POSREF_OK;
    }
    if (!has_hidden || !has_heads) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", m->scope->path, has_hidden ? "num_attention_heads"
                 : "hidden_size");
        return posref_fail(r->err, POSREF_BAD_INPUT, path, "is missing, and so is head_dim");
    }
    m->head_dim = m->hidden_size / m->n_heads;
    if (m->hidden_size % m->n_heads != 0)
        resolve_say(r, NULL, "contradiction", "hidden_size", "%d is no multiple of %d heads; "
                    "Hugging Face rounds down to %d", m->hidden_size, m->n_heads, m->head_dim);
    if (m->head_dim < 2)
        return posref_fail(r->err, POSREF_BAD_INPUT, "hidden_size", "%d over %d heads leaves %d",
                           m->hidden_size, m->n_heads, m->head_dim);
    return POSREF_OK;
}

/* Whether a dictionary holds one dictionary a layer type. */
static bool is_layered(const json_t *object)
{
    const char *key;
    json_t *value;
    if (json_object_size(object) == 0)
        return false;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
        if (!json_is_object(value) && !json_is_null(value))
            return false;
    return true;
}

static const json_t *rope_object(struct resolve *r, struct resolve_model *m, const char **key,
                                 bool *bad)
{
    static const char *const names[] = {"rope_parameters", "rope_scaling"};
    const json_t *found = NULL;
    for (int i = 0; i < 2 && !*bad; i++) {
        const json_t *value = resolve_get(m->scope, names[i]);
        if (!value)
            continue;
        if (!json_is_object(value)) {
            char path[128];
            snprintf(path, sizeof path, "%s%s", m->scope->path, names[i]);
            enum posref_status status = posref_fail(r->err, POSREF_BAD_INPUT, path,
                                                    "must be an object or null");
            (void)status;
            *bad = true;
        } else if (found && !json_equal((json_t *)(uintptr_t)found, (json_t *)(uintptr_t)value)) {
            resolve_say(r, NULL, "contradiction", names[i], "rope_parameters says otherwise; "
                        "Hugging Face takes rope_scaling");
        }
        if (!*bad && json_object_size(value) > 0) {
            found = value;
            *key = names[i];
        }
    }
    return found;
}

static int count_type(const json_t *types, const char *name)
{
    int n = 0;
    size_t i;
    json_t *value;
    json_array_foreach(types, i, value)
        n += json_is_string(value) && strcmp(json_string_value(value), name) == 0;
    return n;
}

/* One layer type from one dictionary (which may be NULL). base > 0: its own base. */
static enum posref_status add_rope(struct resolve *r, struct resolve_model *m,
                                   const char *applies_to, int n, struct resolve_scope *inside,
                                   double base, bool layered)
{
    struct resolve_rope rope = {.layered = layered, .theta = base, .has_theta = base > 0};
    struct resolve_layer *layer = resolve_add(r, m, applies_to, n);
    if (!layer)
        return POSREF_BAD_INPUT;
    enum posref_status status = resolve_rope_read(r, m, layer, inside, &rope);
    if (status == POSREF_OK)
        status = resolve_rope_spec(r, m, layer, &rope);
    if (status == POSREF_OK)
        status = posref_spec_complete(&layer->spec, r->err);
    for (int i = 0; i < layer->n_regimes && status == POSREF_OK; i++)
        status = posref_spec_complete(&layer->regime[i].spec, r->err);
    if (status == POSREF_OK)
        status = resolve_runtimes(r, m, layer, &rope);
    return status;
}

/* Layers that do not rotate: from no_rope_layers (1 rotates), or every so many. */
static enum posref_status count_unrotated(struct resolve *r, struct resolve_model *m, int *out)
{
    const json_t *list = resolve_get(m->scope, "no_rope_layers");
    int step = 0, n = 0;
    bool given = false;
    enum posref_status status = resolve_whole(r, m->scope, "no_rope_layer_interval", 1, MAX_LAYERS,
                                              &step, &given);
    *out = 0;
    if (status != POSREF_OK)
        return status;
    if (list && (!json_is_array(list) || json_array_size(list) > MAX_LAYERS))
        return posref_fail(r->err, POSREF_BAD_INPUT, "no_rope_layers", "must be a list of 0 and 1");
    if (json_array_size(list) > 0) {
        for (size_t i = 0; i < json_array_size(list); i++)
            n += json_number_value(json_array_get(list, i)) == 0; /* exact: 0 or 1 */
        *out = n;
        return POSREF_OK;
    }
    const json_t *cross = resolve_get(m->scope, "cross_attention_layers"); /* Llama 3.2 vision */
    *out = (int)json_array_size(cross);
    if (!given && !(m->family->traits & RESOLVE_EVERY_4TH_NOPE))
        return POSREF_OK;
    if (!given) {
        step = 4;
        resolve_say(r, NULL, "default", "no_rope_layer_interval", "missing; 4 is what Hugging "
                    "Face's class for the family takes");
    }
    *out = m->n_hidden_layers > 0 ? m->n_hidden_layers / step : -1;
    return POSREF_OK;
}

static enum posref_status add_layered(struct resolve *r, struct resolve_model *m,
                                      struct resolve_scope *outer, const json_t *types)
{
    const char *name;
    json_t *value;
    enum posref_status status = POSREF_OK;
    json_object_foreach((json_t *)(uintptr_t)outer->at, name, value) {
        int n = types ? count_type(types, name) : -1;
        int head_dim = m->head_dim, own = 0;
        bool given = false;
        if (!json_is_object(value))
            continue;
        if (types && n == 0)
            resolve_say(r, NULL, "contradiction", name, "has rope parameters, and no layer is of "
                        "that type");
        struct resolve_scope *inside = resolve_enter(r, outer, name, value);
        if (!inside)
            return POSREF_BAD_INPUT;
        if (strcmp(name, "full_attention") == 0) /* Gemma 4: global heads are wider */
            status = resolve_whole(r, m->scope, "global_head_dim", 2, POSREF_MAX_DIM, &own, &given);
        m->head_dim = given ? own : head_dim;
        if (status == POSREF_OK)
            status = add_rope(r, m, name, n, inside, 0, true);
        m->head_dim = head_dim;
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

/* Sliding layers with a base of their own: Gemma 3's and ModernBERT's older keys. */
static enum posref_status add_local(struct resolve *r, struct resolve_model *m,
                                    struct resolve_scope *inside, const json_t *types,
                                    bool *done)
{
    static const char *const names[] = {"rope_local_base_freq", "local_rope_theta",
                                        "swa_rope_theta", NULL};
    double base = 0;
    bool given = false;
    int sliding = types ? count_type(types, "sliding_attention") : -1;
    enum posref_status status = resolve_number_of(r, m->scope, names, 1.0000001, 1e12, &base,
                                                  &given);
    bool plain = m->family->traits & RESOLVE_LOCAL_PLAIN;
    bool own = m->family->traits & RESOLVE_LOCAL_10000;
    /* Without a window every layer rotates, a full one too. */
    bool nope = m->family->traits & RESOLVE_FULL_IS_NOPE &&
                !json_is_null(json_object_get(m->scope->at, "sliding_window"));
    *done = status != POSREF_OK || given || own || (plain && inside) || (nope && sliding != 0);
    if (status != POSREF_OK || !*done)
        return status;
    int full = types ? count_type(types, "full_attention") : -1;
    if (nope)
        status = resolve_none(r, m, "full_attention", full, "",
                              "layers of full attention do not rotate");
    else
        status = add_rope(r, m, "full_attention", full, inside, 0, false);
    if (status != POSREF_OK)
        return status;
    if (own && !given)
        base = 10000;
    status = add_rope(r, m, "sliding_attention", sliding, nope ? inside : NULL, base, false);
    if (status == POSREF_OK && own && !given)
        resolve_say(r, &r->layer[r->n_layers - 1], "default", names[0], "missing; 10000 is what "
                    "Hugging Face's class for the family takes");
    if (status == POSREF_OK && plain && inside)
        resolve_say(r, &r->layer[r->n_layers - 1], "info", "rope_scaling", "sliding layers are not "
                    "scaled");
    return status;
}

enum posref_status resolve_rope_layers(struct resolve *r, struct resolve_model *m)
{
    const char *key = "";
    bool bad = false, done = false;
    struct resolve_scope *inside = NULL;
    const json_t *types = resolve_get(m->scope, "layer_types");
    const json_t *object = rope_object(r, m, &key, &bad);
    int unrotated = 0;
    if (bad)
        return POSREF_BAD_INPUT;
    if (types && (!json_is_array(types) || json_array_size(types) > MAX_LAYERS))
        return posref_fail(r->err, POSREF_BAD_INPUT, "layer_types", "must be a list of at most %d",
                           MAX_LAYERS);
    if (object && !(inside = resolve_enter(r, m->scope, key, object)))
        return POSREF_BAD_INPUT;
    if (object && is_layered(object))
        return add_layered(r, m, inside, types);
    enum posref_status status = count_unrotated(r, m, &unrotated);
    if (status == POSREF_OK)
        status = add_local(r, m, inside, types, &done);
    if (status != POSREF_OK || done)
        return status;
    int linear = types ? count_type(types, "linear_attention") + count_type(types, "conv") +
                             count_type(types, "mamba") : 0;
    int rotated = m->n_hidden_layers;
    if (rotated > 0)
        rotated -= linear + (unrotated > 0 ? unrotated : 0);
    status = add_rope(r, m, unrotated || linear ? "rotated" : "all", rotated, inside, 0, false);
    if (status == POSREF_OK && unrotated)
        status = resolve_own_nope(r, m, unrotated);
    if (status == POSREF_OK && linear)
        status = resolve_none(r, m, "linear_attention", linear, "", "these layers know no "
                              "positions");
    return status;
}

/* GPT-J's and CodeGen's classes rotate 64 channels where the key is missing; null means all. */
static enum posref_status read_rotary_dim(struct resolve *r, struct resolve_model *m)
{
    static const char *const rotary[] = {"rotary_dim", "rotary_ndims", NULL};
    const char *name = m->family->name;
    enum posref_status status = resolve_whole_of(r, m->scope, rotary, 1, POSREF_MAX_DIM,
                                                 &m->rotary_dim, &m->has_rotary_dim);
    if (status != POSREF_OK || m->has_rotary_dim || json_object_get(m->scope->at, rotary[0]) ||
        (strcmp(name, "gptj") != 0 && strcmp(name, "codegen") != 0))
        return status;
    m->rotary_dim = 64;
    m->has_rotary_dim = true;
    resolve_say(r, NULL, "default", rotary[0], "missing; 64 is what Hugging Face's class for the "
                "family takes");
    return POSREF_OK;
}

/* position_embedding_type may say that a family rotates which else adds a table (ESM, Jina), or
 * that one of rotation does not (Granite). Baichuan's larger models have ALiBi and no such key. */
static const struct resolve_family *choose(struct resolve *r, const struct resolve_scope *scope,
                                           const struct resolve_family *known)
{
    static const struct resolve_family alibi = {"", RESOLVE_ALIBI, "", 0, 1, 0};
    static const struct resolve_family rotary = {"", RESOLVE_ROPE, "half", 10000, 1,
                                                 RESOLVE_HF_ONLY};
    const char *type = json_string_value(json_object_get(scope->at, "position_embedding_type"));
    double width = json_number_value(json_object_get(scope->at, "hidden_size"));
    if (strcmp(known->name, "baichuan") == 0 && width > 4096) {
        resolve_say(r, NULL, "info", "hidden_size", "more than 4096: Baichuan 13B, whose class has "
                    "ALiBi");
        return &alibi;
    }
    if (!type || (known->kind != RESOLVE_ROPE && known->kind != RESOLVE_LEARNED))
        return known;
    if (known->kind == RESOLVE_LEARNED && strcmp(type, "rotary") == 0)
        return &rotary;
    return known->kind == RESOLVE_ROPE && strcmp(type, "alibi") == 0 ? &alibi : known;
}

static enum posref_status resolve_rotary(struct resolve *r, struct resolve_model *m)
{
    static const char *const idle[] = {"rope_theta", "rope_scaling", "rope_parameters",
                                       "max_position_embeddings"};
    const char *key = "position_embedding_type", *type = NULL;
    enum posref_status status = resolve_string(r, m->scope, key, &type);
    if (status != POSREF_OK)
        return status;
    if (type && strcmp(type, "nope") == 0) {
        for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
            resolve_get(m->scope, idle[i]);
        return resolve_none(r, m, "all", m->n_hidden_layers, key, "nope: the layers do not rotate, "
                            "whatever rope_theta and its kin say");
    }
    if (type && strncmp(type, "rope", 4) != 0 && strncmp(type, "rotary", 6) != 0)
        resolve_say(r, NULL, "ignored", key, "'%.40s': the family rotates all the same", type);
    return resolve_rope_layers(r, m);
}

enum posref_status resolve_model(struct resolve *r, struct resolve_scope *scope,
                                 const char *family, const char *prefix)
{
    static const struct resolve_family unknown = {"", RESOLVE_ROPE, "half", 0, 1, 0};
    struct resolve_model m = {.scope = scope, .n_hidden_layers = -1};
    const struct resolve_family *known = resolve_family_find(family);
    m.family_known = known != NULL;
    m.family = choose(r, scope, known ? known : &unknown);
    snprintf(m.prefix, sizeof m.prefix, "%s", prefix);
    if (!known)
        resolve_say(r, NULL, "unknown", "model_type", "'%.60s' is not known here: halves are "
                    "paired as in most of Hugging Face's code, and defaults are the usual ones",
                    family ? family : "");
    enum posref_status status =
        m.family->kind == RESOLVE_SWIN ? POSREF_OK : read_head_dim(r, &m); /* lists there */
    if (status == POSREF_OK)
        status = read_rotary_dim(r, &m);
    if (status != POSREF_OK)
        return status;
    return m.family->kind == RESOLVE_ROPE ? resolve_rotary(r, &m) : resolve_other(r, &m);
}
