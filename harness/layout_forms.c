/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of layouts.c: which rows each has, and how they are handed over. */
#include "layout_build.h"

#include <string.h>

/* ---- the vector's own rows, elsewhere in memory ---- */

static int tensor_of(const struct posref_layout_build *b, const char *name)
{
    const int n = b->trial->in.n + b->trial->out.n;
    int k = 0;
    while (k < n && strcmp(posref_layout_tensor(b, k)->name, name) != 0)
        k++;
    return k;
}

/* Rows with `gap` elements behind each, and more behind each group of rows. */
static void spread(struct posref_layout_build *b, const char *name, int64_t step, int64_t gap)
{
    const int k = tensor_of(b, name);
    const struct posref_tensor *tensor = posref_layout_tensor(b, k);
    struct posref_place *place = posref_layout_place(b, k);
    int64_t stride = step;
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        place->strides[axis] = stride;
        stride = stride * tensor->shape[axis] + gap;
    }
    place->n_buffer = posref_layout_extent(place, tensor);
}

/* Other gaps in x than in y: a kernel that takes the strides of one for the other's is caught. */
static void lay_strided(struct posref_layout_build *b)
{
    spread(b, posref_layout_in(b), 1, 3);
    spread(b, posref_layout_out(b), 1, 6);
}

static void lay_strided_dim(struct posref_layout_build *b)
{
    spread(b, posref_layout_in(b), 2, 0);
    spread(b, posref_layout_out(b), 2, 4);
}

static void lay_inplace(struct posref_layout_build *b)
{
    const int in = tensor_of(b, posref_layout_in(b)), out = tensor_of(b, posref_layout_out(b));
    posref_layout_place(b, in)->is_written = true;
    posref_layout_place(b, out)->is_written = true;
    posref_layout_place(b, out)->n_buffer = 0;
    posref_layout_place(b, out)->buffer = in;
}

static void lay_int32(struct posref_layout_build *b)
{
    for (int k = 0; k < b->trial->in.n; k++) {
        struct posref_tensor *tensor = &b->trial->in.item[k];
        const int64_t *wide = tensor->data, count = posref_tensor_count(tensor);
        if (tensor->dtype != POSREF_I64)
            continue;
        int32_t *narrow = posref_layout_room(b, count);
        tensor->dtype = POSREF_I32;
        tensor->data = narrow;
        for (int64_t i = 0; i < count && narrow; i++)
            narrow[i] = (int32_t)wide[i]; /* positions reach 2^31 - 1 */
    }
}

/* ---- batches ---- */

/* Row s of batch b is row (s + b shift) of the vector. */
static void fill_batches(struct posref_layout_case *out, struct posref_layout_rows *rows,
                         int64_t shift)
{
    const int64_t n = out->source_rows;
    out->batch = 2;
    out->seq = n;
    rows->n = 2 * n;
    for (int64_t i = 0; i < 2 * n; i++) {
        rows->copy[i] = i / n;
        rows->row[i] = (i % n + i / n * shift) % n;
    }
}

static void rows_shared(struct posref_layout_case *out, struct posref_layout_rows *rows,
                        const struct posref_vector *vector)
{
    (void)vector;
    fill_batches(out, rows, 0);
}

static void rows_own(struct posref_layout_case *out, struct posref_layout_rows *rows,
                     const struct posref_vector *vector)
{
    (void)vector;
    fill_batches(out, rows, 1);
}

static void rows_same_heads(struct posref_layout_case *out, struct posref_layout_rows *rows,
                            const struct posref_vector *vector)
{
    rows_shared(out, rows, vector);
    rows->same_heads = true;
}

/* Judged rows of [batch, seq, heads] or [batch, heads, seq]. */
static int64_t *grid(struct posref_layout_build *b, bool heads_first)
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
static int64_t *count_up(struct posref_layout_build *b, int64_t n)
{
    int64_t *out = posref_layout_room(b, n);
    for (int64_t k = 0; k < n && out; k++)
        out[k] = k;
    return out;
}

static void lay_rows(struct posref_layout_build *b, int rank, const int64_t *shape,
                     const int64_t *row_of)
{
    if (b->failed)
        return;
    posref_layout_input(b, posref_layout_in(b), rank, shape, row_of);
    posref_layout_output(b, posref_layout_out(b), rank, shape, row_of);
}

static void lay_bhsd(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    posref_layout_positions(b, 1, (const int64_t[]){of->seq}, count_up(b, of->seq));
    lay_rows(b, 4, (const int64_t[]){of->batch, of->heads, of->seq, of->dim}, grid(b, true));
}

static void lay_bshd(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    posref_layout_positions(b, 1, (const int64_t[]){of->seq}, count_up(b, of->seq));
    lay_rows(b, 4, (const int64_t[]){of->batch, of->seq, of->heads, of->dim}, grid(b, false));
}

static void lay_transposed(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    lay_bhsd(b);
    if (b->failed)
        return;
    for (int k = 1; k <= 2; k++) { /* behind positions */
        struct posref_place *place = posref_layout_place(b, k);
        place->strides[1] = of->dim;
        place->strides[2] = of->heads * of->dim;
    }
}

