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

enum posref_status posref_bend_sinusoidal(struct bend_job *job)
{
    const struct posref_spec *spec = &job->bend->spec;
    const struct posref_tensor *positions = posref_tensors_find(job->in, "positions");
    const struct posref_tensor *x = posref_tensors_find(job->in, "x");
    const bool embed = job->op == POSREF_OP_EMBED;
    struct bend_ladder l;
    enum posref_status status = posref_bend_ladder(&l, job);
    if (status != POSREF_OK)
        return status;
    if (!positions || positions->rank != 1 || (embed ? !x : job->op != POSREF_OP_TABLE) ||
        spec->dim % 2)
        return posref_fail(job->err, POSREF_BAD_INPUT, "op", "has no bent form");
    const int64_t n = positions->shape[0], plain[] = {n, spec->dim};
    struct sheet sheet = {.n = n};
    status = posref_bend_output(&sheet.value, &sheet.limit, &sheet.scale, job,
                                embed ? "y" : "table", embed ? x->rank : 2,
                                embed ? x->shape : plain);
    if (status != POSREF_OK)
        return status;
    status = posref_bend_pairs(job, embed ? 0 : n * l.n);
    if (status != POSREF_OK)
        return status;
    const int64_t heads = embed ? posref_tensor_count(x) / n / spec->dim : 1;
    sheet.width = heads * spec->dim;
    for (int64_t row = 0; row < n * heads; row++)
        for (int i = 0; i < l.n; i++) {
            int at_sin, at_cos;
            double c, s, error, p = ((double *)positions->data)[row / heads];
            const int64_t base = row * spec->dim;
            const double at = posref_bend_position(job->bend, p, row / heads, row % heads);
            posref_layout_sinusoidal(&at_sin, &at_cos, spec, i);
            posref_bend_turn(&c, &s, &error, job, &l, i, at);
            if (!embed)
                posref_bend_note(job, &(struct posref_bent_pair){{0, 0},
                                                                 {base + at_cos, base + at_sin}, i,
                                                                 l.theta[i], p, at});
            for (int which = 0; which < 2; which++) {
                const int64_t k = base + (which ? at_cos : at_sin);
                const double add = embed ? ((const double *)x->data)[k] : 0;
                sheet.value[k] = (which ? c : s) + add;
                sheet.scale[k] = fabs(l.magnitude);
                sheet.limit[k] = sheet.scale[k] * error + fabs(add) * 0x1p-20 +
                                 posref_bend_rounding(job, embed ? sheet.value[k] : 1);
            }
        }
    if (posref_bend_has(job->bend, POSREF_BEND_LAST_ROWS))
        swap_last_rows(&sheet);
    return POSREF_OK;
}
