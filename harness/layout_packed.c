/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of packed tokens: positions counted from an offset, sequences one behind the other,
 * q, k and v in one array. */
#include "layout_build.h"

/* ---- positions that are counted ---- */

static int64_t position_of(const struct posref_layout_case *of, int64_t row)
{
    const struct posref_tensor *positions = posref_tensors_find(&of->judged.inputs, "positions");
    return (int64_t)((const double *)positions->data)[row];
}

/* One token of each of n sequences. */
void posref_rows_decode(struct posref_layout_case *out, struct posref_layout_rows *rows,
                        const struct posref_vector *vector)
{
    (void)vector;
    out->batch = rows->n = out->source_rows;
    out->seq = 1;
    for (int64_t i = 0; i < rows->n; i++) {
        rows->copy[i] = 0;
        rows->row[i] = i;
    }
}

static void add_offsets(struct posref_layout_build *b, const int64_t *first)
{
    const struct posref_layout_case *of = b->of;
    int64_t *offset = posref_layout_room(b, of->batch);
    for (int64_t k = 0; k < of->batch && offset; k++)
        offset[k] = first[k] < of->n ? position_of(of, first[k]) : 0; /* the last may be empty */
    if (offset)
        posref_layout_integers(b, "offset", POSREF_I64, 1, &of->batch, offset);
}

void posref_lay_decode(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    const int64_t *each = posref_layout_count(b, of->batch);
    if (each)
        add_offsets(b, each);
    posref_layout_both(b, 4, (const int64_t[]){of->batch, 1, of->heads, of->dim},
                       posref_layout_grid(b, false));
}

/* Cuts rows from ... n - 1 of the vector where positions do not count up by one. */
static void add_sequences(struct posref_layout_case *out, struct posref_layout_rows *rows,
                          const double *position, int64_t from, int64_t copy)
{
    for (int64_t row = from; row < out->source_rows; row++) {
        if (row == from || position[row] != position[row - 1] + 1)
            rows->first[out->batch++] = rows->n;
        rows->row[rows->n] = row;
        rows->copy[rows->n++] = copy;
    }
}

/* The vector's runs, a sequence without tokens, and the runs again from the second row on. */
void posref_rows_varlen(struct posref_layout_case *out, struct posref_layout_rows *rows,
                        const struct posref_vector *vector)
{
    const double *position = posref_tensors_find(&vector->inputs, "positions")->data;
    rows->n = 0;
    add_sequences(out, rows, position, 0, 0);
    rows->first[out->batch++] = rows->n;
    add_sequences(out, rows, position, 1, 1);
    rows->first[out->batch] = rows->n;
    out->first = rows->first;
}

void posref_lay_varlen(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    const int64_t ends = of->batch + 1;
    posref_layout_both(b, 3, (const int64_t[]){of->n, of->heads, of->dim},
                       posref_layout_count(b, of->n * of->heads));
    if (b->failed)
        return;
    posref_layout_integers(b, "cu_seqlens", POSREF_I32, 1, &ends, of->first);
    add_offsets(b, of->first);
}

/* ---- packed q, k and v ---- */

#define Q_HEADS 12
#define KV_HEADS 2

void posref_rows_qkv(struct posref_layout_case *out, struct posref_layout_rows *rows,
                     const struct posref_vector *vector)
{
    posref_rows_decode(out, rows, vector);
    rows->heads = Q_HEADS + KV_HEADS;
}

/* Judged rows of heads first ... first + heads - 1. */
static int64_t *heads_of(struct posref_layout_build *b, int64_t first, int64_t heads)
{
    int64_t *row_of = posref_layout_room(b, b->of->n * heads);
    for (int64_t k = 0; k < b->of->n * heads && row_of; k++)
        row_of[k] = k / heads * (Q_HEADS + KV_HEADS) + first + k % heads;
    return row_of;
}

void posref_lay_qkv(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    const int64_t n = of->n, dim = of->dim, row = (Q_HEADS + 2 * KV_HEADS) * dim;
    const int64_t q_shape[] = {n, Q_HEADS, dim}, kv_shape[] = {n, KV_HEADS, dim};
    const int64_t *q = heads_of(b, 0, Q_HEADS), *k = heads_of(b, Q_HEADS, KV_HEADS);
    if (b->failed)
        return;
    posref_layout_input(b, "q", 3, q_shape, q);
    posref_layout_input(b, "k", 3, kv_shape, k);
    posref_layout_input(b, "v", 3, kv_shape, q); /* any rows: they are to stay */
    posref_layout_positions(b, 1, &n, posref_layout_count(b, n));
    posref_layout_output(b, "q", 3, q_shape, q);
    posref_layout_output(b, "k", 3, kv_shape, k);
    static const int at[] = {0, Q_HEADS, Q_HEADS + KV_HEADS, -1, 0, Q_HEADS};
    for (int t = 0; t < 6; t++) {
        struct posref_place *place = posref_layout_place(b, t);
        if (at[t] < 0)
            continue;
        place->first = at[t] * dim;
        place->strides[0] = row;
        place->buffer = 0;
        place->n_buffer = t == 0 ? n * row : 0;
        place->is_written = t != 2;
        place->is_hidden = t > 2;
    }
}
