/* SPDX-License-Identifier: Apache-2.0 */
/* Random Fourier features of a noise level or coordinate (Tancik et al., arXiv 2006.10739; Song et
 * al., arXiv 2011.13456; huggingface/diffusers:src/diffusers/models/embeddings.py,
 * GaussianFourierProjection).
 *
 * table[x] = sin(2 pi W_0 z), sin(2 pi W_1 z), ..., cos(2 pi W_0 z), ...
 * z = ln x, or x with log=false; with flip_sin_to_cos all cosines first. W, dim/2 numbers, is the
 * input weights. W z is a number of turns: with log=false a product of two doubles, exact at
 * quarter turns. */
#include "judge_impl.h"
#include "waves_table.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_FLIP_SIN_TO_COS, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_LOG, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {{"positions", ""}, {"weights", "*"}, {NULL, NULL}};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->dim % 2)
        return posref_fail(err, POSREF_BAD_INPUT, "dim", "must be even, got %d", spec->dim);
    return POSREF_OK;
}

static enum posref_status coordinates(const struct posref_coordinate **out, struct posref_job *job,
                                      const struct posref_rows *rows)
{
    struct posref_coordinate *at = posref_job_alloc(job, (size_t)rows->n, sizeof *at);
    if (!at)
        return POSREF_NO_MEMORY;
    for (int64_t k = 0; k < rows->n; k++) {
        if (job->spec->log && !(rows->position[k] > 0))
            return posref_fail(job->err, POSREF_BAD_INPUT, "positions",
                               "element %lld is %.17g; log=true needs positive ones",
                               (long long)k, rows->position[k]);
        at[k] = (struct posref_coordinate){.hi = rows->position[k]};
    }
    *out = at;
    if (!job->spec->log)
        return POSREF_OK;
    struct posref_turn *logs = posref_job_alloc(job, (size_t)rows->n, sizeof *logs);
    return logs ? posref_waves_logarithms(logs, at, rows->n) : POSREF_NO_MEMORY;
}

/* Turns stay in the range in which balls of every precision hold them exactly. */
static enum posref_status check_weights(struct posref_job *job, const double *weights, int n)
{
    for (int i = 0; i < n; i++)
        if (weights[i] != 0 && !(weights[i] <= 1e6 && weights[i] >= -1e6 &&
                                 (weights[i] >= 1e-30 || weights[i] <= -1e-30)))
            return posref_fail(job->err, POSREF_BAD_INPUT, "weights",
                               "element %d is %.17g; must be 0, or 1e-30 to 1e6 in size", i,
                               weights[i]);
    return POSREF_OK;
}

static enum posref_status eval(struct posref_job *job)
{
    const struct posref_spec *spec = job->spec;
    const struct posref_coordinate *at;
    struct posref_rows rows;
    struct posref_waves waves = {.times = 1, .divisor = {.hi = 1}, .log = spec->log};
    waves.magnitude = (struct posref_magnitude){.hi = 1, .is_one = true, .is_exact = true};
    posref_layout_block(&waves.block, spec);
    waves.turn = posref_job_alloc(job, (size_t)waves.block.n_sines, sizeof *waves.turn);
    if (!waves.turn)
        return POSREF_NO_MEMORY;
    enum posref_status status = posref_job_input(&waves.turns_per, job, "weights", 1,
                                                 (const int64_t[]){spec->dim / 2});
    if (status == POSREF_OK)
        status = check_weights(job, waves.turns_per, spec->dim / 2);
    if (status == POSREF_OK)
        status = posref_rows_read(&rows, job, 1, false, 0);
    if (status == POSREF_OK)
        status = coordinates(&at, job, &rows);
    if (status == POSREF_OK)
        status = posref_waves_prepare(&waves);
    if (status != POSREF_OK)
        return status;
    return posref_waves_table_output(job, &(const struct posref_waves_set){
                                              .waves = &waves, .at = &at, .n_blocks = 1,
                                              .rows = &rows, .x_scale_squared = 1});
}

const struct posref_scheme_def posref_fourier = {
    .info = {.name = "fourier",
             .summary = "sines and cosines at random frequencies, of a noise level or coordinate",
             .formula = "sin and cos of 2 pi W_i z; z = ln x, or x (log=false)",
             .source = "Song et al., Score-Based Generative Modeling through SDEs, "
                       "arXiv 2011.13456",
             .learned = "none: d/2 frequencies drawn once and kept",
             .injected = "the condition of every block, after a small network",
             .relative = "not applicable: one noise level a sample",
             .beyond = "defined for every noise level (log: positive ones)",
             .cost = "d values a sample",
             .users = "score SDE (NCSN++), Stable Audio's timing, UNet2DModel with fourier",
             .advice = "noise levels over many orders of magnitude; coordinates of fields",
             .differs = "the logarithm (log), sines or cosines first (flip_sin_to_cos)"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_TABLE,
    .check = check,
    .eval = eval,
    .judge = posref_judge_units_waves,
};
