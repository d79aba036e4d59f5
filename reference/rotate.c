/* SPDX-License-Identifier: Apache-2.0 */
/* Rotating by a plan: double-double for nearly every element, balls where that does not decide. */
#include "plan.h"

struct element_ctx {
    const struct posref_frequencies *of;
    int frequency;
    double position, with_cos, with_sin; /* with_cos cos a + with_sin sin a */
};

static enum posref_status element_ball(struct posref_ball *out, const void *ctx,
                                       unsigned prec_bits)
{
    const struct element_ctx *c = ctx;
    struct posref_ball cosine, sine, factor;
    enum posref_status status = posref_frequencies_cos_sin_ball(&cosine, &sine, c->of,
                                                                c->frequency, c->position,
                                                                prec_bits);
    posref_ball_set_double(&factor, c->with_cos);
    posref_ball_mul(&cosine, &cosine, &factor, prec_bits);
    posref_ball_set_double(&factor, c->with_sin);
    posref_ball_mul(&sine, &sine, &factor, prec_bits);
    posref_ball_add(out, &cosine, &sine, prec_bits);
    return status;
}

/* A sum of two terms is exactly zero only when both are: a turned pair that is not zero has a
 * transcendental tangent. Its sign is that of the sum of the signed zeros. */
static enum posref_status element(double *y, const struct posref_dd *fast,
                                  const struct element_ctx *ctx, const struct posref_dd *cosine,
                                  const struct posref_dd *sine)
{
    if (posref_dd_round(y, fast))
        return POSREF_OK;
    enum posref_status status = posref_ball_decide(y, element_ball, ctx);
    if (status == POSREF_OK && *y == 0 && (ctx->with_cos == 0 || cosine->hi == 0) &&
        (ctx->with_sin == 0 || sine->hi == 0))
        *y = ctx->with_cos * cosine->hi + ctx->with_sin * sine->hi;
    return status;
}

/* Cosine and (signed) sine of the two angles of a pair: the same twice, but for mismatched ones. */
struct pair_turns {
    struct posref_dd cosine[2], sine[2];
};

static enum posref_status rotate_pair(double *y, const double *x,
                                      const struct posref_plan *plan,
                                      const struct posref_plan_pair *pair,
                                      const struct pair_turns *turns, double position)
{
    struct posref_dd fast[2], other;
    const double x1 = x[pair->in[0]], x2 = x[pair->in[1]];
    posref_dd_rotate(&fast[0], &fast[1], &turns->cosine[0], &turns->sine[0], x1, x2);
    if (pair->frequency[1] != pair->frequency[0])
        posref_dd_rotate(&other, &fast[1], &turns->cosine[1], &turns->sine[1], x1, x2);
    for (int which = 0; which < 2; which++) {
        struct element_ctx ctx = {.of = &plan->of, .frequency = pair->frequency[which],
                                  .position = position, .with_cos = which ? x2 : x1,
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

static void turn_pair(struct pair_turns *turns, int which, const struct posref_plan *plan,
                      const struct posref_plan_pair *pair, double position)
{
    posref_turn_cos_sin_dd(&turns->cosine[which], &turns->sine[which],
                           &plan->turn[pair->frequency[which]], &plan->magnitude, position);
    turns->sine[which].hi *= pair->sign;
    turns->sine[which].lo *= pair->sign;
}

static enum posref_status rotate_at(double *y, const double *x, int64_t heads,
                                    const struct posref_plan *plan,
                                    const struct posref_plan_pair *pair, double position)
{
    struct pair_turns turns;
    turn_pair(&turns, 0, plan, pair, position);
    turns.cosine[1] = turns.cosine[0];
    turns.sine[1] = turns.sine[0];
    if (pair->frequency[1] != pair->frequency[0])
        turn_pair(&turns, 1, plan, pair, position);
    for (int64_t head = 0; head < heads; head++) {
        enum posref_status status = rotate_pair(y + head * plan->dim, x + head * plan->dim, plan,
                                                pair, &turns, position);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
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
            const struct posref_plan_pair *pair = &plan->pair[i];
            double position = positions->value[pair->axis * positions->n + row];
            enum posref_status status = rotate_at(y + offset, x + offset, heads, plan, pair,
                                                  position);
            if (status != POSREF_OK)
                return status;
        }
    }
    return POSREF_OK;
}
