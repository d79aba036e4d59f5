/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a rope spec to a plan. */
#include "plan.h"

#include "layout.h"

static bool allocate(struct posref_plan *plan, const struct posref_job *job)
{
    size_t n = (size_t)plan->n_pairs;
    plan->pair = posref_job_alloc(job, n, sizeof *plan->pair);
    plan->turn = posref_job_alloc(job, (size_t)plan->n_frequencies, sizeof *plan->turn);
    plan->inv_freq = posref_job_alloc(job, (size_t)plan->n_frequencies, sizeof *plan->inv_freq);
    plan->copied = posref_job_alloc(job, (size_t)plan->dim, sizeof *plan->copied);
    return plan->pair && plan->turn && plan->inv_freq && plan->copied;
}

static void lay_out(struct posref_plan *plan, const struct posref_spec *spec)
{
    for (int channel = 0; channel < plan->dim; channel++)
        plan->copied[channel] = true;
    for (int i = 0; i < plan->n_pairs; i++) {
        struct posref_plan_pair *pair = &plan->pair[i];
        posref_layout_rope(&pair->in1, &pair->in2, spec, i);
        pair->out1 = pair->in1;
        pair->out2 = pair->in2;
        pair->axis = 0;
        pair->frequency = i;
        pair->sign = spec->direction == POSREF_DIRECTION_INVERSE ? -1 : 1;
        plan->copied[pair->out1] = plan->copied[pair->out2] = false;
    }
}

enum posref_status posref_plan_compile(struct posref_plan *out, struct posref_job *job)
{
    const struct posref_spec *spec = job->spec;
    posref_frequencies_rope(&out->of, spec);
    out->dim = spec->dim;
    out->n_pairs = out->n_frequencies = spec->rotary_dim / 2;
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
