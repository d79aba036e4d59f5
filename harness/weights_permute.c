/* SPDX-License-Identifier: Apache-2.0 */
/* What posref weights permute does: which rows go where, and the rewriting of one file, row by
 * row, with every other byte as it was. */
#include "harness/weights_output.h"

#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)1 << 20)
#define MAX_PLAN_BYTES ((size_t)64 << 20)

static bool moves(const struct posref_weights_part *part, const struct posref_stored *tensor)
{
    return part->tensor == tensor && part->name.role != POSREF_ROLE_V && part->dims_known &&
           part->rotary_rows >= 4;
}

static enum posref_status bad(const struct posref_weights_side *side,
                              const struct posref_stored *tensor, const char *text,
                              struct posref_error *err)
{
    return posref_fail(err, POSREF_BAD_INPUT,
                       posref_path_tail(side->checkpoint.file[tensor->file].path),
                       "tensor %.100s: %s", tensor->name, text);
}

/* The old row of every new row of a tensor, on the heap. */
static int64_t *map_rows(const struct posref_weights_side *side,
                         const struct posref_stored *tensor, bool to_half, int64_t n_rows)
{
    int64_t *old = malloc(((size_t)n_rows + 1) * sizeof *old);
    for (int64_t row = 0; old && row < n_rows; row++)
        old[row] = row;
    for (size_t i = 0; old && i < side->n_parts; i++) {
        const struct posref_weights_part *part = &side->part[i];
        if (!moves(part, tensor))
            continue;
        struct posref_weights_permutation p = {to_half, 1, part->rotary_first, part->rotary_rows};
        for (int64_t row = 0; row < part->n_heads * part->head_rows; row++) {
            int64_t in_head = row % part->head_rows;
            int64_t source = row - in_head + posref_weights_source(&p, in_head);
            old[posref_weights_row(part, row)] = posref_weights_row(part, source);
        }
    }
    return old;
}

static const struct posref_weights_part *first_part(const struct posref_weights_side *side,
                                                    const struct posref_stored *tensor)
{
    for (size_t i = 0; i < side->n_parts; i++)
        if (moves(&side->part[i], tensor))
            return &side->part[i];
    return NULL;
}

static enum posref_status write_permuted(struct posref_weights_file *file,
                                         const struct posref_weights_side *side,
                                         const struct posref_stored *tensor, int64_t row_bytes,
                                         bool to_half, struct posref_error *err)
{
    int64_t n_rows = (int64_t)tensor->size_bytes / row_bytes;
    int64_t *old = map_rows(side, tensor, to_half, n_rows);
    unsigned char *buffer = malloc(BUFFER_BYTES);
    size_t filled = 0;
    enum posref_status status = POSREF_OK;
    if (!old || !buffer)
        status = posref_fail(err, POSREF_NO_MEMORY, tensor->name, "no memory");
    for (int64_t row = 0; row < n_rows && status == POSREF_OK; row++) {
        const unsigned char *data = tensor->data + old[row] * row_bytes;
        if ((size_t)row_bytes > BUFFER_BYTES - filled) {
            status = posref_weights_file_write(file, buffer, filled, err);
            filled = 0;
        }
        if (status == POSREF_OK && (size_t)row_bytes > BUFFER_BYTES) {
            status = posref_weights_file_write(file, data, (uint64_t)row_bytes, err);
        } else if (status == POSREF_OK) {
            memcpy(buffer + filled, data, (size_t)row_bytes);
            filled += (size_t)row_bytes;
        }
    }
    if (status == POSREF_OK)
        status = posref_weights_file_write(file, buffer, filled, err);
    free(buffer);
    free(old);
    return status;
}

enum posref_status posref_weights_write_file(struct posref_weights_file *file,
                                             const struct posref_weights_side *side,
                                             size_t number, bool to_half,
                                             struct posref_error *err)
{
    const struct posref_mapping *bytes = &side->checkpoint.file[number].bytes;
    uint64_t done = 0;
    enum posref_status status = POSREF_OK;
    /* A file's tensors are listed in the order of their data. */
    for (size_t i = 0; i < side->checkpoint.n && status == POSREF_OK; i++) {
        const struct posref_stored *tensor = &side->checkpoint.item[i];
        const struct posref_weights_part *part = first_part(side, tensor);
        if ((size_t)tensor->file != number || !part)
            continue;
        status = posref_weights_file_write(file, bytes->data + done, tensor->offset - done, err);
        if (status == POSREF_OK)
            status = write_permuted(file, side, tensor, part->row_bytes, to_half, err);
        done = tensor->offset + tensor->size_bytes;
    }
    if (status == POSREF_OK)
        status = posref_weights_file_write(file, bytes->data + done, bytes->size_bytes - done, err);
    return status;
}

