/* SPDX-License-Identifier: Apache-2.0 */
/* Llama 3.1's frequency scaling (meta-llama/llama-models): three bands by rotations in the original
 * context. rot_i = L theta_i / (2 pi), L = original_max_position_embeddings,
 * lf = low_freq_factor, hf = high_freq_factor:
 *     rot_i > hf:  theta_i
 *     rot_i < lf:  theta_i / factor
 *     between:     (1 - s) theta_i / factor + s theta_i,   s = (rot_i - lf) / (hf - lf)
 * hf = lf is defined: there is no band between.
 *
 * theta_i is algebraic and L / (2 pi) is not, so rot_i never equals hf or lf: enough precision
 * always decides the band, and no convention about the edges is needed. */
#include "scaling.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_LOW_FREQ_FACTOR, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_HIGH_FREQ_FACTOR, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->high_freq_factor < spec->low_freq_factor)
        return posref_fail(err, POSREF_BAD_INPUT, "high_freq_factor",
                           "must be at least low_freq_factor=%.15g, got %.15g",
                           spec->low_freq_factor, spec->high_freq_factor);
    return POSREF_OK;
}

enum posref_status posref_scaling_rotations_prepare(struct posref_scaling_state *state)
{
    struct posref_ball two_pi;
    posref_ball_pi(&two_pi, state->prec_bits);
    posref_ball_scale2(&two_pi, &two_pi, 1);
    posref_ball_set_double(&state->a, state->spec->original_max_position_embeddings);
    return posref_ball_div(&state->a, &state->a, &two_pi, state->prec_bits) ? POSREF_OK
                                                                           : POSREF_INTERNAL;
}

enum posref_status posref_scaling_rotations_apply(struct posref_ball *theta,
                                                  const struct posref_scaling_state *state,
                                                  double low_edge, double high_edge)
{
    const unsigned prec_bits = state->prec_bits;
    struct posref_ball rotations, low, high;
    posref_ball_mul(&rotations, theta, &state->a, prec_bits);
    posref_ball_set_double(&low, low_edge);
    posref_ball_set_double(&high, high_edge);
    int above_high = posref_ball_compare(&rotations, &high);
    int above_low = posref_ball_compare(&rotations, &low);
    if (above_high == 1)
        return POSREF_OK;
    if (above_high == 2 || above_low == 2)
        return POSREF_INTERNAL;
    if (above_low == -1) {
        posref_ball_set_double(&low, state->spec->factor);
        return posref_ball_div(theta, theta, &low, prec_bits) ? POSREF_OK : POSREF_INTERNAL;
    }
    /* 1 - s = (hf - rot) / (hf - lf) is the share of the scaled frequency. */
    posref_ball_sub(&rotations, &high, &rotations, prec_bits);
    posref_ball_sub(&high, &high, &low, prec_bits);
    if (!posref_ball_div(&rotations, &rotations, &high, prec_bits))
        return POSREF_INTERNAL;
    return posref_scaling_blend(theta, &rotations, state->spec->factor, prec_bits);
}

static enum posref_status apply(struct posref_ball *theta,
                                const struct posref_scaling_state *state, int i)
{
    (void)i;
    return posref_scaling_rotations_apply(theta, state, state->spec->low_freq_factor,
                                          state->spec->high_freq_factor);
}

const struct posref_scaling_def posref_scaling_llama3 = {
    .fields = fields,
    .check = check,
    .prepare = posref_scaling_rotations_prepare,
    .apply = apply,
};

/* NTK-by-parts as the YaRN paper (arXiv 2309.00071, section 3.2) writes it: the same bands, with
 * beta_slow and beta_fast for edges. (Its released code is linear in the pair index instead: that
 * is scaling=yarn.) No temperature but an attention_factor that is given. */
static const struct posref_field_use by_parts_fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_BETA_FAST, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_BETA_SLOW, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_ATTENTION_FACTOR, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

static enum posref_status by_parts_check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->beta_fast < spec->beta_slow)
        return posref_fail(err, POSREF_BAD_INPUT, "beta_fast",
                           "must be at least beta_slow=%.15g, got %.15g", spec->beta_slow,
                           spec->beta_fast);
    return POSREF_OK;
}

static enum posref_status by_parts_apply(struct posref_ball *theta,
                                         const struct posref_scaling_state *state, int i)
{
    (void)i;
    return posref_scaling_rotations_apply(theta, state, state->spec->beta_slow,
                                          state->spec->beta_fast);
}

static enum posref_status by_parts_magnitude(struct posref_ball *out,
                                             const struct posref_spec *spec, unsigned prec_bits)
{
    (void)prec_bits;
    posref_ball_set_double(out, spec->given[POSREF_FIELD_ATTENTION_FACTOR] ? spec->attention_factor
                                                                           : 1);
    return POSREF_OK;
}

const struct posref_scaling_def posref_scaling_ntk_by_parts = {
    .fields = by_parts_fields,
    .check = by_parts_check,
    .prepare = posref_scaling_rotations_prepare,
    .apply = by_parts_apply,
    .magnitude = by_parts_magnitude,
};
