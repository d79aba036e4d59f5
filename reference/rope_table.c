/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of rope in the layouts that kernels are handed: cos and sin apart, joined in a row,
 * doubled, as complex numbers or matrices, or the angles alone. */
#include "layout.h"
#include "plan.h"
#include "xpos.h"

/* fill with a magnitude for each position. */
static enum posref_status fill_scaled(double *cosines, double *sines,
                                      const struct posref_plan *plan,
                                      const struct posref_positions *positions)
{
    enum posref_status status = POSREF_OK;
    for (int64_t at = 0; at < positions->n * plan->n_columns && status == POSREF_OK; at++) {
        const struct posref_frequencies *of = &plan->of[0];
        const double *position = &positions->value[at / plan->n_columns];
        const int i = (int)(at % plan->n_columns);
        struct posref_magnitude magnitude;
        status = posref_xpos_magnitude(&magnitude, of->spec, i, *position);
        if (status == POSREF_OK)
            status = posref_frequencies_table(cosines + at, sines + at, 1, of, i, &plan->turn[i],
                                              &magnitude, position, 1);
    }
    return status;
}

/* magnitude * cos and magnitude * sin, [n, n_columns] each. */
static enum posref_status fill(double *cosines, double *sines, const struct posref_plan *plan,
                               const struct posref_positions *positions)
{
    if (posref_xpos_on(plan->of[0].spec))
        return fill_scaled(cosines, sines, plan, positions);
    const int64_t n = positions->n, width = plan->n_columns;
    enum posref_status status = POSREF_OK;
    for (int64_t row = 0; row < n; row += POSREF_TABLE_ROWS) {
        const int64_t rows = n - row < POSREF_TABLE_ROWS ? n - row : POSREF_TABLE_ROWS;
        for (int i = 0; i < plan->n_columns && status == POSREF_OK; i++) {
            const struct posref_axis_pair *column = &plan->column[i];
            status = posref_frequencies_table(cosines + row * width + i, sines + row * width + i,
                                              width, &plan->of[column->ladder], column->index,
                                              &plan->turn[i], &plan->magnitude,
                                              positions->value + column->axis * n + row, rows);
        }
    }
    return status;
}

static void scatter(double *cos_out, double *sin_out, const struct posref_table_form *form,
                    const double *cosines, const double *sines, int64_t n, int n_columns)
{
    for (int64_t k = 0; k < n * n_columns; k++)
        for (int copy = 0; copy < form->copies; copy++) {
            const int64_t row = k / n_columns * form->width;
            int cosine, sine;
            bool negated;
            posref_layout_table_at(&cosine, &sine, &negated, form, (int)(k % n_columns), copy);
            cos_out[row + cosine] = cosines[k];
            sin_out[row + sine] = negated ? 0 - sines[k] : sines[k]; /* a zero stays +0 */
        }
}

struct angle {
    const struct posref_frequencies *of;
    int i;
    double position;
};

static enum posref_status angle_ball(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct angle *a = ctx;
    struct posref_ball position;
    enum posref_status status = posref_frequencies_at(out, a->of, a->i, prec_bits);
    posref_ball_set_double(&position, a->position);
    if (status == POSREF_OK)
        posref_ball_mul(out, out, &position, prec_bits);
    return status;
}

/* position * theta. The frequency is worked out once a column; what it leaves undecided is decided
 * with more bits. A frequency is exact or has a denominator that no 53-bit position makes a tie of,
 * but for yarn's ramp over a power of two: there a tie is POSREF_INTERNAL, never a wrong digit. */
static enum posref_status angles(struct posref_job *job, const struct posref_plan *plan,
                                 const struct posref_positions *positions)
{
    const int64_t n = positions->n, width = plan->n_columns;
    double *out;
    enum posref_status status = posref_job_output(&out, job, "angles", 2,
                                                  (const int64_t[]){n, width});
    for (int i = 0; i < plan->n_columns && status == POSREF_OK; i++) {
        const struct posref_axis_pair *column = &plan->column[i];
        struct angle a = {.of = &plan->of[column->ladder], .i = column->index};
        struct posref_ball theta, position, product;
        status = posref_frequencies_at(&theta, a.of, a.i, POSREF_WALK_BITS);
        for (int64_t row = 0; row < n && status == POSREF_OK; row++) {
            double *to = &out[row * width + i];
            a.position = positions->value[column->axis * n + row];
            posref_ball_set_double(&position, a.position);
            posref_ball_mul(&product, &theta, &position, POSREF_WALK_BITS);
            if (!posref_ball_round(to, &product))
                status = posref_ball_decide(to, angle_ball, &a);
        }
    }
    return status;
}

enum posref_status posref_rope_table(struct posref_job *job, const struct posref_plan *plan,
                                     const struct posref_positions *positions)
{
    const struct posref_spec *spec = job->spec;
    struct posref_table_form form;
    posref_layout_table(&form, spec);
    if (form.layout == POSREF_TABLE_ANGLES)
        return angles(job, plan, positions);
    const int64_t n = positions->n;
    const int64_t shape[] = {n, form.shape[0], form.shape[1], form.shape[2]};
    double *cos_out, *sin_out;
    enum posref_status status = posref_job_output(&cos_out, job, form.joined ? "table" : "cos",
                                                  form.rank + 1, shape);
    sin_out = cos_out;
    if (status == POSREF_OK && !form.joined)
        status = posref_job_output(&sin_out, job, "sin", form.rank + 1, shape);
    if (status != POSREF_OK)
        return status;
    if (form.layout == POSREF_TABLE_SPLIT)
        return fill(cos_out, sin_out, plan, positions);
    const size_t count = (size_t)n * (size_t)plan->n_columns;
    double *cosines = posref_job_alloc(job, count, sizeof *cosines);
    double *sines = posref_job_alloc(job, count, sizeof *sines);
    if (!cosines || !sines)
        return POSREF_NO_MEMORY;
    status = fill(cosines, sines, plan, positions);
    if (status == POSREF_OK)
        scatter(cos_out, sin_out, &form, cosines, sines, n, plan->n_columns);
    return status;
}
