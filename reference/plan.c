/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a rope spec to a plan. */
#include "plan.h"

#include "layout.h"

static bool allocate(struct posref_plan *plan, const struct posref_job *job)
{
    const size_t n = (size_t)plan->n_columns;
    plan->pair = posref_job_alloc(job, (size_t)plan->n_pairs + 1, sizeof *plan->pair);
    plan->column = posref_job_alloc(job, n, sizeof *plan->column);
    plan->turn = posref_job_alloc(job, n, sizeof *plan->turn);
    plan->inv_freq = posref_job_alloc(job, n, sizeof *plan->inv_freq);
    plan->copied = posref_job_alloc(job, (size_t)plan->dim, sizeof *plan->copied);
    return plan->pair && plan->column && plan->turn && plan->inv_freq && plan->copied;
}

static void lay_out(struct posref_plan *plan, const struct posref_spec *spec)
{
    const int sign = spec->direction == POSREF_DIRECTION_INVERSE ? -1 : 1;
    for (int i = 0; i < plan->n_columns; i++)
        posref_axes_pair(&plan->column[i], spec, i);
    for (int i = 0; i < plan->n_pairs; i++) {
        struct posref_layout_pair at;
        posref_layout_rope(&at, spec, i);
        plan->pair[i] = (struct posref_plan_pair){.in = {at.in[0], at.in[1]},
                                                  .out = {at.out[0], at.out[1]},
                                                  .column = {at.frequency[0], at.frequency[1]},
                                                  .sign = sign};
    }
    posref_layout_copied(plan->copied, spec);
}

/* Walks each ladder and hands its frequencies to the columns that stand on it. */
static enum posref_status fill_columns(struct posref_plan *plan, const struct posref_job *job)
{
    struct posref_turn *turn = posref_job_alloc(job, (size_t)plan->n_columns, sizeof *turn);
    double *inv_freq = posref_job_alloc(job, (size_t)plan->n_columns, sizeof *inv_freq);
    if (!turn || !inv_freq)
        return POSREF_NO_MEMORY;
    for (int ladder = 0; ladder < plan->n_ladders; ladder++) {
        const struct posref_frequencies *of = &plan->of[ladder];
        enum posref_status status =
            posref_frequencies_walk(turn, inv_freq, of, of->spec->rotary_dim / 2);
        if (status != POSREF_OK)
            return status;
        for (int i = 0; i < plan->n_columns; i++) {
            if (plan->column[i].ladder != ladder)
                continue;
            plan->turn[i] = turn[plan->column[i].index];
            plan->inv_freq[i] = inv_freq[plan->column[i].index];
        }
    }
    return POSREF_OK;
}

/* One ladder is that of the job's spec itself; several have specs of their own. */
static enum posref_status make_ladders(struct posref_plan *plan, const struct posref_job *job)
{
    const struct posref_spec *spec = job->spec;
    struct posref_spec *own = NULL;
    if (plan->n_ladders > 1) {
        own = posref_job_alloc(job, (size_t)plan->n_ladders, sizeof *own);
        if (!own)
            return POSREF_NO_MEMORY;
    }
    for (int ladder = 0; ladder < plan->n_ladders; ladder++)
        posref_frequencies_rope(&plan->of[ladder],
                                own ? posref_axes_ladder(&own[ladder], spec, ladder) : spec);
    return POSREF_OK;
}

enum posref_status posref_plan_compile(struct posref_plan *out, struct posref_job *job)
{
    const struct posref_spec *spec = job->spec;
    out->dim = spec->dim;
    out->n_pairs = posref_layout_pairs(spec);
    out->n_columns = spec->rotary_dim / 2;
    out->n_axes = posref_axes_count(spec);
    out->n_ladders = posref_axes_ladders(spec);
    if (!allocate(out, job))
        return POSREF_NO_MEMORY;
    lay_out(out, spec);
    enum posref_status status = make_ladders(out, job);
    if (status == POSREF_OK)
        status = posref_frequencies_magnitude(&out->magnitude, &out->attention_factor,
                                              &out->of[0]);
    return status == POSREF_OK ? fill_columns(out, job) : status;
}
