/* SPDX-License-Identifier: Apache-2.0 */
/* Rotating by a plan: double-double for nearly every element, balls where that does not decide. */
#include "plan.h"

#include "exact_turn.h"
#include "xpos.h"

enum posref_status posref_plan_element_ball(struct posref_ball *out, const void *ctx,
                                            unsigned prec_bits)
{
    const struct posref_plan_element *c = ctx;
    struct posref_ball cosine, sine, factor;
    if (c->position == 0 && posref_xpos_on(c->of->spec)) { /* a product, which may tie */
        posref_ball_set_double(out, c->with_cos);
        return posref_xpos_times(out, c->of->spec, c->index, 0, prec_bits);
    }
    const int parts = posref_frequencies_exact_turn(c->of, c->index, c->position);
    if (parts >= 0 &&
        posref_exact_turn_combine(out, parts, c->with_cos, c->with_sin, prec_bits))
        return POSREF_OK;
    enum posref_status status = posref_frequencies_cos_sin_ball(&cosine, &sine, c->of,
                                                                c->index, c->position,
                                                                prec_bits);
    posref_ball_set_double(&factor, c->with_cos);
    posref_ball_mul(&cosine, &cosine, &factor, prec_bits);
    posref_ball_set_double(&factor, c->with_sin);
    posref_ball_mul(&sine, &sine, &factor, prec_bits);
    posref_ball_add(out, &cosine, &sine, prec_bits);
    return status;
}

/* A sum of two terms is exactly zero only when both are, or where they cancel (exact_turn.h): any
 * other turned pair that is not zero has a transcendental tangent. The sign of two zeros is that of
 * the sum of the signed zeros. */
static enum posref_status element(double *y, const struct posref_dd *fast,
                                  const struct posref_plan_element *ctx,
                                  const struct posref_dd *cosine, const struct posref_dd *sine)
{
    if (posref_dd_round(y, fast))
        return POSREF_OK;
    enum posref_status status = posref_ball_decide(y, posref_plan_element_ball, ctx);
    if (status == POSREF_OK && *y == 0 && (ctx->with_cos == 0 || cosine->hi == 0) &&
        (ctx->with_sin == 0 || sine->hi == 0))
        *y = ctx->with_cos * cosine->hi + ctx->with_sin * sine->hi;
    return status;
}

/* Cosine and (signed) sine of the two angles of a pair: the same twice, but for mismatched ones. */
struct pair_turns {
    struct posref_dd cosine[2], sine[2];
    double position[2];
};

static enum posref_status rotate_pair(double *y, const double *x,
                                      const struct posref_plan *plan,
                                      const struct posref_plan_pair *pair,
                                      const struct pair_turns *turns)
{
    struct posref_dd fast[2], other;
    const double x1 = x[pair->in[0]], x2 = x[pair->in[1]];
    posref_dd_rotate(&fast[0], &fast[1], &turns->cosine[0], &turns->sine[0], x1, x2);
    if (pair->column[1] != pair->column[0])
        posref_dd_rotate(&other, &fast[1], &turns->cosine[1], &turns->sine[1], x1, x2);
    for (int which = 0; which < 2; which++) {
        const struct posref_axis_pair *column = &plan->column[pair->column[which]];
        const struct posref_plan_element ctx = {
            .of = &plan->of[column->ladder], .index = column->index,
            .position = turns->position[which], .with_cos = which ? x2 : x1,
            .with_sin = which ? pair->sign * x1 : -(pair->sign * x2)};
        struct posref_dd sine = turns->sine[which];
        sine.hi *= pair->sign;
        enum posref_status status = element(&y[pair->out[which]], &fast[which], &ctx,
                                            &turns->cosine[which], &sine);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

/* Whole quarters of a turn are exact, as position 0 is. */
static void set_quarter(struct posref_dd *cosine, struct posref_dd *sine,
                        const struct posref_plan *plan, int column, double position)
{
    static const int value[4] = {1, 0, -1, 0};
    const struct posref_axis_pair *at = &plan->column[column];
    const int parts = posref_frequencies_exact_turn(&plan->of[at->ladder], at->index, position);
    if (parts < 0 || parts % 6 != 0)
        return;
    *cosine = (struct posref_dd){.hi = value[parts / 6]};
    *sine = (struct posref_dd){.hi = value[(parts / 6 + 3) % 4]};
}

static enum posref_status turn_pair(struct pair_turns *turns, int which,
                                    const struct posref_plan *plan,
                                    const struct posref_plan_pair *pair,
                                    const struct posref_positions *positions, int64_t row)
{
    struct posref_dd *cosine = &turns->cosine[which], *sine = &turns->sine[which];
    const int column = pair->column[which];
    const double position = positions->value[plan->column[column].axis * positions->n + row];
    struct posref_magnitude magnitude = plan->magnitude;
    enum posref_status status = POSREF_OK;
    if (posref_xpos_on(plan->of[0].spec))
        status = posref_xpos_magnitude(&magnitude, plan->of[0].spec, column, position);
    posref_turn_cos_sin_dd(cosine, sine, &plan->turn[column], &magnitude, position);
    set_quarter(cosine, sine, plan, column, position);
    sine->hi *= pair->sign;
    sine->lo *= pair->sign;
    turns->position[which] = position;
    return status;
}

/* The heads of one row. */
static enum posref_status rotate_at(double *y, const double *x, int64_t heads,
                                    const struct posref_plan *plan,
                                    const struct posref_plan_pair *pair,
                                    const struct posref_positions *positions, int64_t row)
{
    struct pair_turns turns;
    enum posref_status status = turn_pair(&turns, 0, plan, pair, positions, row);
    turns.cosine[1] = turns.cosine[0];
    turns.sine[1] = turns.sine[0];
    turns.position[1] = turns.position[0];
    if (status == POSREF_OK && pair->column[1] != pair->column[0])
        status = turn_pair(&turns, 1, plan, pair, positions, row);
    for (int64_t head = 0; head < heads && status == POSREF_OK; head++)
        status = rotate_pair(y + head * plan->dim, x + head * plan->dim, plan, pair, &turns);
    return status;
}

enum posref_status posref_plan_rotate(double *y, const double *x, int64_t heads,
                                      const struct posref_plan *plan,
                                      const struct posref_positions *positions)
{
    for (int64_t row = 0; row < positions->n; row++) {
        const int64_t offset = row * heads * plan->dim;
        for (int64_t k = 0; k < heads * plan->dim; k++)
            if (plan->copied[k % plan->dim])
                y[offset + k] = x[offset + k];
        for (int i = 0; i < plan->n_pairs; i++) {
            enum posref_status status = rotate_at(y + offset, x + offset, heads, plan,
                                                  &plan->pair[i], positions, row);
            if (status != POSREF_OK)
                return status;
        }
    }
    return POSREF_OK;
}
