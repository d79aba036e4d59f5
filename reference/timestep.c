/* SPDX-License-Identifier: Apache-2.0 */
/* Timestep embeddings of diffusion models (Ho et al., arXiv 2006.11239; huggingface/diffusers:
 * src/diffusers/models/embeddings.py, get_timestep_embedding).
 *
 * theta_i = max_period^(-i/(h - downscale_freq_shift)), i < h = floor(dim/2)
 * table[t] = sin(scale t theta_0), sin(scale t theta_1), ..., cos(scale t theta_0), ...
 * with flip_sin_to_cos all cosines first; an odd dim ends with a column of zeros. Timesteps may be
 * fractions. */
#include "judge_impl.h"
#include "waves_table.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_FLIP_SIN_TO_COS, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_DOWNSCALE_FREQ_SHIFT, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_SCALE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_MAX_PERIOD, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {{"positions", ""}, {NULL, NULL}};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->downscale_freq_shift >= spec->dim / 2)
        return posref_fail(err, POSREF_BAD_INPUT, "downscale_freq_shift",
                           "must be below floor(dim/2) = %d, got %d: frequencies divide by the "
                           "difference", spec->dim / 2, spec->downscale_freq_shift);
    return POSREF_OK;
}

static enum posref_status eval(struct posref_job *job)
{
    const struct posref_spec *spec = job->spec;
    struct posref_rows rows;
    struct posref_waves waves = {.times = spec->scale, .divisor = {.hi = 1}};
    waves.magnitude = (struct posref_magnitude){.hi = 1, .is_one = true, .is_exact = true};
    waves.ladder = (struct posref_ladder){.base = spec->max_period, .num = 1,
                                          .den = spec->dim / 2 - spec->downscale_freq_shift,
                                          .over = 1};
    posref_layout_block(&waves.block, spec);
    waves.turn = posref_job_alloc(job, (size_t)waves.block.n_sines, sizeof *waves.turn);
    if (!waves.turn)
        return POSREF_NO_MEMORY;
    enum posref_status status = posref_rows_read(&rows, job, 1, false, 0);
    if (status == POSREF_OK)
        status = posref_waves_prepare(&waves);
    if (status != POSREF_OK)
        return status;
    struct posref_coordinate *at = posref_job_alloc(job, (size_t)rows.n, sizeof *at);
    if (!at)
        return POSREF_NO_MEMORY;
    for (int64_t k = 0; k < rows.n; k++)
        at[k] = (struct posref_coordinate){.hi = rows.position[k]};
    const struct posref_coordinate *coordinates = at;
    return posref_waves_table_output(job, &(const struct posref_waves_set){
                                              .waves = &waves, .at = &coordinates, .n_blocks = 1,
                                              .rows = &rows, .x_scale_squared = 1});
}

const struct posref_scheme_def posref_timestep = {
    .info = {.name = "timestep",
             .summary = "sines and cosines of a diffusion timestep",
             .formula = "sin and cos of scale t max_period^(-i/(dim/2 - downscale_freq_shift))",
             .source = "Ho et al., Denoising Diffusion Probabilistic Models, arXiv 2006.11239",
             .learned = "none (a small network follows)",
             .injected = "the condition of every block, after that network",
             .relative = "not applicable: one timestep a sample",
             .beyond = "defined for every real timestep",
             .cost = "d values a sample",
             .users = "Stable Diffusion, SD3, Flux, DiT, Wan, Qwen-Image",
             .advice = "the noise level or time of diffusion and flow models",
             .differs = "sines or cosines first (flip_sin_to_cos), the divisor of the exponent "
                        "(downscale_freq_shift: 1 in the functions, 0 in most models), timesteps "
                        "to 1 or to 1000 (scale)"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_TABLE,
    .check = check,
    .eval = eval,
    .judge = posref_judge_units_waves,
};
