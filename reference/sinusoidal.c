/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal position embedding (Vaswani et al., arXiv 1706.03762), and what its users made of it.
 *
 * theta_i = m (base/m)^(-2i/dim)             exponent=d, the paper's; m = min_timescale
 * theta_i = m (base/m)^(-i/(dim/2 - 1))      exponent=half_minus_one (tensor2tensor, fairseq)
 * a = (position + offset) theta_i
 * table[p] = sin a_0, cos a_0, sin a_1, ...       order=interleaved
 * table[p] = sin a_0, sin a_1, ..., cos a_0, ...  order=concat; flipped: all cosines first
 * y = x_scale x + table_scale table
 *
 * An odd dim is the table of dim - 1 and a column of zeros (tensor2tensor, fairseq), or theta_i =
 * base^(-2i/dim) with one sine more than cosines (Marian concat; interleaved, the usual truncation
 * of 0, 2, 4, ...). With padding_idx positions are counted from a mask and padding is zero.
 *
 * With axes_dims each position axis has a block of channels, the table of its width (wave_axes.h).
 */
#include "attention.h"
#include "judge_impl.h"
#include "wave_axes.h"
#include "waves_table.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_BASE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_ORDER, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_EXPONENT, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_ODD_DIM, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_OFFSET, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_PADDING_IDX, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_AXES_DIMS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_AXES_CHANNELS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_AXES_LENGTHS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_LENGTH_EPS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_ANGLE_UNIT, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MIN_TIMESCALE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_TABLE_SCALE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_X_SCALE, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"positions", ""}, {"mask", "*"}, {"x", "n,[*],dim"}, {NULL, NULL}};

static enum posref_status check_odd(struct posref_spec *spec, struct posref_error *err)
{
    const bool odd = spec->dim % 2, given = spec->given[POSREF_FIELD_ODD_DIM];
    if (odd && !given)
        return posref_fail(err, POSREF_BAD_INPUT, "dim",
                           "is odd (%d): say odd_dim=zero_column or odd_dim=extra_sine",
                           spec->dim);
    if (odd && spec->odd_dim == POSREF_ODD_DIM_EXTRA_SINE &&
        spec->exponent != POSREF_EXPONENT_D)
        return posref_fail(err, POSREF_BAD_INPUT, "odd_dim", "extra_sine needs exponent=d");
    if (!odd && given) { /* means nothing there */
        spec->given[POSREF_FIELD_ODD_DIM] = false;
        spec->odd_dim = 0;
    }
    return POSREF_OK;
}

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    enum posref_status status = posref_wave_axes_check(spec, err);
    if (status == POSREF_OK)
        status = check_odd(spec, err);
    if (status != POSREF_OK)
        return status;
    if (spec->exponent == POSREF_EXPONENT_HALF_MINUS_ONE && spec->dim < 4)
        return posref_fail(err, POSREF_BAD_INPUT, "exponent",
                           "half_minus_one divides by dim/2 - 1 and needs dim >= 4, got dim=%d",
                           spec->dim);
    if (!(spec->min_timescale < spec->base))
        return posref_fail(err, POSREF_BAD_INPUT, "min_timescale", "must be below base (%.15g)",
                           spec->base);
    if (spec->given[POSREF_FIELD_PADDING_IDX] && spec->offset != 0)
        return posref_fail(err, POSREF_BAD_INPUT, "offset",
                           "must be 0 when padding_idx counts the positions");
    return POSREF_OK;
}

static void ladder(struct posref_ladder *out, const struct posref_spec *spec)
{
    const bool d = spec->exponent == POSREF_EXPONENT_D;
    const bool extra = spec->given[POSREF_FIELD_ODD_DIM] &&
                       spec->odd_dim == POSREF_ODD_DIM_EXTRA_SINE;
    const int even = extra ? spec->dim : spec->dim - spec->dim % 2;
    *out = (struct posref_ladder){.base = spec->base, .num = d ? 2 : 1,
                                  .den = d ? even : spec->dim / 2 - 1, .over = 1};
    if (spec->min_timescale != 1) { /* (base/m)^-e = base^-e m^e */
        posref_ball_set_double(&out->stretch, spec->min_timescale);
        out->stretch_num = -out->num;
        out->stretch_den = out->den;
    }
}

/* Positions of an axis with their offset, which stay in the range of positions. */
static enum posref_status coordinates(const struct posref_coordinate **out, struct posref_job *job,
                                      const struct posref_rows *rows, int axis)
{
    const double *position = rows->position + axis * rows->n;
    struct posref_coordinate *at = posref_job_alloc(job, (size_t)rows->n, sizeof *at);
    if (!at)
        return POSREF_NO_MEMORY;
    for (int64_t k = 0; k < rows->n; k++) {
        at[k] = posref_coordinate_sum(position[k], job->spec->offset);
        if (at[k].hi > POSREF_MAX_POSITION || at[k].hi < -POSREF_MAX_POSITION)
            return posref_fail(job->err, POSREF_BAD_INPUT, "positions",
                               "element %lld with its offset is %.17g; the absolute value must be "
                               "at most %.0f", (long long)k, at[k].hi, POSREF_MAX_POSITION);
    }
    *out = at;
    return POSREF_OK;
}

