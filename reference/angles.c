/* SPDX-License-Identifier: Apache-2.0 */
/* Cosines and sines of position * theta_i: tables by the fast path, and any single value as a ball
 * when the fast path does not decide. */
#include "frequencies.h"

#include "exact_turn.h"
#include "xpos.h"

enum posref_status posref_frequencies_cos_sin_ball(struct posref_ball *cos_out,
                                                   struct posref_ball *sin_out,
                                                   const struct posref_frequencies *of, int i,
                                                   double position, unsigned prec_bits)
{
    struct posref_ball turns, part, magnitude;
    const int parts = posref_frequencies_exact_turn(of, i, position);
    if (parts >= 0 && posref_exact_turn_combine(cos_out, parts, 1, 0, prec_bits) &&
        posref_exact_turn_combine(sin_out, parts, 0, 1, prec_bits))
        return POSREF_OK; /* frequencies counted in turns carry no magnitude */
    posref_ball_set_int(&turns, 0);
    if (position != 0) {
        enum posref_status status = posref_frequencies_at(&turns, of, i, prec_bits);
        if (status != POSREF_OK)
            return status;
        posref_ball_set_double(&part, position);
        posref_ball_mul(&turns, &turns, &part, prec_bits);
        posref_ball_pi(&part, prec_bits);
        posref_ball_scale2(&part, &part, 1);
        if (!posref_ball_div(&turns, &turns, &part, prec_bits))
            return POSREF_INTERNAL;
    }
    posref_ball_cos_sin_turns(cos_out, sin_out, &turns, prec_bits);
    if (posref_xpos_on(of->spec)) { /* at position 0 the sine is exactly 0 and stays so */
        enum posref_status status = posref_xpos_times(cos_out, of->spec, i, position, prec_bits);
        if (status == POSREF_OK && position != 0)
            status = posref_xpos_times(sin_out, of->spec, i, position, prec_bits);
        return status; /* no scaling beside it has a magnitude */
    }
    if (!of->scaling->magnitude)
        return POSREF_OK;
    enum posref_status status = posref_frequencies_magnitude_ball(&magnitude, of, prec_bits);
    posref_ball_mul(cos_out, cos_out, &magnitude, prec_bits);
    posref_ball_mul(sin_out, sin_out, &magnitude, prec_bits);
    return status;
}

struct value_ctx {
    const struct posref_frequencies *of;
    int i;
    double position;
    bool sine;
};

static enum posref_status value_ball(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct value_ctx *c = ctx;
    struct posref_ball other;
    return c->sine ? posref_frequencies_cos_sin_ball(&other, out, c->of, c->i, c->position,
                                                     prec_bits)
                   : posref_frequencies_cos_sin_ball(out, &other, c->of, c->i, c->position,
                                                     prec_bits);
}

static enum posref_status decide(double *cos_out, double *sin_out,
                                 const struct posref_frequencies *of, int i, double position)
{
    struct value_ctx ctx = {of, i, position, false};
    enum posref_status status = posref_ball_decide(cos_out, value_ball, &ctx);
    if (status != POSREF_OK)
        return status;
    ctx.sine = true;
    return posref_ball_decide(sin_out, value_ball, &ctx);
}

static size_t table_with_magnitude(double *cos_out, double *sin_out, bool *undecided,
                                   const struct posref_turn *turn,
                                   const struct posref_magnitude *magnitude,
                                   const double *positions, size_t n)
{
    size_t n_undecided = 0;
    for (size_t k = 0; k < n; k++) {
        struct posref_dd c, s;
        posref_turn_cos_sin_dd(&c, &s, turn, magnitude, positions[k]);
        undecided[k] = !posref_dd_round(&cos_out[k], &c) || !posref_dd_round(&sin_out[k], &s);
        n_undecided += undecided[k];
    }
    return n_undecided;
}

enum posref_status
posref_frequencies_table(double *cos_out, double *sin_out, int64_t stride,
                         const struct posref_frequencies *of, int i,
                         const struct posref_turn *turn, const struct posref_magnitude *magnitude,
                         const double *positions, int64_t n)
{
    double cosines[POSREF_TABLE_ROWS], sines[POSREF_TABLE_ROWS];
    bool undecided[POSREF_TABLE_ROWS];
    size_t left = magnitude->is_one
                      ? posref_turn_cos_sin(cosines, sines, undecided, turn, positions, (size_t)n)
                      : table_with_magnitude(cosines, sines, undecided, turn, magnitude, positions,
                                             (size_t)n);
    const bool by_turns = of->unit != POSREF_ANGLE_UNIT_RADIAN;
    for (int64_t k = 0; k < n && (left > 0 || by_turns); k++) {
        if (!undecided[k] && posref_frequencies_exact_turn(of, i, positions[k]) < 0)
            continue;
        left -= undecided[k];
        enum posref_status status = decide(&cosines[k], &sines[k], of, i, positions[k]);
        if (status != POSREF_OK)
            return status;
    }
    for (int64_t k = 0; k < n; k++) {
        cos_out[k * stride] = cosines[k];
        sin_out[k * stride] = sines[k];
    }
    return POSREF_OK;
}
