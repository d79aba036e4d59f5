/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a call in a layout: tensors of rows, positions, integers, places. */
#include "layout_build.h"

#include "pattern.h"
#include "trial.h"

#include <stdio.h>
#include <string.h>

void *posref_layout_room(struct posref_layout_build *b, int64_t count)
{
    void *memory = b->arena->alloc(b->arena->ctx, (size_t)count * 8 + 8);
    b->failed = b->failed || memory == NULL;
    return memory;
}

struct posref_tensor *posref_layout_add(struct posref_tensors *set, const char *name,
                                        enum posref_dtype dtype, int rank, const int64_t *shape)
{
    struct posref_tensor *tensor = &set->item[set->n++];
    *tensor = (struct posref_tensor){.dtype = dtype, .rank = rank};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    for (int axis = 0; axis < rank; axis++)
        tensor->shape[axis] = shape[axis];
    return tensor;
}

static bool is_backward(const struct posref_layout_build *b)
{
    return b->of->judged.op == POSREF_OP_ROTATE_BACKWARD;
}

const char *posref_layout_in(const struct posref_layout_build *b)
{
    return is_backward(b) ? "dy" : "x";
}

const char *posref_layout_out(const struct posref_layout_build *b)
{
    return is_backward(b) ? "dx" : "y";
}

void posref_layout_input_of(struct posref_layout_build *b, const struct posref_tensor *from,
                            const char *name, int rank, const int64_t *shape,
                            const int64_t *row_of)
{
    struct posref_tensor *tensor = posref_layout_add(&b->trial->in, name, b->dtype, rank, shape);
    const int64_t dim = from->shape[from->rank - 1], rows = posref_tensor_count(tensor) / dim;
    const size_t row_bytes = (size_t)dim * posref_dtype_size(b->dtype);
    unsigned char *data = tensor->data = posref_layout_room(b, rows * dim);
    for (int64_t k = 0; k < rows && data; k++)
        if (row_of[k] < 0)
            posref_pattern_fill(data + (size_t)k * row_bytes, b->dtype, (size_t)dim);
        else
            memcpy(data + (size_t)k * row_bytes,
                   (const unsigned char *)from->data + (size_t)row_of[k] * row_bytes, row_bytes);
}

void posref_layout_input(struct posref_layout_build *b, const char *name, int rank,
                         const int64_t *shape, const int64_t *row_of)
{
    posref_layout_input_of(b, posref_tensors_find(&b->rows, posref_layout_in(b)), name, rank, shape,
                           row_of);
}

void posref_layout_output(struct posref_layout_build *b, const char *name, int rank,
                          const int64_t *shape, const int64_t *row_of)
{
    b->result->row_of[b->trial->out.n] = row_of;
    struct posref_tensor *tensor = posref_layout_add(&b->trial->out, name, b->dtype, rank, shape);
    tensor->data = posref_layout_room(b, posref_tensor_count(tensor));
}

/* Judged rows of [batch, seq, heads] or [batch, heads, seq]. */
int64_t *posref_layout_grid(struct posref_layout_build *b, bool heads_first)
{
    const struct posref_layout_case *of = b->of;
    const int64_t batch = of->batch, seq = of->seq, heads = of->heads;
    int64_t *row_of = posref_layout_room(b, batch * seq * heads);
    for (int64_t k = 0; k < batch * seq * heads && row_of; k++) {
        const int64_t in = k % (seq * heads);
        const int64_t s = heads_first ? in % seq : in / heads;
        const int64_t h = heads_first ? in / seq : in % heads;
        row_of[k] = (k / (seq * heads) * seq + s) * heads + h;
    }
    return row_of;
}

/* 0, 1, 2, ... */
int64_t *posref_layout_count(struct posref_layout_build *b, int64_t n)
{
    int64_t *out = posref_layout_room(b, n);
    for (int64_t k = 0; k < n && out; k++)
        out[k] = k;
    return out;
}

void posref_layout_both(struct posref_layout_build *b, int rank, const int64_t *shape,
                        const int64_t *row_of)
{
    if (b->failed)
        return;
    posref_layout_input(b, posref_layout_in(b), rank, shape, row_of);
    posref_layout_output(b, posref_layout_out(b), rank, shape, row_of);
}

void posref_layout_positions(struct posref_layout_build *b, int rank, const int64_t *shape,
                             const int64_t *row_of)
{
    if (b->failed)
        return;
    const struct posref_tensor *from = posref_tensors_find(&b->rows, "positions");
    const int64_t n_axes = from->rank == 2 ? from->shape[0] : 1;
    const int64_t n = from->shape[from->rank - 1];
    int64_t whole[POSREF_MAX_RANK] = {n_axes}, each = 1;
    for (int axis = 0; axis < rank; axis++) {
        whole[axis + 1] = shape[axis];
        each *= shape[axis];
    }
    struct posref_tensor *tensor = posref_layout_add(&b->trial->in, "positions", from->dtype,
                                                     from->rank == 2 ? rank + 1 : rank,
                                                     from->rank == 2 ? whole : shape);
    unsigned char *data = tensor->data = posref_layout_room(b, n_axes * each);
    for (int64_t k = 0; k < n_axes * each && data; k++) {
        const int64_t row = row_of[k % each];
        if (row < 0)
            memset(data + 8 * k, 0, 8); /* of I64 and of F64 */
        else
            memcpy(data + 8 * k, (const unsigned char *)from->data + 8 * (k / each * n + row), 8);
    }
}

void posref_layout_integers(struct posref_layout_build *b, const char *name,
                            enum posref_dtype dtype, int rank, const int64_t *shape,
                            const int64_t *value)
{
    struct posref_tensor *tensor = posref_layout_add(&b->trial->in, name, dtype, rank, shape);
    const int64_t count = posref_tensor_count(tensor);
    void *data = tensor->data = posref_layout_room(b, count);
    for (int64_t k = 0; k < count && data; k++)
        if (dtype == POSREF_I64)
            ((int64_t *)data)[k] = value[k];
        else
            ((int32_t *)data)[k] = (int32_t)value[k];
}

const struct posref_tensor *posref_layout_tensor(const struct posref_layout_build *b, int tensor)
{
    return tensor < b->trial->in.n ? &b->trial->in.item[tensor]
                                   : &b->trial->out.item[tensor - b->trial->in.n];
}

struct posref_place *posref_layout_place(struct posref_layout_build *b, int tensor)
{
    if (!b->placement) {
        b->placement = b->arena->alloc(b->arena->ctx, sizeof *b->placement);
        b->failed = b->failed || b->placement == NULL;
        if (!b->placement)
            return &b->spare;
        memset(b->placement, 0, sizeof *b->placement);
        for (int k = 0; k < b->trial->in.n + b->trial->out.n; k++)
            b->placement->item[k] = posref_place_plain(posref_layout_tensor(b, k), k);
        b->trial->placement = b->placement;
    }
    return &b->placement->item[tensor];
}

int64_t posref_layout_extent(const struct posref_place *place, const struct posref_tensor *tensor)
{
    int64_t last = place->first;
    for (int axis = 0; axis < tensor->rank; axis++)
        last += (tensor->shape[axis] - 1) * place->strides[axis];
    return last + 1;
}