static void lay_broadcast(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    const int64_t seq = of->seq, dim = of->dim;
    posref_layout_positions(b, 2, (const int64_t[]){of->batch, seq}, count_up(b, of->batch * seq));
    lay_rows(b, 4, (const int64_t[]){of->batch, seq, of->heads, dim}, grid(b, false));
    if (b->failed)
        return;
    const struct posref_tensor *positions = posref_layout_tensor(b, 0);
    struct posref_place *place = posref_layout_place(b, 0);
    place->strides[positions->rank - 2] = 0;
    if (positions->rank == 3)
        place->strides[0] = seq;
    place->n_buffer = posref_layout_extent(place, positions);
    place = posref_layout_place(b, 1);
    place->strides[0] = seq * dim;
    place->strides[1] = dim;
    place->strides[2] = 0;
    place->n_buffer = posref_layout_extent(place, posref_layout_tensor(b, 1));
}

static void lay_batch_positions(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    const int64_t batch = of->batch, seq = of->seq;
    posref_layout_positions(b, 2, (const int64_t[]){batch, seq}, count_up(b, batch * seq));
    lay_rows(b, 4, (const int64_t[]){batch, seq, of->heads, of->dim}, grid(b, false));
}

/* ---- left padding ---- */

/* Two rows of padding and the vector's first n - 1, then one and all n: a kernel that goes by the
 * first batch's mask leaves a row of the second unwritten. */
static void rows_left_pad(struct posref_layout_case *out, struct posref_layout_rows *rows,
                          const struct posref_vector *vector)
{
    const int64_t n = out->source_rows;
    (void)vector;
    out->batch = 2;
    out->seq = n + 1;
    rows->n = 2 * n - 1;
    for (int64_t i = 0; i < rows->n; i++) {
        rows->copy[i] = i >= n - 1;
        rows->row[i] = i < n - 1 ? i : i - (n - 1);
    }
}

static void lay_left_pad(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    const int64_t batch = of->batch, seq = of->seq, n = of->source_rows, heads = of->heads;
    const int64_t shape[] = {batch, seq};
    int64_t *token = posref_layout_room(b, batch * seq), *mask = posref_layout_room(b, batch * seq);
    int64_t *row_of = posref_layout_room(b, batch * seq * heads);
    if (b->failed)
        return;
    for (int64_t k = 0; k < batch * seq; k++) {
        const int64_t padding = 2 - k / seq, s = k % seq;
        mask[k] = s >= padding;
        token[k] = mask[k] ? k / seq * (n - 1) + s - padding : -1;
        for (int64_t h = 0; h < heads; h++)
            row_of[k * heads + h] = mask[k] ? token[k] * heads + h : -1;
    }
    posref_layout_positions(b, 2, shape, token);
    lay_rows(b, 4, (const int64_t[]){batch, seq, heads, of->dim}, row_of);
    posref_layout_integers(b, "mask", POSREF_I64, 2, shape, mask);
}

/* ---- positions that are counted ---- */

static int64_t position_of(const struct posref_layout_case *of, int64_t row)
{
    const struct posref_tensor *positions = posref_tensors_find(&of->judged.inputs, "positions");
    return (int64_t)((const double *)positions->data)[row];
}

/* One token of each of n sequences. */
static void rows_decode(struct posref_layout_case *out, struct posref_layout_rows *rows,
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

static void lay_decode(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    const int64_t *each = count_up(b, of->batch);
    if (each)
        add_offsets(b, each);
    lay_rows(b, 4, (const int64_t[]){of->batch, 1, of->heads, of->dim}, grid(b, false));
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
static void rows_varlen(struct posref_layout_case *out, struct posref_layout_rows *rows,
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

static void lay_varlen(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    const int64_t ends = of->batch + 1;
    lay_rows(b, 3, (const int64_t[]){of->n, of->heads, of->dim}, count_up(b, of->n * of->heads));
    if (b->failed)
        return;
    posref_layout_integers(b, "cu_seqlens", POSREF_I32, 1, &ends, of->first);
    add_offsets(b, of->first);
}

/* ---- packed q, k and v ---- */

#define Q_HEADS 12
#define KV_HEADS 2

static void rows_qkv(struct posref_layout_case *out, struct posref_layout_rows *rows,
                     const struct posref_vector *vector)
{
    rows_decode(out, rows, vector);
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

static void lay_qkv(struct posref_layout_build *b)
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
    posref_layout_positions(b, 1, &n, count_up(b, n));
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

/* In the order of layouts.c. */
const struct posref_layout_form posref_forms[POSREF_N_LAYOUTS] = {
    {NULL, lay_strided},
    {NULL, lay_strided_dim},
    {NULL, lay_inplace},
    {NULL, lay_int32},
    {rows_shared, lay_bhsd},
    {rows_shared, lay_bshd},
    {rows_shared, lay_transposed},
    {rows_same_heads, lay_broadcast},
    {rows_own, lay_batch_positions},
    {rows_left_pad, lay_left_pad},
    {rows_decode, lay_decode},
    {rows_varlen, lay_varlen},
    {rows_qkv, lay_qkv},
    {NULL, posref_lay_tables},
    {NULL, posref_lay_tables_f32},
    {NULL, posref_lay_cos_sin},
};
