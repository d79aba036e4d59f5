/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of batches: [batch, heads, seq, dim] and its kin, padding in front. */
#include "layout_build.h"

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

void posref_rows_shared(struct posref_layout_case *out, struct posref_layout_rows *rows,
                        const struct posref_vector *vector)
{
    (void)vector;
    fill_batches(out, rows, 0);
}

void posref_rows_own(struct posref_layout_case *out, struct posref_layout_rows *rows,
                     const struct posref_vector *vector)
{
    (void)vector;
    fill_batches(out, rows, 1);
}

void posref_rows_same_heads(struct posref_layout_case *out, struct posref_layout_rows *rows,
                            const struct posref_vector *vector)
{
    posref_rows_shared(out, rows, vector);
    rows->same_heads = true;
}

void posref_lay_bhsd(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    posref_layout_positions(b, 1, (const int64_t[]){of->seq}, posref_layout_count(b, of->seq));
    posref_layout_both(b, 4, (const int64_t[]){of->batch, of->heads, of->seq, of->dim},
                       posref_layout_grid(b, true));
}

void posref_lay_bshd(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    posref_layout_positions(b, 1, (const int64_t[]){of->seq}, posref_layout_count(b, of->seq));
    posref_layout_both(b, 4, (const int64_t[]){of->batch, of->seq, of->heads, of->dim},
                       posref_layout_grid(b, false));
}

void posref_lay_transposed(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    posref_lay_bhsd(b);
    if (b->failed)
        return;
    for (int k = 1; k <= 2; k++) { /* behind positions */
        struct posref_place *place = posref_layout_place(b, k);
        place->strides[1] = of->dim;
        place->strides[2] = of->heads * of->dim;
    }
}

void posref_lay_broadcast(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    const int64_t seq = of->seq, dim = of->dim;
    posref_layout_positions(b, 2, (const int64_t[]){of->batch, seq},
                            posref_layout_count(b, of->batch * seq));
    posref_layout_both(b, 4, (const int64_t[]){of->batch, seq, of->heads, dim},
                       posref_layout_grid(b, false));
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

void posref_lay_batch_positions(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    const int64_t batch = of->batch, seq = of->seq;
    posref_layout_positions(b, 2, (const int64_t[]){batch, seq},
                            posref_layout_count(b, batch * seq));
    posref_layout_both(b, 4, (const int64_t[]){batch, seq, of->heads, of->dim},
                       posref_layout_grid(b, false));
}

/* ---- left padding ---- */

/* Two rows of padding and the vector's first n - 1, then one and all n: a kernel that goes by the
 * first batch's mask leaves a row of the second unwritten. */
void posref_rows_left_pad(struct posref_layout_case *out, struct posref_layout_rows *rows,
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

void posref_lay_left_pad(struct posref_layout_build *b)
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
    posref_layout_both(b, 4, (const int64_t[]){batch, seq, heads, of->dim}, row_of);
    posref_layout_integers(b, "mask", POSREF_I64, 2, shape, mask);
}
