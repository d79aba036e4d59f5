/* SPDX-License-Identifier: Apache-2.0 */
/* Frequencies and magnitude of a spec: the walk along the ladder, and single values at any
 * precision. */
#include "frequencies.h"

#include "exact_turn.h"
#include "layout.h"

void posref_frequencies_rope(struct posref_frequencies *out, const struct posref_spec *spec)
{
    *out = (struct posref_frequencies){
        .spec = spec,
        .still_from = posref_layout_pairs(spec),
        .unit = spec->angle_unit,
        .ladder = {.base = spec->base, .over = 1, .num = 2, .den = spec->rotary_dim},
        .scaling = posref_scaling_def(spec->scaling),
    };
    if (spec->axes_ladder == POSREF_AXES_LADDER_LOG_LINSPACE) {
        out->ladder.num = -1; /* rises */
        out->ladder.den = spec->rotary_dim > 2 ? spec->rotary_dim / 2 - 1 : 1;
    }
    if (spec->given[POSREF_FIELD_AXES_NTK]) {
        posref_ball_set_double(&out->ladder.stretch, spec->axes_ntk.item[0]);
        out->ladder.stretch_num = 2;
        out->ladder.stretch_den = spec->rotary_dim - 2;
    }
    if (out->scaling->ladder)
        out->scaling->ladder(&out->ladder, spec);
}

int posref_frequencies_exact_turn(const struct posref_frequencies *of, int i, double position)
{
    if (of->unit == POSREF_ANGLE_UNIT_RADIAN)
        return -1;
    return posref_exact_turn(&of->ladder, i, of->unit == POSREF_ANGLE_UNIT_TURN ? 1 : 4, position);
}

/* Radians of a frequency that the ladder counts in its unit. */
static void to_radians(struct posref_ball *theta, const struct posref_frequencies *of,
                       unsigned prec_bits)
{
    struct posref_ball unit;
    if (of->unit == POSREF_ANGLE_UNIT_RADIAN)
        return;
    posref_ball_pi(&unit, prec_bits);
    posref_ball_scale2(&unit, &unit, of->unit == POSREF_ANGLE_UNIT_TURN ? 1 : -1);
    posref_ball_mul(theta, theta, &unit, prec_bits);
}

static enum posref_status prepare(struct posref_scaling_state *state,
                                  const struct posref_frequencies *of, unsigned prec_bits)
{
    state->spec = of->spec;
    state->prec_bits = prec_bits;
    return of->scaling->prepare ? of->scaling->prepare(state) : POSREF_OK;
}

static enum posref_status apply(struct posref_ball *theta, const struct posref_frequencies *of,
                                const struct posref_scaling_state *state, int i)
{
    return of->scaling->apply ? of->scaling->apply(theta, state, i) : POSREF_OK;
}

enum posref_status posref_frequencies_at(struct posref_ball *out,
                                         const struct posref_frequencies *of, int i,
                                         unsigned prec_bits)
{
    enum posref_status status = POSREF_INTERNAL;
    if (of->still_from > 0 && i >= of->still_from) {
        posref_ball_set_int(out, 0);
        return POSREF_OK;
    }
    for (; status == POSREF_INTERNAL && prec_bits <= POSREF_BALL_MAX_BITS; prec_bits *= 2) {
        struct posref_scaling_state state;
        status = prepare(&state, of, prec_bits);
        if (status == POSREF_OK)
            status = posref_ladder_at(out, &of->ladder, i, prec_bits);
        if (status == POSREF_OK)
            status = apply(out, of, &state, i);
        if (status == POSREF_OK)
            to_radians(out, of, prec_bits);
    }
    return status;
}

struct theta_ctx {
    const struct posref_frequencies *of;
    int i;
};

static enum posref_status theta_ball(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct theta_ctx *c = ctx;
    return posref_frequencies_at(out, c->of, c->i, prec_bits);
}

static enum posref_status round_theta(double *out, const struct posref_ball *theta,
                                      const struct posref_frequencies *of, int i)
{
    struct theta_ctx ctx = {of, i};
    return posref_ball_round(out, theta) ? POSREF_OK : posref_ball_decide(out, theta_ball, &ctx);
}

static bool one_turn_inverse(struct posref_ball *out, unsigned prec_bits)
{
    struct posref_ball one;
    posref_ball_set_int(&one, 1);
    posref_ball_pi(out, prec_bits);
    posref_ball_scale2(out, out, 1);
    return posref_ball_div(out, &one, out, prec_bits);
}