/* A scale for a block of rows moves with them only when blocks are whole heads. */
static enum posref_status check_scales(const struct posref_weights_side *side,
                                       struct posref_error *err)
{
    struct posref_weights_name name;
    for (size_t i = 0; i < side->n_others; i++) {
        const struct posref_stored *scale = side->other[i];
        posref_weights_parse_name(&name, scale->name);
        if (name.role == POSREF_ROLE_OTHER || name.kind != POSREF_KIND_SCALE || scale->rank < 2 ||
            scale->shape[0] <= 1)
            continue;
        for (size_t j = 0; j < side->n_parts; j++) {
            const struct posref_weights_part *part = &side->part[j];
            if (part->name.layer != name.layer || part->name.role != name.role ||
                part->name.kind != POSREF_KIND_WEIGHT)
                continue;
            int64_t rows = part->n_heads * part->head_rows;
            int64_t block = (rows + scale->shape[0] - 1) / scale->shape[0];
            if (block % part->head_rows != 0)
                return bad(side, scale, "its blocks of rows are no whole heads: rows cannot be "
                           "permuted without quantising anew", err);
        }
    }
    return POSREF_OK;
}

/* Of a whole model q and k go together: one whose partner no name tells (a fused k and v, say)
 * would be left with another order. An adapter may hold either alone. */
static enum posref_status check_both(const struct posref_weights_side *side,
                                     struct posref_error *err)
{
    const struct posref_weights_part *q = NULL, *k = NULL;
    for (size_t i = 0; i < side->n_parts; i++) {
        const struct posref_weights_part *part = &side->part[i];
        if (part->name.kind != POSREF_KIND_WEIGHT || !moves(part, part->tensor))
            continue;
        q = part->name.role == POSREF_ROLE_Q ? part : q;
        k = part->name.role == POSREF_ROLE_K ? part : k;
    }
    if (side->only_one || !q == !k)
        return POSREF_OK;
    return bad(side, q ? q->tensor : k->tensor, q ? "no k projection is known by its name: q alone "
               "would not fit it any more; --tensor permutes one tensor" : "no q projection is "
               "known by its name: k alone would not fit it any more; --tensor permutes one tensor",
               err);
}

static void add_line(struct posref_weights_plan *plan, const struct posref_weights_part *part)
{
    posref_buffer_printf(&plan->text, "  %s: %s %s, %lld heads of %lld, rows %d to %d of each\n",
                         part->tensor->name, posref_weights_role_name(part->name.role),
                         posref_weights_kind_name(part->name.kind), (long long)part->n_heads,
                         (long long)part->head_rows, part->rotary_first,
                         part->rotary_first + part->rotary_rows - 1);
    posref_buffer_text(&plan->json, plan->json.length > 1 ? ",\n  {\"name\": " : "{\"name\": ");
    posref_buffer_json_string(&plan->json, part->tensor->name);
    posref_buffer_printf(&plan->json, ", \"role\": \"%s\", \"kind\": \"%s\", \"heads\": %lld, "
                         "\"head_dim\": %lld, \"rotary_rows\": [%d, %d]}",
                         posref_weights_role_name(part->name.role),
                         posref_weights_kind_name(part->name.kind), (long long)part->n_heads,
                         (long long)part->head_rows, part->rotary_first, part->rotary_rows);
}

static enum posref_status make_plan(struct posref_weights_plan *plan,
                                    const struct posref_weights_side *side,
                                    struct posref_error *err)
{
    posref_buffer_init(&plan->text, MAX_PLAN_BYTES);
    posref_buffer_init(&plan->json, MAX_PLAN_BYTES);
    posref_buffer_text(&plan->json, "[");
    for (size_t i = 0; i < side->n_parts; i++) {
        const struct posref_weights_part *part = &side->part[i];
        bool latent_norm = side->geometry.latent && part->name.kind == POSREF_KIND_NORM;
        if (!part->dims_known && part->name.role != POSREF_ROLE_V && !latent_norm)
            return bad(side, part->tensor, "its head size is not known: give --config or "
                       "--head-dim", err);
        if (!moves(part, part->tensor))
            continue;
        add_line(plan, part);
        plan->n_tensors++;
    }
    posref_buffer_text(&plan->json, "]");
    if (plan->n_tensors == 0)
        return posref_fail(err, POSREF_BAD_INPUT,
                           posref_path_tail(side->checkpoint.file[0].path),
                           "holds no q or k projection of a rotary model");
    enum posref_status status = check_both(side, err);
    return status == POSREF_OK ? check_scales(side, err) : status;
}

enum posref_status posref_weights_permute(struct posref_weights_plan *plan,
                                          const struct posref_weights_side *side, const char *out,
                                          bool to_half, bool dry_run, struct posref_error *err)
{
    memset(plan, 0, sizeof *plan);
    enum posref_status status = make_plan(plan, side, err);
    if (status == POSREF_OK && !dry_run)
        status = posref_weights_write(side, out, to_half, err);
    return status;
}
