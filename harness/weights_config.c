/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from a Hugging Face config.json what decides the order of q and k rows: heads, sizes,
 * rotary rows, the layout of a fused projection, layers without rotation. */
#include "harness/weights.h"

#include <jansson.h>
#include <string.h>

#define MAX_CONFIG_BYTES (UINT64_C(16) << 20)
#define MAX_SIZE (1 << 24)

struct reading {
    const char *path;
    struct posref_error *err;
    const json_t *root, *model; /* model: the language model's own object */
};

static enum posref_status bad_key(const struct reading *r, const char *key, const char *text)
{
    return posref_fail(r->err, POSREF_BAD_INPUT, posref_path_tail(r->path), "%s %s", key, text);
}

/* The first key of a NULL-terminated list that is there and not null. */
static const json_t *get(const struct reading *r, const char *const *keys, const char **key)
{
    for (; *keys; keys++) {
        const json_t *value = json_object_get(r->model, *keys);
        if (value && !json_is_null(value)) {
            *key = *keys;
            return value;
        }
    }
    return NULL;
}

static enum posref_status get_size(const struct reading *r, int *out, const char *const *keys)
{
    const char *key;
    const json_t *value = get(r, keys, &key);
    if (!value)
        return POSREF_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > MAX_SIZE)
        return bad_key(r, key, "is no positive integer");
    *out = (int)json_integer_value(value);
    return POSREF_OK;
}

static bool is_true(const struct reading *r, const char *key)
{
    return json_is_true(json_object_get(r->model, key));
}

/* The language model's own object, in configs that nest it. */
static const json_t *find_model(const json_t *root)
{
    static const char *const nests[] = {"text_config", "language_config", "llm_config",
                                        "thinker_config"};
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        const json_t *inner = json_object_get(root, nests[i]);
        if (json_is_object(inner))
            return find_model(inner);
    }
    return root;
}

static enum posref_status read_heads(const struct reading *r, struct posref_weights_geometry *g)
{
    static const char *const heads[] = {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                        NULL};
    static const char *const kv[] = {"num_key_value_heads", "n_head_kv", "num_kv_heads", NULL};
    static const char *const groups[] = {"multi_query_group_num", NULL};
    static const char *const dims[] = {"head_dim", "kv_channels", "attention_head_dim", NULL};
    static const char *const widths[] = {"hidden_size", "n_embd", "d_model", NULL};
    int width = 0;
    enum posref_status status = get_size(r, &g->n_heads, heads);
    if (status == POSREF_OK)
        status = get_size(r, &g->n_kv_heads, kv);
    if (status == POSREF_OK && is_true(r, "multi_query_attention"))
        status = get_size(r, &g->n_kv_heads, groups);
    if (status == POSREF_OK)
        status = get_size(r, &g->head_dim, dims);
    if (status == POSREF_OK)
        status = get_size(r, &width, widths);
    const json_t *nested = json_object_get(json_object_get(r->model, "attn_config"), "kv_n_heads");
    if (g->n_kv_heads == 0 && json_is_integer(nested) && json_integer_value(nested) > 0 &&
        json_integer_value(nested) <= MAX_SIZE)
        g->n_kv_heads = (int)json_integer_value(nested);
    if (g->head_dim == 0 && g->n_heads > 0 && width % g->n_heads == 0)
        g->head_dim = width / g->n_heads;
    return status;
}

static enum posref_status read_latent(const struct reading *r, struct posref_weights_geometry *g)
{
    static const char *const rope[] = {"qk_rope_head_dim", NULL};
    static const char *const nope[] = {"qk_nope_head_dim", NULL};
    static const char *const lora[] = {"kv_lora_rank", NULL};
    int rope_dim = 0;
    enum posref_status status = get_size(r, &rope_dim, rope);
    if (status == POSREF_OK)
        status = get_size(r, &g->nope_dim, nope);
    if (status == POSREF_OK)
        status = get_size(r, &g->kv_lora, lora);
    if (status == POSREF_OK && rope_dim > 0) {
        g->latent = true;
        g->rotary_dim = rope_dim;
        g->rotary_first = g->nope_dim;
        g->head_dim = g->nope_dim + rope_dim;
    }
    return status;
}