static enum posref_status walk_one(struct posref_turn *turn, double *theta_rounded,
                                   struct posref_ball *theta, const struct posref_ball *inverse,
                                   const struct posref_frequencies *of, int i)
{
    if (theta_rounded) {
        enum posref_status status = round_theta(theta_rounded, theta, of, i);
        if (status != POSREF_OK)
            return status;
    }
    posref_ball_mul(theta, theta, inverse, POSREF_WALK_BITS);
    return posref_turn_from_ball(turn, theta) ? POSREF_OK : POSREF_INTERNAL;
}

enum posref_status posref_frequencies_walk(struct posref_turn *turns, double *theta_rounded,
                                           const struct posref_frequencies *of, int n)
{
    struct posref_ball ratio, step, theta, inverse;
    struct posref_scaling_state state;
    bool prepared = prepare(&state, of, POSREF_WALK_BITS) == POSREF_OK;
    if (!one_turn_inverse(&inverse, POSREF_WALK_BITS))
        return POSREF_INTERNAL;
    enum posref_status status = POSREF_OK;
    struct posref_ladder steps = of->ladder; /* theta_(i+1) / theta_i = steps_1 */
    steps.stretch_first = 0;
    if (n > 1)
        status = posref_ladder_at(&ratio, &steps, 1, POSREF_WALK_BITS);
    for (int i = 0; i < n && status == POSREF_OK; i++) {
        if (i == 0)
            status = posref_ladder_at(&step, &of->ladder, 0, POSREF_WALK_BITS);
        else if (!posref_ladder_exact(&step, &of->ladder, i))
            posref_ball_mul(&step, &step, &ratio, POSREF_WALK_BITS);
        if (status != POSREF_OK)
            break;
        posref_ball_set(&theta, &step);
        to_radians(&theta, of, POSREF_WALK_BITS);
        if (of->still_from > 0 && i >= of->still_from)
            posref_ball_set_int(&theta, 0);
        if (!prepared || apply(&theta, of, &state, i) != POSREF_OK)
            status = posref_frequencies_at(&theta, of, i, 2 * POSREF_WALK_BITS);
        if (status == POSREF_OK)
            status = walk_one(&turns[i], theta_rounded ? &theta_rounded[i] : NULL, &theta,
                              &inverse, of, i);
    }
    return status;
}

enum posref_status posref_frequencies_magnitude_ball(struct posref_ball *out,
                                                     const struct posref_frequencies *of,
                                                     unsigned prec_bits)
{
    posref_ball_set_int(out, 1);
    return of->scaling->magnitude ? of->scaling->magnitude(out, of->spec, prec_bits) : POSREF_OK;
}

struct magnitude_ctx {
    const struct posref_frequencies *of;
    double minus; /* subtracted, for the low part of a double-double */
};

static enum posref_status magnitude_ball(struct posref_ball *out, const void *ctx,
                                         unsigned prec_bits)
{
    const struct magnitude_ctx *c = ctx;
    struct posref_ball minus;
    enum posref_status status = posref_frequencies_magnitude_ball(out, c->of, prec_bits);
    posref_ball_set_double(&minus, c->minus);
    posref_ball_sub(out, out, &minus, prec_bits);
    return status;
}

enum posref_status posref_frequencies_magnitude(struct posref_magnitude *out, double *rounded,
                                                const struct posref_frequencies *of)
{
    *out = (struct posref_magnitude){.hi = 1, .lo = 0, .is_one = true, .is_exact = true};
    *rounded = 1;
    if (!of->scaling->magnitude)
        return POSREF_OK;
    struct magnitude_ctx ctx = {of, 0};
    struct posref_ball ball, one;
    enum posref_status status = posref_ball_decide(&out->hi, magnitude_ball, &ctx);
    ctx.minus = out->hi;
    if (status == POSREF_OK)
        status = posref_ball_decide(&out->lo, magnitude_ball, &ctx);
    if (status == POSREF_OK)
        status = posref_frequencies_magnitude_ball(&ball, of, POSREF_WALK_BITS);
    if (status != POSREF_OK)
        return status;
    posref_ball_set_int(&one, 1);
    out->is_one = posref_ball_compare(&ball, &one) == 0;
    out->is_exact = ball.rad_man == 0; /* 1, or a factor given as a double: lo is 0 */
    *rounded = out->hi;
    return POSREF_OK;
}
