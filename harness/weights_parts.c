/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a checkpoint into parts: the rows of one role in one tensor, with every head's place. */
#include "harness/weights.h"

#include <stdlib.h>
#include <string.h>

struct cutting {
    struct posref_weights_side *side;
    struct posref_error *err;
};

static enum posref_status bad(const struct cutting *c, const struct posref_stored *tensor,
                              const char *text, int64_t rows)
{
    return posref_fail(c->err, POSREF_BAD_INPUT,
                       posref_path_tail(c->side->checkpoint.file[tensor->file].path),
                       "tensor %.100s: %lld rows %s", tensor->name, (long long)rows, text);
}

static int64_t count_rows(const struct posref_stored *tensor, enum posref_weights_kind kind)
{
    int64_t count = 1;
    bool flat = kind == POSREF_KIND_BIAS || kind == POSREF_KIND_NORM || tensor->rank < 2;
    if (!flat)
        return tensor->shape[0];
    for (int axis = 0; axis < tensor->rank; axis++)
        count *= tensor->shape[axis];
    return count;
}

static bool append(struct posref_weights_side *side, const struct posref_weights_part *part)
{
    struct posref_weights_part *grown = realloc(side->part, (side->n_parts + 1) * sizeof *grown);
    if (!grown)
        return false;
    side->part = grown;
    grown[side->n_parts++] = *part;
    return true;
}

static enum posref_status add(const struct cutting *c, const struct posref_weights_part *part)
{
    if (!append(c->side, part))
        return posref_fail(c->err, POSREF_NO_MEMORY, "", "no memory");
    return POSREF_OK;
}

/* No part: must be equal before and after. */
static enum posref_status keep_whole(const struct cutting *c, const struct posref_stored *tensor)
{
    c->side->other[c->side->n_others++] = tensor;
    return POSREF_OK;
}

/* Rotary rows of a head: what config or options say, else the whole head. */
static void set_rotary(struct posref_weights_part *part, const struct posref_weights_geometry *g)
{
    int64_t rows = part->head_rows;
    part->rotary_first = g->rotary_first;
    if (g->rotary_dim > 0)
        rows = g->rotary_dim;
    else if (g->rotary_fraction > 0)
        rows = (int64_t)((double)part->head_rows * g->rotary_fraction);
    part->rotary_rows = (int)rows;
}

/* Rotary rows must be an even number that lies in the head. */
static enum posref_status check_rotary(const struct cutting *c,
                                       const struct posref_weights_part *part)
{
    int64_t end = (int64_t)part->rotary_first + part->rotary_rows;
    if (!part->dims_known)
        return POSREF_OK;
    if (part->rotary_rows < 2 || part->rotary_rows % 2 != 0 || end > part->head_rows)
        return posref_fail(c->err, POSREF_BAD_INPUT, "rotary_dim",
                           "tensor %.80s: rotary rows %d to %lld do not fit a head of %lld rows",
                           part->tensor->name, part->rotary_first, (long long)end,
                           (long long)part->head_rows);
    return POSREF_OK;
}

