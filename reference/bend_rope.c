/* SPDX-License-Identifier: Apache-2.0 */
/* Rope with faults. */
#include "axes.h"
#include "bend_impl.h"
#include "layout.h"

#include <math.h>

/* Columns of tables and frequencies: with partial=proportional pairs that do not turn as well. */
static int columns_of(const struct bend_job *job, const struct bend_ladder *l)
{
    const struct posref_spec *spec = job->bend->spec;
    return spec->partial == POSREF_PARTIAL_PROPORTIONAL ? spec->dim / 2 : l->n;
}

static enum posref_status frequencies(struct bend_job *job, struct bend_ladder *l)
{
    double *value, *limit, *scale;
    const int64_t n = columns_of(job, l);
    enum posref_status status = posref_bend_output(&value, &limit, &scale, job, "inv_freq", 1, &n);
    const int64_t first = posref_bend_first(job, n);
    for (int64_t k = 0; k < n && status == POSREF_OK; k++) {
        const int i = (int)((first + k) % n);
        const bool turns = i < l->n;
        value[i] = turns ? posref_bend_theta(l, job, i) : 0;
        scale[i] = fabs(value[i]);
        limit[i] = turns ? scale[i] * l->k[i] * 0x1p-24 + posref_bend_rounding(job, value[i]) : 0;
        if (!posref_bend_done(job, 0, i))
            return status;
    }
    if (status == POSREF_OK)
        status = posref_bend_output(&value, &limit, &scale, job, "attention_factor", 0, NULL);
    if (status == POSREF_OK) {
        *value = l->magnitude;
        *scale = fabs(*value);
        *limit = *scale * 4 * 0x1p-24 + posref_bend_rounding(job, *value);
        (void)posref_bend_done(job, 1, 0);
    }
    return status;
}

double posref_bend_given(const struct posref_spec *spec, const double *p, int64_t n_rows,
                         int64_t n, int i)
{
    struct posref_axis_pair at = {.axis = 0};
    if (posref_axes_count(spec) > 1)
        posref_axes_pair(&at, spec, i);
    return p[at.axis * n_rows + n];
}

/* A table as it is filled. */
struct sheet {
    double *value[2], *limit[2], *scale[2]; /* of cosines and sines, [n, columns] */
    const double *p;
    int64_t n, columns;
};

static void fill_column(struct bend_job *job, struct bend_ladder *l, const struct sheet *sheet,
                        int64_t row, int i)
{
    const int64_t k = row * sheet->columns + i;
    double error = 0, magnitude = 1;
    sheet->value[0][k] = 1;
    sheet->value[1][k] = 0;
    if (i < l->n) {
        const double given = posref_bend_given(job->bend->spec, sheet->p, sheet->n, row, i);
        const double at = posref_bend_position(job->bend, given, row, 0);
        posref_bend_turn(&sheet->value[0][k], &sheet->value[1][k], &error, job, l, i, at);
        posref_bend_note(job, &(struct posref_bent_pair){{0, 1}, {k, k}, i, l->theta[i], given,
                                                         at});
        magnitude = fabs(posref_bend_magnitude(job, l, i, at));
    }
    for (int which = 0; which < 2; which++) {
        sheet->scale[which][k] = magnitude;
        sheet->limit[which][k] = magnitude * error + posref_bend_rounding(job, magnitude);
    }
}

static enum posref_status table(struct bend_job *job, struct bend_ladder *l,
                                const struct posref_tensor *positions)
{
    struct sheet sheet = {.p = positions->data, .n = positions->shape[positions->rank - 1],
                          .columns = columns_of(job, l)};
    const int64_t shape[] = {sheet.n, sheet.columns}, count = sheet.n * sheet.columns;
    enum posref_status status = posref_bend_output(&sheet.value[0], &sheet.limit[0],
                                                   &sheet.scale[0], job, "cos", 2, shape);
    if (status == POSREF_OK)
        status = posref_bend_output(&sheet.value[1], &sheet.limit[1], &sheet.scale[1], job, "sin",
                                    2, shape);
    if (status == POSREF_OK)
        status = posref_bend_pairs(job, sheet.n * l->n);
    const int64_t first = posref_bend_first(job, count);
    for (int64_t k = 0; k < count && status == POSREF_OK; k++) {
        const int64_t at = (first + k) % count;
        fill_column(job, l, &sheet, at / sheet.columns, (int)(at % sheet.columns));
        if (!posref_bend_done(job, 0, at) || !posref_bend_done(job, 1, at))
            break;
    }
    return status;
}

enum posref_status posref_bend_rope(struct bend_job *job)
{
    struct bend_ladder ladder;
    const struct posref_tensor *positions = posref_tensors_find(job->in, "positions");
    enum posref_status status = posref_bend_ladder(&ladder, job,
                                                   posref_layout_pairs(job->bend->spec));
    if (status != POSREF_OK || job->op == POSREF_OP_FREQUENCIES)
        return status == POSREF_OK ? frequencies(job, &ladder) : status;
    const int axes = posref_axes_count(job->bend->spec);
    if (!positions || (axes > 1 ? positions->rank != 2 || positions->shape[0] != axes
                                : positions->rank != 1) ||
        positions->shape[positions->rank - 1] == 0)
        return posref_fail(job->err, POSREF_BAD_INPUT, "positions", "have no bent form");
    if (job->op == POSREF_OP_TABLE && !job->bend->spec->given[POSREF_FIELD_TABLE_LAYOUT])
        return table(job, &ladder, positions);
    if (job->op == POSREF_OP_ROTATE || job->op == POSREF_OP_ROTATE_BACKWARD)
        return posref_bend_rotate(job, &ladder, positions);
    return posref_fail(job->err, POSREF_BAD_INPUT, "op", "has no bent form");
}
