/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal tables with faults. */
#include "bend_impl.h"
#include "layout.h"

#include <math.h>

struct sheet {
    double *value, *limit, *scale;
    int64_t n, width;
};

static void swap_last_rows(const struct sheet *sheet)
{
    double *const array[] = {sheet->value, sheet->limit, sheet->scale};
    for (int a = 0; a < 3 && sheet->n >= 2; a++)
        for (int64_t k = 0; k < sheet->width; k++) {
            double *last = array[a] + (sheet->n - 1) * sheet->width + k;
            double *before = last - sheet->width;
            const double kept = *last;
            *last = *before;
            *before = kept;
        }
}

/* A mask makes positions of its own, and axes have ladders of their own: no bent form. */
static bool has_form(const struct bend_job *job, const struct posref_tensor *positions,
                     const struct posref_tensor *x)
{
    return positions && !job->bend->spec->given[POSREF_FIELD_AXES_DIMS] &&
           !posref_tensors_find(job->in, "mask") &&
           (job->op == POSREF_OP_TABLE || (job->op == POSREF_OP_EMBED && x));
}

/* Channels of one row that no wave fills: x alone. */
static void start_row(const struct bend_job *job, struct sheet *sheet, int64_t base,
                      const double *x, double x_scale)
{
    for (int k = 0; k < job->bend->spec->dim; k++) {
        const int64_t e = base + k;
        sheet->value[e] = x ? x_scale * x[e] : 0;
        sheet->scale[e] = fabs(sheet->value[e]);
        sheet->limit[e] = x_scale == 1 ? 0 : posref_bend_rounding(job, sheet->value[e]) * 3;
    }
}

static void add_waves(struct bend_job *job, struct sheet *sheet, const struct bend_ladder *l,
                      const struct posref_block *block, int64_t base, double given, double at)
{
    for (int i = 0; i < l->n; i++) {
        int to[2];
        double wave[2], error;
        posref_layout_wave(&to[0], &to[1], block, i);
        posref_bend_turn(&wave[1], &wave[0], &error, job, l, i, at);
        if (to[1] >= 0 && job->op == POSREF_OP_TABLE)
            posref_bend_note(job, &(struct posref_bent_pair){{0, 0}, {base + to[1], base + to[0]},
                                                             i, l->theta[i], given, at});
        for (int which = 0; which < 2; which++) {
            const int64_t e = base + to[which];
            if (to[which] < 0)
                continue;
            const double x = sheet->value[e];
            sheet->value[e] = x + wave[which];
            sheet->scale[e] = fabs(l->magnitude);
            sheet->limit[e] = sheet->scale[e] * error + fabs(x) * 0x1p-20 +
                              posref_bend_rounding(job, x != 0 ? sheet->value[e] : l->magnitude);
        }
    }
}

enum posref_status posref_bend_sinusoidal(struct bend_job *job)
{
    const struct posref_spec *spec = job->bend->spec;
    const struct posref_tensor *positions = posref_tensors_find(job->in, "positions");
    const struct posref_tensor *x = posref_tensors_find(job->in, "x");
    const bool embed = job->op == POSREF_OP_EMBED;
    struct posref_block block;
    struct bend_ladder l;
    if (!has_form(job, positions, x))
        return posref_fail(job->err, POSREF_BAD_INPUT, "op", "has no bent form");
    posref_layout_block(&block, spec);
    const int64_t n = positions->shape[0], plain[] = {n, spec->dim};
    struct sheet sheet = {.n = n};
    enum posref_status status = posref_bend_ladder(&l, job, block.n_sines);
    if (status == POSREF_OK)
        status = posref_bend_output(&sheet.value, &sheet.limit, &sheet.scale, job,
                                    embed ? "y" : "table", embed ? x->rank : 2,
                                    embed ? x->shape : plain);
    if (status == POSREF_OK)
        status = posref_bend_pairs(job, embed ? 0 : n * l.n);
    if (status != POSREF_OK)
        return status;
    const bool scaled = spec->scheme == POSREF_SCHEME_SINUSOIDAL &&
                        spec->x_scale == POSREF_X_SCALE_SQRT_DIM;
    const int64_t heads = embed ? posref_tensor_count(x) / n / spec->dim : 1;
    sheet.width = heads * spec->dim;
    for (int64_t row = 0; row < n * heads; row++) {
        const double given = ((const double *)positions->data)[row / heads];
        const double from = spec->scheme == POSREF_SCHEME_SINUSOIDAL ? spec->offset : 0;
        const double at = posref_bend_position(job->bend, given + from, row / heads, row % heads);
        start_row(job, &sheet, row * spec->dim, embed ? x->data : NULL,
                  scaled ? sqrt(spec->dim) : 1);
        add_waves(job, &sheet, &l, &block, row * spec->dim, given, at);
    }
    if (posref_bend_has(job->bend, POSREF_BEND_LAST_ROWS))
        swap_last_rows(&sheet);
    return POSREF_OK;
}