void posref_sinusoidal_waves(struct posref_waves *out, const struct posref_spec *spec)
{
    *out = (struct posref_waves){.times = spec->min_timescale, .divisor = {.hi = 1},
                                 .unit = (enum posref_angle_unit)spec->angle_unit};
    out->magnitude = (struct posref_magnitude){.hi = spec->table_scale,
                                               .is_one = spec->table_scale == 1,
                                               .is_exact = true};
    posref_layout_block(&out->block, spec);
    ladder(&out->ladder, spec);
}

/* The waves and coordinates of block b. */
static enum posref_status fill_block(struct posref_waves *waves,
                                     const struct posref_coordinate **at, struct posref_job *job,
                                     const struct posref_rows *rows, int b)
{
    const struct posref_spec *spec = job->spec;
    struct posref_spec alone;
    struct posref_block block;
    int axis;
    posref_wave_axes_block(&block, &axis, &alone, spec, b);
    posref_sinusoidal_waves(waves, &alone);
    waves->block = block;
    if (spec->given[POSREF_FIELD_AXES_LENGTHS])
        waves->divisor = posref_coordinate_sum(alone.axes_lengths.item[0], spec->length_eps);
    waves->turn = posref_job_alloc(job, (size_t)waves->block.n_sines, sizeof *waves->turn);
    if (!waves->turn)
        return POSREF_NO_MEMORY;
    enum posref_status status = coordinates(at, job, rows, axis);
    return status == POSREF_OK ? posref_waves_prepare(waves) : status;
}

static enum posref_status eval(struct posref_job *job)
{
    const struct posref_spec *spec = job->spec;
    if (posref_attention_alone(job))
        return POSREF_OK;
    const bool counted = spec->given[POSREF_FIELD_PADDING_IDX];
    const int n_blocks = posref_wave_axes_count(spec);
    struct posref_rows rows;
    const struct posref_coordinate *at[POSREF_MAX_INTS];
    struct posref_waves waves[POSREF_MAX_INTS];
    enum posref_status status = posref_rows_read(&rows, job, n_blocks, counted,
                                                 spec->padding_idx + 1.0);
    for (int b = 0; b < n_blocks && status == POSREF_OK; b++)
        status = fill_block(&waves[b], &at[b], job, &rows, b);
    if (status != POSREF_OK)
        return status;
    const struct posref_waves_set set = {
        .waves = waves, .at = at, .n_blocks = n_blocks, .rows = &rows,
        .x_scale_squared = spec->x_scale == POSREF_X_SCALE_SQRT_DIM ? spec->dim : 1};
    if (posref_job_wants(job, POSREF_OP_TABLE, true))
        status = posref_waves_table_output(job, &set);
    if (status == POSREF_OK && posref_job_wants(job, POSREF_OP_EMBED, posref_job_has(job, "x")))
        status = posref_waves_embed_output(job, &set);
    return status;
}

const struct posref_scheme_def posref_sinusoidal = {
    .info = {.name = "sinusoidal",
             .summary = "fixed sines and cosines of the position, added to the token embedding",
             .formula = "PE(p, 2i) = sin(p base^(-2i/dim)); PE(p, 2i+1) = cos(p base^(-2i/dim)); "
                        "scores = (q_i + PE_i) . (k_j + PE_j) / sqrt(dim), in four terms",
             .source = "Vaswani et al., Attention Is All You Need, arXiv 1706.03762",
             .learned = "none",
             .injected = "added to the token embedding, once",
             .relative = "no: a shift of both positions is a linear map of the encoding, but "
                         "scores change with it",
             .beyond = "defined for every position, but models rarely work on unseen ones",
             .cost = "one addition a channel of the input, O(n d); a table of n d values",
             .users = "Transformer, Marian, M2M100, Whisper's encoder, MAE, DiT, PixArt, "
                      "CogVideoX-2B, DETR",
             .advice = "absolute positions without parameters: encoders, images, conditions",
             .differs = "the order of sines and cosines (order), the exponent of the last "
                        "frequencies (exponent), the last channel of an odd width (odd_dim), the "
                        "first position (offset, padding_idx), min_timescale, which multiplies, "
                        "scales of the table and of its input (table_scale, x_scale), and over "
                        "several axes the order of the axes in the channels (axes_channels) and "
                        "what positions are divided by (axes_lengths)"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_TABLE | 1U << POSREF_OP_EMBED,
    .check = check,
    .eval = eval,
    .judge = posref_judge_units_waves,
    .attention = &posref_attention_additive,
};
