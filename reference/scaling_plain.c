/* SPDX-License-Identifier: Apache-2.0 */
/* The scalings that keep the ladder geometric or divide it as a whole, r = rotary_dim:
 *     none     theta_i = base^(-2i/r)
 *     linear   theta_i = base^(-2i/r) / factor          (position interpolation, arXiv 2306.15595)
 *     ntk      theta_i = (base factor^(r/(r-2)))^(-2i/r)   (NTK-aware, bloc97): the first frequency
 *              stays, the last is divided by exactly factor. */
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

static enum posref_status ntk_check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->rotary_dim == 2)
        return posref_fail(err, POSREF_BAD_INPUT, "scaling",
                           "ntk divides by rotary_dim - 2 and needs rotary_dim >= 4, got 2");
    return POSREF_OK;
}

/* (factor^(r/(r-2)))^(-2i/r) = factor^(-2i/(r-2)). */
static void ntk_ladder(struct posref_ladder *ladder, const struct posref_spec *spec)
{
    ladder->factor = spec->factor;
    ladder->factor_num = 2;
    ladder->factor_den = spec->rotary_dim - 2;
}

const struct posref_scaling_def posref_scaling_none = {.fields = no_fields};

const struct posref_scaling_def posref_scaling_linear = {
    .fields = factor_fields,
    .apply = linear_apply,
};

const struct posref_scaling_def posref_scaling_ntk = {
    .fields = factor_fields,
    .check = ntk_check,
    .ladder = ntk_ladder,
};
