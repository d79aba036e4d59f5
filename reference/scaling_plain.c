/* SPDX-License-Identifier: Apache-2.0 */
/* The scalings that keep the ladder geometric or divide it as a whole, r = rotary_dim:
 *     none     theta_i = base^(-2i/r)
 *     linear   theta_i = base^(-2i/r) / factor          (position interpolation, arXiv 2306.15595)
 *     ntk      theta_i = (base factor^(r/(r-2)))^(-2i/r)   (NTK-aware, bloc97): the first frequency
 *              stays, the last is divided by exactly factor. alpha is factor's name in Hunyuan
 *     ntk_fixed  theta_i = (base factor)^(-2i/r) / factor^(2/r)   (kexue.fm 9706; vLLM's type ntk)
 *     ntk_mixed  theta_i = base^(-2i/r) / factor^((2(i+1)/r)^mixed_b)   (the same, with mixed_b;
 *              mixed_b = 1 is ntk_fixed)
 */
#include "scaling.h"

static const struct posref_field_use no_fields[] = {{0, POSREF_NEED_NONE}};
static const struct posref_field_use factor_fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_REQUIRED},
    {0, POSREF_NEED_NONE},
};

static enum posref_status linear_apply(struct posref_ball *theta,
                                       const struct posref_scaling_state *state, int i)
{
    (void)i;
    struct posref_ball factor;
    posref_ball_set_double(&factor, state->spec->factor);
    return posref_ball_div(theta, theta, &factor, state->prec_bits) ? POSREF_OK : POSREF_INTERNAL;
}

enum posref_status posref_scaling_check_ntk(const struct posref_spec *spec,
                                            struct posref_error *err)
{
    if (spec->rotary_dim == 2)
        return posref_fail(err, POSREF_BAD_INPUT, "scaling",
                           "%s divides by rotary_dim - 2 and needs rotary_dim >= 4, got 2",
                           posref_field_def(POSREF_FIELD_SCALING)->choices[spec->scaling]);
    return POSREF_OK;
}

/* alpha is factor's other name: the completed spec has factor. */
static enum posref_status ntk_check(struct posref_spec *spec, struct posref_error *err)
{
    const bool alpha = spec->given[POSREF_FIELD_ALPHA];
    if (alpha == spec->given[POSREF_FIELD_FACTOR])
        return posref_fail(err, POSREF_BAD_INPUT, "factor",
                           alpha ? "is given, and alpha too: they are one number"
                                 : "is required by scaling=ntk (or its other name, alpha)");
    if (alpha) {
        spec->factor = spec->alpha;
        spec->alpha = 0;
        spec->given[POSREF_FIELD_FACTOR] = true;
        spec->given[POSREF_FIELD_ALPHA] = false;
    }
    return posref_scaling_check_ntk(spec, err);
}

/* (factor^(r/(r-2)))^(-2i/r) = factor^(-2i/(r-2)). */
static void ntk_ladder(struct posref_ladder *ladder, const struct posref_spec *spec)
{
    posref_ball_set_double(&ladder->stretch, spec->factor);
    ladder->stretch_num = 2;
    ladder->stretch_den = spec->rotary_dim - 2;
}

/* (base factor)^(-2i/r) / factor^(2/r) = base^(-2i/r) factor^(-2(i+1)/r). */
static void ntk_fixed_ladder(struct posref_ladder *ladder, const struct posref_spec *spec)
{
    posref_ball_set_double(&ladder->stretch, spec->factor);
    ladder->stretch_num = ladder->stretch_first = 2;
    ladder->stretch_den = spec->rotary_dim;
}

/* theta / factor^((2(i+1)/r)^mixed_b); the last pair has the exponent 1. */
static enum posref_status ntk_mixed_apply(struct posref_ball *theta,
                                          const struct posref_scaling_state *state, int i)
{
    const struct posref_spec *spec = state->spec;
    const unsigned prec_bits = state->prec_bits;
    struct posref_ball divisor, part;
    posref_ball_set_double(&divisor, spec->factor);
    if (spec->factor == 1)
        return POSREF_OK;
    if (2 * (i + 1) != spec->rotary_dim && spec->mixed_b != 0) {
        posref_ball_ratio(&part, 2 * (i + 1), spec->rotary_dim, prec_bits);
        if (!posref_ball_log(&part, &part, prec_bits) ||
            !posref_ball_log(&divisor, &divisor, prec_bits))
            return POSREF_INTERNAL;
        struct posref_ball exponent;
        posref_ball_set_double(&exponent, spec->mixed_b);
        posref_ball_mul(&part, &part, &exponent, prec_bits);
        posref_ball_exp(&part, &part, prec_bits);
        posref_ball_mul(&divisor, &divisor, &part, prec_bits);
        posref_ball_exp(&divisor, &divisor, prec_bits);
    }
    return posref_ball_div(theta, theta, &divisor, prec_bits) ? POSREF_OK : POSREF_INTERNAL;
}

static const struct posref_field_use ntk_fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_OPTIONAL}, /* one of the two */
    {POSREF_FIELD_ALPHA, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};
static const struct posref_field_use mixed_fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_MIXED_B, POSREF_NEED_REQUIRED},
    {0, POSREF_NEED_NONE},
};
static const struct posref_field_use proportional_fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

const struct posref_scaling_def posref_scaling_none = {.fields = no_fields};

const struct posref_scaling_def posref_scaling_linear = {
    .fields = factor_fields,
    .apply = linear_apply,
};

const struct posref_scaling_def posref_scaling_ntk = {
    .fields = ntk_fields,
    .check = ntk_check,
    .ladder = ntk_ladder,
};

const struct posref_scaling_def posref_scaling_ntk_fixed = {
    .fields = factor_fields,
    .ladder = ntk_fixed_ladder,
};

const struct posref_scaling_def posref_scaling_ntk_mixed = {
    .fields = mixed_fields,
    .apply = ntk_mixed_apply,
};

/* Never left in a completed spec: see unfold_proportional in spec.c. */
const struct posref_scaling_def posref_scaling_proportional = {.fields = proportional_fields};
