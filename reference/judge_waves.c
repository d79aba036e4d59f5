/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of sines and cosines, and sums with them, as judged units: docs/tolerance.md. */
#include "judge_impl.h"
#include "wave_axes.h"

#include <math.h>

#define MAX_BLOCKS POSREF_MAX_INTS

struct waves {
    struct posref_block block[MAX_BLOCKS];
    int axis[MAX_BLOCKS]; /* row of the positions */
    int n_blocks, per_row; /* units of a row: pairs, lone sines, and channels of zeros */
    struct judge_frequency *frequency[MAX_BLOCKS];
    double *coordinate[MAX_BLOCKS]; /* [n] */
    int64_t n;
    const double *mask; /* or NULL */
};

/* The k-th of the tokens that are not masked is at padding_idx + 1 + k. */
static enum posref_status coordinates(struct waves *out, struct judge_case *c, int64_t n)
{
    const struct posref_tensor *positions = posref_tensors_find(c->inputs, "positions");
    const struct posref_spec *spec = c->spec;
    double next = spec->padding_idx + 1.0;
    for (int b = 0; b < out->n_blocks; b++) {
        double *at = c->arena->alloc(c->arena->ctx, (size_t)n * sizeof *at);
        if (!at)
            return posref_fail(c->err, POSREF_NO_MEMORY, "", "out of memory");
        for (int64_t k = 0; k < n; k++) {
            if (positions && spec->scheme == POSREF_SCHEME_FOURIER && spec->log)
                at[k] = log(((const double *)positions->data)[k]);
            else if (positions)
                at[k] = ((const double *)positions->data)[out->axis[b] * n + k] + spec->offset;
            else
                at[k] = out->mask[k] != 0 ? next++ : 0;
        }
        out->coordinate[b] = at;
    }
    return POSREF_OK;
}

/* Fourier features: the product of the coordinate, the weight, 2 and pi, and the coordinate's own
 * rounding or logarithm. */
static void fill_features(struct judge_frequency *f, const struct judge_case *c, int n)
{
    const double *weights = posref_tensors_find(c->inputs, "weights")->data;
    for (int i = 0; i < n; i++)
        f[i] = (struct judge_frequency){.theta = 2 * acos(-1) * fabs(weights[i]), .k = 7};
}

static enum posref_status lay_out(struct waves *out, struct judge_case *c, int64_t n)
{
    const struct posref_tensor *mask = posref_tensors_find(c->inputs, "mask");
    struct posref_spec alone;
    struct judge_case of_axis = *c;
    *out = (struct waves){.n_blocks = posref_wave_axes_count(c->spec), .n = n,
                          .mask = mask ? mask->data : NULL};
    of_axis.spec = &alone;
    int covered = 0;
    for (int b = 0; b < out->n_blocks; b++) {
        struct posref_block *block = &out->block[b];
        posref_wave_axes_block(block, &out->axis[b], &alone, c->spec, b);
        enum posref_status status = posref_judge_frequencies(&out->frequency[b], &of_axis,
                                                             block->n_sines);
        if (status != POSREF_OK)
            return status;
        if (c->spec->scheme == POSREF_SCHEME_FOURIER)
            fill_features(out->frequency[b], c, block->n_sines);
        out->per_row += block->n_sines;
        covered += block->n_sines + block->n_cosines;
    }
    out->per_row += c->spec->dim - covered;
    return coordinates(out, c, n);
}

/* A sum x_scale x + wave is rounded for its own size, and x may cancel. */
static void set_sum(struct judge_unit *unit, const struct judge_case *c, const double *x)
{
    const bool scaled = c->spec->x_scale == POSREF_X_SCALE_SQRT_DIM;
    const double size = scaled ? sqrt(c->spec->dim) : 1;
    unit->is_pair = false;
    if (unit->scale != 0)
        unit->scale = c->spec->table_scale;
    for (int which = 0; which < unit->n; which++) {
        const double term = size * fabs(x[unit->element[which]]);
        unit->out_scale[which] = fabs(unit->want[which]) + term * 0x1p-20;
        /* The root and the product with it are rounded. */
        if (scaled)
            unit->math_scale = fmax(unit->math_scale, 2 * term);
    }
}

/* Channels that no wave fills: zero, or x_scale x alone. */
static void lone_unit(struct judge_case *c, int tensor, int64_t element, double position)
{
    struct judge_unit *unit = posref_judge_one(c, tensor, element);
    unit->position = position;
    unit->angle = 0;
    unit->scale = 0;
}

static void wave_unit(struct judge_case *c, const struct waves *w, int tensor, int64_t base,
                      int64_t row, int b, int i)
{
    int sine, cosine;
    const double position = w->coordinate[b][row];
    const struct judge_frequency *f = &w->frequency[b][i];
    posref_layout_wave(&sine, &cosine, &w->block[b], i);
    struct judge_unit *unit;
    if (cosine >= 0) {
        unit = posref_judge_pair(c, f, i, position, tensor, base + cosine, tensor, base + sine);
        unit->pair = w->block[b].first / 2 + i;
    } else {
        unit = posref_judge_one(c, tensor, base + sine);
        unit->scale = c->spec->scheme == POSREF_SCHEME_SINUSOIDAL ? c->spec->table_scale : 1;
        unit->angle = fabs(position * f->theta);
        unit->k = f->k;
        unit->recurrence = f->recurrence;
        unit->extra = 1;
        unit->position = position;
    }
    unit->moves = position != 0;
}

static void row_of_units(struct judge_case *c, const struct waves *w, int tensor, int64_t row,
                         int64_t base)
{
    const int dim = c->spec->dim;
    const bool masked = w->mask && w->mask[row] == 0;
    int end = 0; /* channels of waves are contiguous from 0 */
    for (int b = 0; b < w->n_blocks && !masked; b++) {
        end = w->block[b].first + w->block[b].n_sines + w->block[b].n_cosines;
        for (int i = 0; i < w->block[b].n_sines; i++)
            wave_unit(c, w, tensor, base, row, b, i);
    }
    for (int channel = end; channel < dim; channel++)
        lone_unit(c, tensor, base + channel, w->coordinate[0][row]);
}

enum posref_status posref_judge_units_waves(struct judge_case *c)
{
    const bool embed = c->op == POSREF_OP_EMBED;
    const struct posref_tensor *x = posref_tensors_find(c->inputs, "x");
    const struct posref_tensor *positions = posref_tensors_find(c->inputs, "positions");
    if (!positions)
        positions = posref_tensors_find(c->inputs, "mask");
    const int64_t n = positions->shape[positions->rank - 1], dim = c->spec->dim;
    const int64_t n_rows = posref_tensor_count(&c->golden->item[0]) / dim;
    struct waves w;
    enum posref_status status = lay_out(&w, c, n);
    if (status == POSREF_OK) /* a masked row has a unit a channel */
        status = posref_judge_allocate(c, n_rows * (w.mask ? dim : w.per_row));
    for (int64_t row = 0; row < n_rows && status == POSREF_OK; row++) {
        const int64_t first = c->n_units;
        row_of_units(c, &w, 0, row / (n_rows / n), row * dim);
        for (int64_t k = first; k < c->n_units && embed; k++)
            set_sum(&c->unit[k], c, x->data);
    }
    return status;
}
