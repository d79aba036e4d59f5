/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal tables with faults. */
#include "bend_impl.h"
#include "layout.h"

#include <math.h>

struct sheet {
    double *value, *limit, *scale;
    const double *position;
    const double *x; /* NULL: op table */
    double x_scale;
    int64_t n, heads;
    bool *waves; /* [dim]: a wave fills the channel */
    int first_wave;
};

/* A mask makes positions of its own, and axes have ladders of their own: no bent form. */
static bool has_form(const struct bend_job *job, const struct posref_tensor *positions,
                     const struct posref_tensor *x)
{
    return positions && !job->bend->spec->given[POSREF_FIELD_AXES_DIMS] &&
           !posref_tensors_find(job->in, "mask") &&
           (job->op == POSREF_OP_TABLE || (job->op == POSREF_OP_EMBED && x));
}

/* One row without its waves: x (NULL: 0) alone. */
static void start_row(const struct bend_job *job, struct sheet *sheet, int64_t base,
                      const double *x)
{
    const double x_scale = sheet->x_scale;
    for (int k = 0; k < job->bend->spec->dim; k++) {
        const int64_t e = base + k;
        sheet->value[e] = x ? x_scale * x[k] : 0;
        sheet->scale[e] = fabs(sheet->value[e]);
        sheet->limit[e] = x_scale == 1 ? 0 : posref_bend_rounding(job, sheet->value[e]) * 3;
    }
}

/* Wave i of a row that begins at `base`. */
static void add_wave(struct bend_job *job, struct sheet *sheet, struct bend_ladder *l, int i,
                     const int to[2], int64_t base, double given, double at)
{
    double wave[2], error;
    posref_bend_turn(&wave[1], &wave[0], &error, job, l, i, at);
    if (to[1] >= 0 && job->op == POSREF_OP_TABLE)
        posref_bend_note(job, &(struct posref_bent_pair){{0, 0}, {base + to[1], base + to[0]}, i,
                                                         l->theta[i], given, at});
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

/* False: the rest is not wanted. */
static bool fill_row(struct bend_job *job, struct sheet *sheet, struct bend_ladder *l,
                     const struct posref_block *block, int64_t row)
{
    const struct posref_spec *spec = job->bend->spec;
    const int64_t n = row / sheet->heads, head = row % sheet->heads;
    const int64_t base = posref_bend_row(job, row, sheet->n, sheet->heads) * spec->dim;
    const double given = sheet->position[n];
    const double from = spec->scheme == POSREF_SCHEME_SINUSOIDAL ? spec->offset : 0;
    const double at = posref_bend_position(job->bend, given + from, n, head);
    start_row(job, sheet, base, sheet->x ? sheet->x + row * spec->dim : NULL);
    for (int k = 0; k < l->n; k++) {
        const int i = (sheet->first_wave + k) % l->n;
        int to[2];
        posref_layout_wave(&to[0], &to[1], block, i);
        add_wave(job, sheet, l, i, to, base, given, at);
        for (int which = 0; which < 2; which++) {
            if (to[which] >= 0 && !posref_bend_done(job, 0, base + to[which]))
                return false;
        }
    }
    for (int k = 0; k < spec->dim; k++)
        if (!sheet->waves[k] && !posref_bend_done(job, 0, base + k))
            return false;
    return true;
}

/* All rows and all waves, from those that make the first element on. */
static void fill(struct bend_job *job, struct sheet *sheet, struct bend_ladder *l,
                 const struct posref_block *block)
{
    const int64_t dim = job->bend->spec->dim, n_rows = sheet->n * sheet->heads;
    const int64_t element = posref_bend_first(job, n_rows * dim);
    const int64_t first = posref_bend_row(job, element / dim, sheet->n, sheet->heads);
    for (int i = 0; i < l->n; i++) {
        int to[2];
        posref_layout_wave(&to[0], &to[1], block, i);
        for (int which = 0; which < 2; which++) {
            if (to[which] >= 0)
                sheet->waves[to[which]] = true;
            if (to[which] == element % dim)
                sheet->first_wave = i;
        }
    }
    for (int64_t k = 0; k < n_rows; k++)
        if (!fill_row(job, sheet, l, block, (first + k) % n_rows))
            return;
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
    const bool scaled = spec->scheme == POSREF_SCHEME_SINUSOIDAL &&
                        spec->x_scale == POSREF_X_SCALE_SQRT_DIM;
    struct sheet sheet = {.position = positions->data, .x = embed ? x->data : NULL,
                          .x_scale = scaled ? sqrt(spec->dim) : 1, .n = n,
                          .heads = embed ? posref_tensor_count(x) / n / spec->dim : 1};
    enum posref_status status = posref_bend_ladder(&l, job, block.n_sines);
    if (status == POSREF_OK)
        status = posref_bend_output(&sheet.value, &sheet.limit, &sheet.scale, job,
                                    embed ? "y" : "table", embed ? x->rank : 2,
                                    embed ? x->shape : plain);
    if (status == POSREF_OK)
        status = posref_bend_pairs(job, embed ? 0 : n * l.n);
    if (status != POSREF_OK)
        return status;
    sheet.waves = job->arena->alloc(job->arena->ctx, (size_t)spec->dim * sizeof *sheet.waves + 1);
    if (!sheet.waves)
        return posref_fail(job->err, POSREF_NO_MEMORY, "", "out of memory");
    for (int k = 0; k < spec->dim; k++)
        sheet.waves[k] = false;
    if (sheet.heads > 0)
        fill(job, &sheet, &l, &block);
    return POSREF_OK;
}
