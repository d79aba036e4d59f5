/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of frequency scalings, and what several of them share. */
#include "scaling.h"

static const struct posref_scaling_def *const scalings[] = {
    [POSREF_SCALING_NONE] = &posref_scaling_none,
    [POSREF_SCALING_LINEAR] = &posref_scaling_linear,
    [POSREF_SCALING_NTK] = &posref_scaling_ntk,
    [POSREF_SCALING_YARN] = &posref_scaling_yarn,
    [POSREF_SCALING_LLAMA3] = &posref_scaling_llama3,
    [POSREF_SCALING_DYNAMIC] = &posref_scaling_dynamic,
    [POSREF_SCALING_LONGROPE] = &posref_scaling_longrope,
    [POSREF_SCALING_PROPORTIONAL] = &posref_scaling_proportional,
    [POSREF_SCALING_NTK_BY_PARTS] = &posref_scaling_ntk_by_parts,
    [POSREF_SCALING_NTK_FIXED] = &posref_scaling_ntk_fixed,
    [POSREF_SCALING_NTK_MIXED] = &posref_scaling_ntk_mixed,
    [POSREF_SCALING_DYNAMIC_CONSTANT] = &posref_scaling_dynamic_constant,
    [POSREF_SCALING_DYNAMIC_ALPHA] = &posref_scaling_dynamic_alpha,
    [POSREF_SCALING_DYNAMIC_LINEAR] = &posref_scaling_dynamic_linear,
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

enum posref_status posref_scaling_log_magnitude(struct posref_ball *out, double factor, double s,
                                                int percent, unsigned prec_bits)
{
    struct posref_ball part;
    posref_ball_set_double(out, factor);
    if (!posref_ball_log(out, out, prec_bits))
        return POSREF_INTERNAL;
    posref_ball_set_double(&part, s);
    posref_ball_mul(out, out, &part, prec_bits);
    posref_ball_ratio(&part, percent, 100, prec_bits);
    posref_ball_mul(out, out, &part, prec_bits);
    posref_ball_set_int(&part, 1);
    posref_ball_add(out, out, &part, prec_bits);
    return POSREF_OK;
}

double posref_scaling_length(const struct posref_spec *spec)
{
    const double original = spec->original_max_position_embeddings;
    double cached = original; /* the largest length that the frequencies were made for */
    for (int call = 0; call <= spec->seq_len_history.n; call++) {
        double length = call < spec->seq_len_history.n ? spec->seq_len_history.item[call]
                                                       : spec->seq_len;
        if (length > cached)
            cached = length;
        else if (length < original)
            cached = original;
    }
    return cached;
}
