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

static enum posref_status ntk_check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->rotary_dim == 2)
        return posref_fail(err, POSREF_BAD_INPUT, "scaling",
                           "ntk divides by rotary_dim - 2 and needs rotary_dim >= 4, got 2");
    return POSREF_OK;
}

const struct posref_scaling_def posref_scaling_none = {.fields = no_fields};

const struct posref_scaling_def posref_scaling_linear = {
    .fields = factor_fields,
};

const struct posref_scaling_def posref_scaling_ntk = {
    .fields = factor_fields,
    .check = ntk_check,
};
