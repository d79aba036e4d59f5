/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of frequency scalings, and the blend that two of them share. */
#include "scaling.h"

static const struct posref_scaling_def *const scalings[] = {
    [POSREF_SCALING_NONE] = &posref_scaling_none,
    [POSREF_SCALING_LINEAR] = &posref_scaling_linear,
    [POSREF_SCALING_NTK] = &posref_scaling_ntk,
    [POSREF_SCALING_YARN] = &posref_scaling_yarn,
    [POSREF_SCALING_LLAMA3] = &posref_scaling_llama3,
};

const struct posref_scaling_def *posref_scaling_def(int scaling)
{
    if (scaling < 0 || (size_t)scaling >= sizeof scalings / sizeof *scalings)
        return NULL;
    return scalings[scaling];
}

enum posref_status posref_scaling_blend(struct posref_ball *theta, const struct posref_ball *t,
                                        double factor, unsigned prec_bits)
{
    struct posref_ball weight, part;
    posref_ball_set_double(&part, factor);
    if (!posref_ball_div(&weight, t, &part, prec_bits))
        return POSREF_INTERNAL;
    posref_ball_set_int(&part, 1);
    posref_ball_sub(&part, &part, t, prec_bits);
    posref_ball_add(&weight, &weight, &part, prec_bits);
    posref_ball_mul(theta, theta, &weight, prec_bits);
    return POSREF_OK;
}
