/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a rope spec to a plan. */
#include "plan.h"

#include "layout.h"

static bool allocate(struct posref_plan *plan, const struct posref_job *job)
{
    plan->pair = posref_job_alloc(job, (size_t)plan->n_pairs + 1, sizeof *plan->pair);
    plan->column = posref_job_alloc(job, (size_t)plan->n_columns, sizeof *plan->column);
    plan->turn = posref_job_alloc(job, (size_t)plan->n_frequencies, sizeof *plan->turn);
    plan->inv_freq = posref_job_alloc(job, (size_t)plan->n_frequencies, sizeof *plan->inv_freq);
    plan->copied = posref_job_alloc(job, (size_t)plan->dim, sizeof *plan->copied);
    return plan->pair && plan->column && plan->turn && plan->inv_freq && plan->copied;
}

static void lay_out(struct posref_plan *plan, const struct posref_spec *spec)
{
    const int sign = spec->direction == POSREF_DIRECTION_INVERSE ? -1 : 1;
    for (int i = 0; i < plan->n_columns; i++)
        plan->column[i] = (struct posref_plan_column){.axis = 0, .frequency = i};
    for (int i = 0; i < plan->n_pairs; i++) {
        struct posref_layout_pair at;
        posref_layout_rope(&at, spec, i);
        plan->pair[i] = (struct posref_plan_pair){.in = {at.in[0], at.in[1]},
                                                  .out = {at.out[0], at.out[1]},
                                                  .axis = 0,
                                                  .frequency = {at.frequency[0], at.frequency[1]},
                                                  .sign = sign};
    }
    posref_layout_copied(plan->copied, spec);
}

enum posref_status posref_plan_compile(struct posref_plan *out, struct posref_job *job)
{
    const struct posref_spec *spec = job->spec;
    posref_frequencies_rope(&out->of, spec);
    out->dim = spec->dim;
    out->n_pairs = posref_layout_pairs(spec);
    out->n_columns = out->n_frequencies = spec->rotary_dim / 2;
    out->n_axes = 1;
    if (!allocate(out, job))
        return POSREF_NO_MEMORY;
    lay_out(out, spec);
    enum posref_status status = posref_frequencies_magnitude(&out->magnitude,
                                                             &out->attention_factor, &out->of);
    if (status == POSREF_OK)
        status = posref_frequencies_walk(out->turn, out->inv_freq, &out->of, out->n_frequencies);
    return status;
}
