/* SPDX-License-Identifier: Apache-2.0 */
/* Families that add a table to the embeddings, learned or of sines, and BERT's relative keys. */
#include "vectors/resolve.h"

#include <string.h>

static const char *const rows_of[] = {"max_position_embeddings", "n_positions", "n_ctx", NULL};

/* The row of position 0: Hugging Face's classes add 2, or count from the padding's row. */
static enum posref_status first_row(struct resolve *r, struct resolve_model *m,
                                    struct resolve_layer *layer, int *out)
{
    bool given = false;
    int pad = 1;
    *out = m->family->traits & RESOLVE_ROW_OFFSET_2 ? 2 : 0;
    if (!(m->family->traits & RESOLVE_ROW_AFTER_PAD))
        return POSREF_OK;
    enum posref_status status = resolve_whole(r, m->scope, "pad_token_id", 0, 1 << 20, &pad,
                                              &given);
    if (status != POSREF_OK)
        return status;
    if (!given)
        resolve_say(r, layer, "default", "pad_token_id", "missing; 1 is what Hugging Face's class "
                    "for the family takes");
    *out = pad + 1;
    resolve_say(r, layer, "info", "pad_token_id", "positions count the tokens that are no padding, "
                "from row %d on; padding gets row %d", pad + 1, pad);
    return POSREF_OK;
}

/* Whether the token's embedding is multiplied by the square root of its width first. */
static enum posref_status set_scale(struct resolve *r, struct resolve_model *m,
                                    struct resolve_layer *layer)
{
    bool scaled = m->family->traits & RESOLVE_SCALED_INPUT, given = false;
    enum posref_status status = resolve_bool(r, m->scope, "scale_embedding", &scaled, &given);
    if (status != POSREF_OK)
        return status;
    if (!given && scaled)
        resolve_say(r, layer, "default", "scale_embedding", "missing; true is what Hugging Face's "
                    "class for the family takes");
    if (scaled)
        resolve_put(layer, "x_scale", "sqrt_dim");
    return POSREF_OK;
}

static enum posref_status add_table(struct resolve *r, struct resolve_model *m,
                                    const char *applies_to, const char *const *rows)
{
    int n_rows = 0, first = 0;
    bool given = false;
    struct resolve_layer *layer = resolve_add(r, m, applies_to, 1);
    if (!layer)
        return POSREF_BAD_INPUT;
    enum posref_status status = resolve_whole_of(r, m->scope, rows, 1, 1 << 24, &n_rows, &given);
    if (status == POSREF_OK)
        status = first_row(r, m, layer, &first);
    resolve_put(layer, "scheme", "learned");
    if (status == POSREF_OK)
        status = set_scale(r, m, layer);
    if (status != POSREF_OK)
        return status;
    while (given && !resolve_has(m->scope, *rows))
        rows++;
    if (given && m->family->traits & RESOLVE_ROW_AFTER_PAD)
        resolve_say(r, layer, "info", *rows, "a learned table of %d rows", n_rows);
    else if (given)
        resolve_say(r, layer, "info", *rows, "a learned table for %d positions%s", n_rows, first
                    ? "; its first two rows are not positions: position 0 is row 2" : "");
    if (m->hidden_size)
        resolve_put_number(layer, "dim", m->hidden_size);
    if (first)
        resolve_put_number(layer, "offset", first);
    resolve_finish(r, layer);
    return POSREF_OK;
}

/* BERT's relative_key and relative_key_query take the place of the table. */
static enum posref_status relative_key(struct resolve *r, struct resolve_model *m,
                                       const char *type)
{
    int rows = 512;
    bool given = false;
    struct resolve_layer *layer = resolve_add(r, m, "all", m->n_hidden_layers);
    if (!layer)
        return POSREF_BAD_INPUT;
    enum posref_status status = resolve_whole_of(r, m->scope, rows_of, 2, 65536, &rows, &given);
    if (status != POSREF_OK)
        return status;
    if (!given)
        resolve_say(r, layer, "default", rows_of[0], "missing; 512 is what Hugging Face's class "
                    "for the family takes");
    resolve_say(r, layer, "info", "position_embedding_type", "%s: nothing is added to the "
                "embeddings; distances beyond %d have no row", type, rows - 1);
    resolve_put(layer, "scheme", "shaw");
    if (m->hidden_size && m->n_heads)
        resolve_put_number(layer, "dim", m->hidden_size / m->n_heads);
    resolve_put_number(layer, "max_relative_position", rows - 1);
    resolve_put(layer, "position_embedding_type", type);
    resolve_finish(r, layer);
    return POSREF_OK;
}

enum posref_status resolve_learned(struct resolve *r, struct resolve_model *m, const char *type)
{
    if (type && strncmp(type, "relative_key", 12) == 0)
        return relative_key(r, m, type);
    if (type && strcmp(type, "absolute") != 0)
        return posref_fail(r->err, POSREF_BAD_INPUT, "position_embedding_type", "'%.40s' is not "
                           "known", type);
    return add_table(r, m, "embedding", rows_of);
}

enum posref_status resolve_sinusoidal(struct resolve *r, struct resolve_model *m)
{
    static const char *const decoder_rows[] = {"max_target_positions", NULL};
    static const char *const encoder_rows[] = {"max_source_positions", NULL};
    const char *name = m->family->name;
    bool whisper = strcmp(name, "whisper") == 0;
    bool whole = m->family->traits & RESOLVE_EXPONENT_D;
    int first = 0, frames = 0;
    bool given = false;
    if (m->hidden_size == 0)
        return posref_fail(r->err, POSREF_BAD_INPUT, "d_model", "is missing");
    struct resolve_layer *layer = resolve_add(r, m, whisper ? "encoder" : "embedding", 1);
    if (!layer)
        return POSREF_BAD_INPUT;
    resolve_put(layer, "scheme", "sinusoidal");
    resolve_put_number(layer, "dim", m->hidden_size);
    resolve_put(layer, "order", strcmp(name, "musicgen_decoder") == 0 ? "flipped" : "concat");
    resolve_put(layer, "exponent", whole ? "d" : "half_minus_one");
    if (m->hidden_size % 2 != 0)
        resolve_put(layer, "odd_dim", "zero_column");
    enum posref_status status = first_row(r, m, layer, &first);
    if (status == POSREF_OK && whisper)
        status = resolve_whole_of(r, m->scope, encoder_rows, 1, 1 << 24, &frames, &given);
    if (given)
        resolve_say(r, layer, "info", encoder_rows[0], "sinusoids of %d frames", frames);
    if (status == POSREF_OK && !whisper) /* whose inputs come from a convolution */
        status = set_scale(r, m, layer);
    if (status != POSREF_OK)
        return status;
    if (first)
        resolve_put_number(layer, "offset", first);
    resolve_finish(r, layer);
    return whisper ? add_table(r, m, "decoder", decoder_rows) : POSREF_OK;
}