/* Heads and head size of a separate projection, from its rows and the geometry. */
static enum posref_status cut_separate(const struct cutting *c, struct posref_weights_part *part,
                                       int64_t rows)
{
    const struct posref_weights_geometry *g = &c->side->geometry;
    int64_t heads = part->name.role == POSREF_ROLE_K ? g->n_kv_heads : g->n_heads;
    int64_t dim = g->head_dim;
    bool latent_k = g->latent && part->name.role == POSREF_ROLE_K &&
                    strstr(part->tensor->name, "kv_a");
    if (latent_k) {
        heads = 1;
        dim = rows;
    }
    if (part->name.kind == POSREF_KIND_NORM && dim > 0 && rows == dim)
        heads = 1;
    if (dim == 0 && heads > 0 && rows % heads == 0)
        dim = rows / heads;
    if (dim > 0 && (heads == 0 || c->side->only_one || g->heads_vary) && rows % dim == 0)
        heads = rows / dim;
    part->dims_known = dim > 0 && heads > 0;
    part->head_rows = part->dims_known ? dim : rows;
    part->n_heads = part->dims_known ? heads : 1;
    part->head_stride = part->head_rows;
    if (part->name.kind == POSREF_KIND_SCALE && part->dims_known && rows < heads * dim)
        return keep_whole(c, part->tensor); /* one scale for a block of rows */
    if (part->dims_known && g->gated_q && rows == 2 * heads * dim)
        part->head_stride = 2 * dim;
    else if (part->dims_known && rows != heads * dim)
        return posref_fail(c->err, POSREF_BAD_INPUT,
                           posref_path_tail(c->side->checkpoint.file[part->tensor->file].path),
                           "tensor %.100s: %lld rows are not %lld heads of %lld",
                           part->tensor->name, (long long)rows, (long long)heads, (long long)dim);
    part->per_group = part->n_heads;
    part->group_stride = part->n_heads * part->head_stride;
    set_rotary(part, g);
    if (latent_k) {
        part->rotary_first = (int)rows - part->rotary_rows;
        if (g->kv_lora > 0 && part->rotary_first != g->kv_lora)
            return bad(c, part->tensor, "are not kv_lora_rank + qk_rope_head_dim", rows);
    }
    if (part->name.kind == POSREF_KIND_NORM && g->latent)
        part->dims_known = false;
    enum posref_status status = check_rotary(c, part);
    return status == POSREF_OK ? add(c, part) : status;
}

/* Places q, k and v in a fused tensor. */
static void place(struct posref_weights_part *part, enum posref_weights_layout layout,
                  int64_t n_heads, int64_t n_kv, int64_t dim)
{
    int64_t group = n_heads / n_kv;
    enum posref_weights_role role = part->name.role;
    int slot = role == POSREF_ROLE_Q ? 0 : role == POSREF_ROLE_K ? 1 : 2;
    part->n_heads = role == POSREF_ROLE_Q ? n_heads : n_kv;
    part->head_rows = part->head_stride = dim;
    part->per_group = part->n_heads;
    part->group_stride = part->n_heads * dim;
    switch (layout) {
    case POSREF_LAYOUT_PER_HEAD:
    case POSREF_LAYOUT_PER_GROUP:
        part->per_group = role == POSREF_ROLE_Q ? group : 1;
        part->group_stride = (group + 2) * dim;
        part->base = slot == 0 ? 0 : (group + slot - 1) * dim;
        break;
    case POSREF_LAYOUT_CODEGEN:
        /* q, v, k in each of four blocks. */
        part->per_group = n_heads / 4;
        part->group_stride = 3 * part->per_group * dim;
        part->base = (slot == 0 ? 0 : 3 - slot) * part->per_group * dim;
        break;
    default:
        part->base = slot == 0 ? 0 : (n_heads + (slot - 1) * n_kv) * dim;
        break;
    }
}