static enum posref_status read_rotary(const struct reading *r, struct posref_weights_geometry *g)
{
    static const char *const dims[] = {"rotary_dim", "rotary_ndims", NULL};
    static const char *const fractions[] = {"partial_rotary_factor", "rotary_pct",
                                            "rotary_percentage", "rotary_emb_fraction", NULL};
    const char *key = "rope_parameters.partial_rotary_factor";
    enum posref_status status = get_size(r, &g->rotary_dim, dims);
    if (status != POSREF_OK)
        return status;
    const json_t *value = get(r, fractions, &key);
    if (!value)
        value = json_object_get(json_object_get(r->model, "rope_parameters"),
                                "partial_rotary_factor");
    if (!value || json_is_null(value))
        return POSREF_OK;
    double fraction = json_number_value(value);
    if (!json_is_number(value) || !(fraction > 0) || fraction > 1)
        return bad_key(r, key, "is no number in (0, 1]");
    if (g->rotary_dim == 0)
        g->rotary_fraction = fraction;
    return POSREF_OK;
}

/* Falcon's three layouts, and families that put a gate beside each q head. */
static void read_family(const struct reading *r, struct posref_weights_geometry *g)
{
    const char *type = json_string_value(json_object_get(r->model, "model_type"));
    if (!type)
        type = json_string_value(json_object_get(r->root, "model_type"));
    snprintf(g->family, sizeof g->family, "%s", type ? type : "");
    if (strcmp(g->family, "falcon") == 0) {
        if (is_true(r, "new_decoder_architecture")) {
            g->layout = POSREF_LAYOUT_PER_GROUP;
        } else if (is_true(r, "multi_query")) {
            g->layout = POSREF_LAYOUT_CONCAT;
            g->n_kv_heads = 1;
        } else {
            g->n_kv_heads = g->n_heads;
        }
        if (is_true(r, "alibi"))
            g->order = POSREF_ORDER_NONE;
    }
    g->gated_q = is_true(r, "attn_output_gate") || strcmp(g->family, "qwen3_next") == 0;
}

/* no_rope_layers is 1 where a layer does rotate; an interval leaves every n-th out. */
static void read_unrotated(const struct reading *r, struct posref_weights_geometry *g)
{
    const json_t *list = json_object_get(r->model, "no_rope_layers");
    const json_t *interval = json_object_get(r->model, "no_rope_layer_interval");
    const json_t *types = json_object_get(r->model, "layer_types");
    bool full_is_plain = strcmp(g->family, "cohere2") == 0 || strcmp(g->family, "exaone4") == 0;
    json_int_t step = json_is_integer(interval) ? json_integer_value(interval) : 0;
    if (step <= 0 && (strncmp(g->family, "llama4", 6) == 0 || strcmp(g->family, "smollm3") == 0))
        step = 4;
    for (size_t i = 0; i < POSREF_WEIGHTS_MAX_LAYERS; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (json_array_size(list) > 0)
            g->no_rope[i] = json_is_integer(json_array_get(list, i)) &&
                            json_integer_value(json_array_get(list, i)) == 0;
        else
            g->no_rope[i] = step > 0 && (json_int_t)(i + 1) % step == 0;
        if (full_is_plain && type && strcmp(type, "full_attention") == 0)
            g->no_rope[i] = true;
    }
}

static enum posref_status read_all(const struct reading *r, struct posref_weights_geometry *g)
{
    enum posref_status status = read_heads(r, g);
    if (status == POSREF_OK)
        status = read_rotary(r, g);
    if (status == POSREF_OK)
        status = read_latent(r, g);
    if (status != POSREF_OK)
        return status;
    read_family(r, g);
    read_unrotated(r, g);
    if (g->n_kv_heads == 0)
        g->n_kv_heads = g->n_heads;
    posref_weights_know_family(g);
    g->source = "config.json";
    return POSREF_OK;
}

enum posref_status posref_weights_read_config(struct posref_weights_geometry *out,
                                              const char *path, struct posref_error *err)
{
    struct posref_mapping bytes;
    struct posref_weights_geometry geometry = {.source = ""};
    json_error_t error = {.text = "larger than 16 MiB"};
    json_t *root = NULL;
    enum posref_status status = posref_mapping_open(&bytes, path, err);
    if (status != POSREF_OK)
        return status;
    if (bytes.size_bytes <= MAX_CONFIG_BYTES)
        root = json_loadb((const char *)bytes.data, (size_t)bytes.size_bytes,
                          JSON_REJECT_DUPLICATES, &error);
    posref_mapping_close(&bytes);
    if (!json_is_object(root)) {
        json_decref(root);
        if (root)
            return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(path), "not a JSON object");
        return posref_fail(err, POSREF_BAD_INPUT, posref_path_tail(path), "line %d: %.160s",
                           error.line, error.text);
    }
    struct reading r = {.path = path, .err = err, .root = root, .model = find_model(root)};
    status = read_all(&r, &geometry);
    json_decref(root);
    if (status == POSREF_OK)
        *out = geometry;
    return status;
}
