/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of learned tables as judged units: copies are exact, sums and resampled rows within their
 * rounding; docs/tolerance.md, "Learned tables". */
#include "judge_impl.h"
#include "learned.h"

#include <math.h>

void posref_learned_size(struct posref_learned_size *out, const struct posref_learned_entry *e,
                         const double *weights, int64_t dim)
{
    *out = (struct posref_learned_size){.copy = e->y.n * e->x.n == 1};
    for (int i = 0; i < e->y.n; i++)
        for (int j = 0; j < e->x.n; j++) {
            const int64_t row = e->first + e->y.index[i] * e->width + e->x.index[j];
            const double tap = (double)e->y.numerator[i] / (double)e->y.denominator *
                               (double)e->x.numerator[j] / (double)e->x.denominator;
            out->sum += fabs(tap * weights[row * dim]);
            out->largest = fmax(out->largest, fabs(weights[row * dim]));
        }
}

/* A tap's place is off by up to 3 u of the axis' length, and its four weights together change by at
 * most 4 times that: k counts both axes. Products and up to 16 additions are extra. */
double posref_learned_resample_k(const struct posref_spec *spec)
{
    double length = 0;
    for (int axis = 0; axis < spec->source_grid.n; axis++)
        length += spec->source_grid.item[axis];
    return 12 * length + 16;
}

static void resampled(struct judge_unit *unit, const struct judge_case *c,
                      const struct posref_learned_size *t)
{
    unit->scale = c->spec->table_scale * (t->sum + t->largest);
    unit->angle = 1;
    unit->k = posref_learned_resample_k(c->spec);
    unit->extra = 8;
}

static void fill_unit(struct judge_unit *unit, const struct judge_case *c,
                      const struct posref_learned_size *t, const double *x)
{
    const struct posref_spec *spec = c->spec;
    const double row = spec->table_scale * t->sum, want = fabs(unit->want[0]);
    unit->scale = 0;
    unit->angle = 0;
    if (!t->copy)
        resampled(unit, c, t);
    if (spec->table_scale != 1)
        unit->math_scale += row;
    unit->out_scale[0] = t->copy && spec->table_scale == 1 && !x ? 0 : want;
    if (x) {
        const bool root = spec->x_scale == POSREF_X_SCALE_SQRT_DIM;
        const double term = fabs(*x) * (root ? sqrt(spec->dim) : 1);
        unit->out_scale[0] += (term + row) * 0x1p-20; /* formed in single, then stored */
        unit->math_scale += root ? 2 * term : 0;
    }
    unit->moves = true;
}

/* Rows of each position, as evaluation counts them. */
static double row_of(const struct judge_case *c, int64_t k, double *next)
{
    const struct posref_tensor *positions = posref_tensors_find(c->inputs, "positions");
    const bool pads = c->spec->given[POSREF_FIELD_PADDING_IDX];
    const double first = pads ? c->spec->padding_idx + 1.0 : c->spec->offset;
    if (positions)
        return ((const double *)positions->data)[k] + c->spec->offset;
    const double *mask = posref_tensors_find(c->inputs, "mask")->data;
    return mask[k] == 0 ? first - 1 : first + (*next)++;
}

enum posref_status posref_judge_units_learned(struct judge_case *c)
{
    const struct posref_tensor *weights = posref_tensors_find(c->inputs, "weights");
    const struct posref_tensor *x = posref_tensors_find(c->inputs, "x");
    const struct posref_tensor *at = posref_tensors_find(c->inputs, "positions");
    const int64_t dim = c->spec->dim, count = posref_tensor_count(&c->golden->item[0]);
    if (!at)
        at = posref_tensors_find(c->inputs, "mask");
    const int64_t n = at->shape[at->rank - 1], of_position = count / n;
    double next = 0;
    enum posref_status status = posref_judge_allocate(c, count);
    for (int64_t k = 0; k < n && status == POSREF_OK; k++) {
        struct posref_learned_entry entry;
        if (!posref_learned_entry(&entry, c->spec, weights->shape[0], row_of(c, k, &next)))
            return posref_fail(c->err, POSREF_BAD_INPUT, "positions", "lie beyond the table");
        for (int64_t i = k * of_position; i < (k + 1) * of_position; i++) {
            struct posref_learned_size terms;
            struct judge_unit *unit = posref_judge_one(c, 0, i);
            posref_learned_size(&terms, &entry, (const double *)weights->data + i % dim, dim);
            fill_unit(unit, c, &terms,
                      c->op == POSREF_OP_EMBED ? (const double *)x->data + i : NULL);
        }
    }
    return status;
}
