/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from a GGUF file's metadata what decides the order of q and k rows. */
#include "harness/weights.h"

#include <string.h>

#define MAX_SIZE (1 << 24)

/* architecture.key as a size; of a per-layer list the first entry that is not 0. */
static int get_size(const struct posref_gguf *gguf, const char *family, const char *key)
{
    char full[128];
    int64_t value = 0;
    snprintf(full, sizeof full, "%s.%s", family, key);
    for (uint64_t i = 0; i < POSREF_WEIGHTS_MAX_LAYERS && value == 0; i++)
        if (!posref_gguf_integer(&value, gguf, full, i))
            return 0;
    return value > 0 && value <= MAX_SIZE ? (int)value : 0;
}

static bool is_list(const struct posref_gguf *gguf, const char *family, const char *key)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", family, key);
    const struct posref_gguf_pair *pair = posref_gguf_find(gguf, full);
    return pair && pair->is_array;
}

void posref_weights_read_gguf(struct posref_weights_geometry *out, const struct posref_gguf *gguf)
{
    struct posref_weights_geometry g = {.source = "GGUF metadata", .gguf = true};
    size_t length = 0;
    const char *family = posref_gguf_string(gguf, "general.architecture", &length);
    if (family && length < sizeof g.family)
        memcpy(g.family, family, length);
    g.n_heads = get_size(gguf, g.family, "attention.head_count");
    g.n_kv_heads = get_size(gguf, g.family, "attention.head_count_kv");
    g.head_dim = get_size(gguf, g.family, "attention.key_length");
    g.rotary_dim = get_size(gguf, g.family, "rope.dimension_count");
    g.kv_lora = get_size(gguf, g.family, "attention.kv_lora_rank");
    int width = get_size(gguf, g.family, "embedding_length");
    int latent_length = get_size(gguf, g.family, "attention.key_length_mla");
    g.own = true;
    g.heads_vary = is_list(gguf, g.family, "attention.head_count") ||
                   is_list(gguf, g.family, "attention.head_count_kv");
    if (g.n_kv_heads == 0)
        g.n_kv_heads = g.n_heads;
    if (g.head_dim == 0 && g.n_heads > 0 && width % g.n_heads == 0)
        g.head_dim = width / g.n_heads;
    if (g.kv_lora > 0 && g.rotary_dim > 0) {
        g.head_dim = latent_length > 0 ? latent_length : g.head_dim;
        g.latent = g.head_dim > g.rotary_dim;
        g.nope_dim = g.latent ? g.head_dim - g.rotary_dim : 0;
        g.rotary_first = g.nope_dim;
    }
    g.gated_q = strcmp(g.family, "qwen3next") == 0 || strncmp(g.family, "qwen35", 6) == 0;
    posref_weights_know_family(&g);
    *out = g;
}