static enum posref_status cut_fused(const struct cutting *c,
                                    const struct posref_weights_part *whole, int64_t rows)
{
    const struct posref_weights_geometry *g = &c->side->geometry;
    enum posref_weights_layout layout = g->layout != POSREF_LAYOUT_UNKNOWN ? g->layout
                                                                           : whole->name.layout;
    int64_t n_heads = g->n_heads, n_kv = g->n_kv_heads > 0 ? g->n_kv_heads : n_heads;
    int64_t dim = g->head_dim;
    if (layout == POSREF_LAYOUT_UNKNOWN)
        return bad(c, whole->tensor, "of a fused projection whose layout differs by family: give "
                   "--config or --fused concat, per_head or per_group", rows);
    if (n_heads == 0 || n_kv == 0)
        return bad(c, whole->tensor, "of q, k and v: give --config, or --heads and --kv-heads",
                   rows);
    if (dim == 0 && rows % (n_heads + 2 * n_kv) == 0)
        dim = rows / (n_heads + 2 * n_kv);
    if (whole->name.kind == POSREF_KIND_SCALE && dim > 0 && rows < (n_heads + 2 * n_kv) * dim)
        return keep_whole(c, whole->tensor);
    if (dim == 0 || rows != (n_heads + 2 * n_kv) * dim || n_heads % n_kv != 0 ||
        (layout == POSREF_LAYOUT_PER_HEAD && n_heads != n_kv) ||
        (layout == POSREF_LAYOUT_CODEGEN && (n_heads != n_kv || n_heads % 4 != 0)))
        return bad(c, whole->tensor, "do not fit the heads of q, k and v", rows);
    for (int role = POSREF_ROLE_Q; role <= POSREF_ROLE_V; role++) {
        struct posref_weights_part part = *whole;
        part.name.role = (enum posref_weights_role)role;
        part.fused = part.dims_known = true;
        place(&part, layout, n_heads, n_kv, dim);
        set_rotary(&part, g);
        enum posref_status status = check_rotary(c, &part);
        if (status == POSREF_OK)
            status = add(c, &part);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

static enum posref_status cut_tensor(const struct cutting *c, const struct posref_stored *tensor)
{
    struct posref_weights_part part = {.tensor = tensor};
    struct posref_weights_side *side = c->side;
    posref_weights_parse_name(&part.name, tensor->name);
    if (part.name.packing)
        return posref_fail(c->err, POSREF_BAD_INPUT,
                           posref_path_tail(side->checkpoint.file[tensor->file].path),
                           "tensor %.90s: %s packing is not read; use the unquantised checkpoint",
                           tensor->name, part.name.packing);
    if (c->side->only_one && part.name.role == POSREF_ROLE_OTHER) {
        part.name.role = side->geometry.layout != POSREF_LAYOUT_UNKNOWN &&
                         strcmp(side->geometry.source, "options") == 0 ? POSREF_ROLE_FUSED
                                                                       : POSREF_ROLE_Q;
        part.name.kind = tensor->rank < 2 ? POSREF_KIND_BIAS : POSREF_KIND_WEIGHT;
    }
    int64_t rows = count_rows(tensor, part.name.kind);
    bool scalar = part.name.kind == POSREF_KIND_SCALE && rows <= 1;
    if (part.name.role == POSREF_ROLE_OTHER || scalar || tensor->size_bytes == 0 ||
        side->geometry.order == POSREF_ORDER_NONE)
        return keep_whole(c, tensor);
    part.row_bytes = (int64_t)(tensor->size_bytes / (uint64_t)rows);
    part.row_elements = part.row_bytes / tensor->block_bytes * tensor->block_elements;
    if ((uint64_t)(part.row_bytes * rows) != tensor->size_bytes)
        return bad(c, tensor, "do not divide its bytes", rows);
    if (part.name.role == POSREF_ROLE_FUSED)
        return cut_fused(c, &part, rows);
    return cut_separate(c, &part, rows);
}

/* The head size, where only the number of heads is known: gains have no heads to divide by. */
static void derive_dim(struct posref_weights_side *side)
{
    struct posref_weights_geometry *g = &side->geometry;
    for (size_t i = 0; i < side->checkpoint.n && g->head_dim == 0; i++) {
        const struct posref_stored *tensor = &side->checkpoint.item[i];
        struct posref_weights_name name;
        posref_weights_parse_name(&name, tensor->name);
        int64_t heads = name.role == POSREF_ROLE_Q ? g->n_heads
                        : name.role == POSREF_ROLE_K ? g->n_kv_heads : 0;
        int64_t rows = tensor->rank == 2 ? tensor->shape[0] : 0;
        if (name.kind == POSREF_KIND_WEIGHT && heads > 0 && rows > 0 && rows % heads == 0 &&
            rows / heads <= INT32_MAX)
            g->head_dim = (int)(rows / heads);
    }
}

enum posref_status posref_weights_cut(struct posref_weights_side *side, struct posref_error *err)
{
    struct cutting c = {.side = side, .err = err};
    free(side->part);
    free(side->other);
    side->part = NULL;
    side->n_parts = side->n_others = 0;
    derive_dim(side);
    side->other = calloc(side->checkpoint.n + 1, sizeof *side->other);
    if (!side->other)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (size_t i = 0; i < side->checkpoint.n; i++) {
        enum posref_status status = cut_tensor(&c, &side->checkpoint.item[i]);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}
