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

static enum posref_status rotate_pair(double *y, const double *x,
                                      const struct posref_plan *plan,
                                      const struct posref_plan_pair *pair,
                                      const struct posref_dd *cosine, const struct posref_dd *sine,
                                      double position)
{
    struct posref_dd y1, y2;
    double x1 = x[pair->in1], x2 = x[pair->in2];
    posref_dd_rotate(&y1, &y2, cosine, sine, x1, x2);
    struct element_ctx ctx = {&plan->of, pair->frequency, position, x1, -(pair->sign * x2)};
    struct posref_dd unsigned_sine = {pair->sign * sine->hi, pair->sign * sine->lo, sine->err};
    enum posref_status status = element(&y[pair->out1], &y1, &ctx, cosine, &unsigned_sine);
    if (status != POSREF_OK)
        return status;
    ctx.with_cos = x2;
    ctx.with_sin = pair->sign * x1;
    return element(&y[pair->out2], &y2, &ctx, cosine, &unsigned_sine);
}

static enum posref_status rotate_at(double *y, const double *x, int64_t heads,
                                    const struct posref_plan *plan,
                                    const struct posref_plan_pair *pair, double position)
{
    struct posref_dd cosine, sine;
    posref_turn_cos_sin_dd(&cosine, &sine, &plan->turn[pair->frequency], &plan->magnitude,
                           position);
    sine.hi *= pair->sign;
    sine.lo *= pair->sign;
    for (int64_t head = 0; head < heads; head++) {
        enum posref_status status = rotate_pair(y + head * plan->dim, x + head * plan->dim, plan,
                                                pair, &cosine, &sine, position);
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
