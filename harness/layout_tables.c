/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts whose tables are handed in: the kernel is judged on the rotation alone. Its golden output
 * is that of the tables as they are rounded for it, so each dtype has its own. */
#include "layout_build.h"

#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In float64 44 bits and the sign are kept: the kernel's products with inputs of 8 bits are exact,
 * as they are in double for a kernel in float32. */
static double rounded(double x, enum posref_dtype dtype)
{
    if (dtype != POSREF_F64)
        return posref_rounded(x, dtype);
    const double most = x * 257;
    return most - (most - x);
}

struct tables {
    int64_t n, heads, columns; /* rows of positions; heads of x; pairs */
    double *cosine, *sine;     /* [n, columns] */
    const struct posref_tensor *x, *y; /* doubles */
};

/* Cosines and sines as they are handed in; false with b->status or b->failed. */
static bool make_tables(struct tables *t, struct posref_layout_build *b, enum posref_dtype dtype)
{
    const struct posref_vector *judged = &b->of->judged;
    const struct posref_tensor *positions = posref_tensors_find(&judged->inputs, "positions");
    const struct posref_tensors in = {.item = {*positions}, .n = 1};
    struct posref_tensors out;
    b->status = posref_eval(&out, &judged->spec, POSREF_OP_TABLE, &in, b->arena, b->err);
    if (b->status != POSREF_OK)
        return false;
    const struct posref_tensor *cosine = posref_tensors_find(&out, "cos");
    *t = (struct tables){.n = cosine->shape[0], .columns = cosine->shape[1],
                         .cosine = cosine->data, .sine = posref_tensors_find(&out, "sin")->data,
                         .x = posref_tensors_find(&judged->inputs, posref_layout_in(b)),
                         .y = &judged->outputs.item[0]};
    t->heads = posref_tensor_count(t->x) / t->n / judged->spec.dim;
    for (int64_t k = 0; k < t->n * t->columns; k++) {
        t->cosine[k] = rounded(t->cosine[k], dtype);
        t->sine[k] = rounded(t->sine[k], dtype);
    }
    return true;
}

/* The vector with the golden output of these tables, which stand among its inputs. */
static void judge_by(struct posref_layout_build *b, const struct tables *t)
{
    struct posref_vector *vector = b->arena->alloc(b->arena->ctx, sizeof *vector);
    double *y = posref_layout_room(b, posref_tensor_count(t->y));
    b->failed = b->failed || !vector;
    if (b->failed)
        return;
    *vector = b->of->judged;
    vector->outputs.item[0].data = y;
    const int64_t shape[] = {t->n, t->columns};
    posref_layout_add(&vector->inputs, "cos", POSREF_F64, 2, shape)->data = t->cosine;
    posref_layout_add(&vector->inputs, "sin", POSREF_F64, 2, shape)->data = t->sine;
    b->status = posref_rotate_given(y, t->x->data, t->cosine, t->sine, t->n, t->heads,
                                    &vector->spec, vector->op == POSREF_OP_ROTATE_BACKWARD);
    b->result->vector = vector;
}

/* Takes positions out of the call. */
static void drop_positions(struct posref_trial *trial)
{
    int kept = 0;
    for (int k = 0; k < trial->in.n; k++)
        if (!posref_trial_is_positions(&trial->in.item[k]))
            trial->in.item[kept++] = trial->in.item[k];
    trial->in.n = kept;
}

static void hand_in(struct posref_layout_build *b, const char *name, enum posref_dtype dtype,
                    double *data, int64_t n, int64_t width)
{
    struct posref_tensor wide = {.dtype = POSREF_F64, .rank = 2, .shape = {n, width}, .data = data};
    snprintf(wide.name, sizeof wide.name, "%s", name);
    if (data)
        b->status = posref_tensor_narrow(&b->trial->in.item[b->trial->in.n++], &wide, dtype,
                                         b->arena, b->err);
}

static void lay(struct posref_layout_build *b, enum posref_dtype dtype)
{
    struct tables t;
    if (!make_tables(&t, b, dtype))
        return;
    judge_by(b, &t);
    drop_positions(b->trial);
    if (!b->failed && b->status == POSREF_OK)
        hand_in(b, "cos", dtype, t.cosine, t.n, t.columns);
    if (!b->failed && b->status == POSREF_OK)
        hand_in(b, "sin", dtype, t.sine, t.n, t.columns);
}

void posref_lay_tables(struct posref_layout_build *b)
{
    lay(b, b->dtype);
}

void posref_lay_tables_f32(struct posref_layout_build *b)
{
    lay(b, POSREF_F32);
}

/* Rows of cosines, then sines: row k of the tables is row `at[k]`; the others are NaN. */
static double *join(struct posref_layout_build *b, const struct tables *t, int64_t rows,
                    const int64_t *at)
{
    const int64_t width = 2 * t->columns;
    double *out = posref_layout_room(b, rows * width);
    if (!out || !at)
        return NULL;
    for (int64_t k = 0; k < rows * width; k++)
        out[k] = (double)NAN;
    for (int64_t k = 0; k < t->n; k++) {
        double *row = out + at[k] * width;
        memcpy(row, t->cosine + k * t->columns, (size_t)t->columns * sizeof *row);
        memcpy(row + t->columns, t->sine + k * t->columns, (size_t)t->columns * sizeof *row);
    }
    return out;
}

void posref_lay_cos_sin(struct posref_layout_build *b)
{
    struct tables t;
    if (!make_tables(&t, b, b->dtype))
        return;
    judge_by(b, &t);
    drop_positions(b->trial);
    double *row = join(b, &t, t.n, posref_layout_count(b, t.n));
    if (!b->failed && b->status == POSREF_OK)
        hand_in(b, "table", b->dtype, row, t.n, 2 * t.columns);
}

/* A cache of rows whose last is the first token's, with a row of NaN before and behind them: one
 * that is off by a row, or takes the tokens' own numbers for rows, finds another's. */
static void lay_cache(struct posref_layout_build *b, enum posref_dtype dtype)
{
    struct tables t;
    if (!make_tables(&t, b, dtype))
        return;
    judge_by(b, &t);
    int64_t *at = posref_layout_room(b, t.n);
    for (int64_t k = 0; k < t.n && at; k++)
        at[k] = t.n - k;
    double *rows = join(b, &t, t.n + 2, at);
    drop_positions(b->trial);
    if (b->failed || b->status != POSREF_OK)
        return;
    posref_layout_integers(b, "positions", POSREF_I64, 1, &t.n, at);
    hand_in(b, "cos_sin_cache", dtype, rows, t.n + 2, 2 * t.columns);
}

void posref_lay_cos_sin_cache(struct posref_layout_build *b)
{
    lay_cache(b, b->dtype);
}

void posref_lay_cos_sin_cache_f32(struct posref_layout_build *b)
{
    lay_cache(b, POSREF_F32);
}
