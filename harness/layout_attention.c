/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of queries and keys: heads before tokens or behind them, sequences in batches or packed.
 * The vector is the last sequence. The first one holds the same rows in another order, and its
 * results have only to be there: whoever takes one sequence for the other gives wrong ones. */
#include "layout_build.h"

#include <string.h>

enum form { HEADS_FIRST, TOKENS_FIRST, PACKED };

/* Rows of a tensor; plain ones lie as [n, heads], scores as [heads, n]. */
struct rows {
    int64_t n, heads, width;
    bool heads_first;
};

static struct rows rows_of(const struct posref_tensor *t, bool heads_first)
{
    const bool has_heads = t->rank == 3;
    return (struct rows){.n = t->shape[has_heads && heads_first ? 1 : 0],
                         .heads = has_heads ? t->shape[heads_first ? 0 : 1] : 1,
                         .width = t->shape[t->rank - 1], .heads_first = heads_first};
}

/* The shape in a form; returns the rank. */
static int shape_of(int64_t shape[4], enum form form, const struct rows *rows)
{
    const bool heads_first = form == HEADS_FIRST || rows->heads_first;
    const int64_t batch[] = {2, heads_first ? rows->heads : rows->n,
                             heads_first ? rows->n : rows->heads, rows->width};
    const int64_t packed[] = {2 * rows->n, rows->heads, rows->width};
    memcpy(shape, form == PACKED ? packed : batch, form == PACKED ? sizeof packed : sizeof batch);
    return form == PACKED ? 3 : 4;
}

/* The plain row of each row of the form. */
static int64_t *map_rows(struct posref_layout_build *b, enum form form, const struct rows *rows,
                         bool is_output)
{
    const int64_t each = rows->n * rows->heads;
    const bool heads_first = form == HEADS_FIRST || rows->heads_first;
    int64_t *row_of = posref_layout_room(b, 2 * each);
    for (int64_t k = 0; k < 2 * each && row_of; k++) {
        const int64_t in = k % each, head = heads_first ? in / rows->n : in % rows->heads;
        const int64_t token = heads_first ? in % rows->n : in / rows->heads;
        const int64_t taken = k < each ? rows->n - 1 - token : token;
        row_of[k] = rows->heads_first ? head * rows->n + taken : taken * rows->heads + head;
        if (is_output && k < each)
            row_of[k] = POSREF_LAYOUT_OTHER;
    }
    return row_of;
}

/* Ends of three sequences, the second of no tokens, and their positions, where there are any. */
static void pack(struct posref_layout_build *b, const char *ends, const char *positions, int64_t n)
{
    const int64_t count = 4, end[] = {0, n, n, 2 * n};
    const struct posref_tensor *at = posref_tensors_find(&b->trial->in, positions);
    posref_layout_integers(b, ends, POSREF_I32, 1, &count, end);
    if (!at)
        return;
    struct posref_tensor *twice = &b->trial->in.item[at - b->trial->in.item];
    const int64_t n_axes = posref_tensor_count(at) / n;
    const size_t bytes = (size_t)n * posref_dtype_size(at->dtype);
    unsigned char *to = posref_layout_room(b, 2 * n * n_axes);
    for (int64_t k = 0; k < 2 * n_axes && to; k++)
        memcpy(to + (size_t)k * bytes, (const unsigned char *)at->data + (size_t)(k / 2) * bytes,
               bytes);
    twice->data = to;
    twice->shape[twice->rank - 1] = 2 * n;
}

static void lay(struct posref_layout_build *b, enum form form)
{
    static const char *const taken[] = {"q", "k", "v"};
    const struct posref_tensors in = b->trial->in, out = b->trial->out;
    const bool are_scores = b->of->judged.op == POSREF_OP_SCORES;
    int64_t shape[4], n[3] = {0};
    b->trial->in.n = b->trial->out.n = 0;
    for (int k = 0; k < in.n; k++) {
        const struct posref_tensor *from = &in.item[k];
        int which = 0;
        while (which < 3 && strcmp(from->name, taken[which]) != 0)
            which++;
        if (which == 3) {
            b->trial->in.item[b->trial->in.n++] = *from;
            continue;
        }
        const struct rows rows = rows_of(from, false);
        const int rank = shape_of(shape, form, &rows);
        n[which] = rows.n;
        const int64_t *row_of = map_rows(b, form, &rows, false);
        if (row_of)
            posref_layout_input_of(b, from, from->name, rank, shape, row_of);
    }
    for (int k = 0; k < out.n; k++) {
        const struct rows rows = rows_of(&out.item[k], are_scores);
        const int rank = shape_of(shape, form, &rows);
        posref_layout_output(b, out.item[k].name, rank, shape, map_rows(b, form, &rows, true));
        b->result->dim = rows.width;
    }
    b->result->judged = out;
    if (form == PACKED && !b->failed) {
        pack(b, "cu_seqlens_q", "q_positions", n[0]);
        pack(b, "cu_seqlens_k", "k_positions", n[1]);
    }
}

void posref_lay_attention_bhsd(struct posref_layout_build *b)
{
    lay(b, HEADS_FIRST);
}

void posref_lay_attention_bshd(struct posref_layout_build *b)
{
    lay(b, TOKENS_FIRST);
}

void posref_lay_attention_varlen(struct posref_layout_build *b)
{
    lay(b, PACKED);
}
