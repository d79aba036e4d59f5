/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a logarithmic scale without a floating logarithm at their edges: an enclosure of x(n)
 * decides unless x(n) is a whole number t, and that is (n / low)^steps = (high / low)^t, decided
 * by integers. */
#include "log_steps.h"

#include "whole.h"

/* Whether (n / low)^steps = (high / low)^t for t > 0. With a common factor taken out of steps and
 * t, unique factorisation says: n / low = r^t and high / low = r^steps for a rational r. */
static bool is_whole(const struct posref_log_steps *s, int64_t n, int64_t t)
{
    const int64_t common = posref_whole_gcd(s->steps, t);
    const int64_t near = posref_whole_gcd(n, s->low), far = posref_whole_gcd(s->high, s->low);
    const int64_t top = posref_whole_root(n / near, t / common);
    const int64_t bottom = posref_whole_root(s->low / near, t / common);
    return top > 0 && bottom > 0 &&
           posref_whole_power(top, s->steps / common, POSREF_MAX_DISTANCE) == s->high / far &&
           posref_whole_power(bottom, s->steps / common, POSREF_MAX_DISTANCE) == s->low / far;
}

static enum posref_status enclose(struct posref_ball *out, const struct posref_log_steps *s,
                                  int64_t n, unsigned bits)
{
    struct posref_ball scale;
    posref_ball_ratio(out, n, s->low, bits);
    posref_ball_ratio(&scale, s->high, s->low, bits);
    if (!posref_ball_log(out, out, bits) || !posref_ball_log(&scale, &scale, bits) ||
        !posref_ball_div(out, out, &scale, bits))
        return POSREF_INTERNAL;
    posref_ball_set_int(&scale, s->steps);
    posref_ball_mul(out, out, &scale, bits);
    if (s->up) /* ceil(x) = -floor(-x) */
        posref_ball_neg(out, out);
    return POSREF_OK;
}

/* floor(x), or floor(-x) where s->up; s->nearest is not looked at. */
static enum posref_status floor_at(int64_t *out, const struct posref_log_steps *s, int64_t n)
{
    for (unsigned bits = 128; bits <= POSREF_BALL_MAX_BITS; bits *= 2) {
        struct posref_ball x, half;
        enum posref_status status = enclose(&x, s, n, bits);
        if (status != POSREF_OK || posref_ball_floor(out, &x))
            return status;
        int64_t nearest;
        posref_ball_ratio(&half, 1, 2, bits);
        posref_ball_add(&x, &x, &half, bits);
        if (posref_ball_floor(&nearest, &x) && is_whole(s, n, s->up ? -nearest : nearest)) {
            *out = nearest;
            return POSREF_OK;
        }
    }
    return POSREF_INTERNAL;
}

enum posref_status posref_log_steps_init(struct posref_log_steps *out,
                                         const struct posref_job *job, int64_t n_distances)
{
    out->size = 64;
    while (out->size < 2 * n_distances)
        out->size *= 2;
    out->memo = posref_job_alloc(job, (size_t)out->size, sizeof *out->memo);
    if (!out->memo)
        return POSREF_NO_MEMORY;
    for (int64_t i = 0; i < out->size; i++)
        out->memo[i].n = -1;
    return POSREF_OK;
}

enum posref_status posref_log_steps_at(int64_t *out, struct posref_log_steps *s, int64_t n)
{
    struct posref_log_memo *memo = &s->memo[n & (s->size - 1)];
    enum posref_status status = POSREF_OK;
    if (memo->n != n) {
        struct posref_log_steps halves = *s;
        int64_t steps = 0; /* n = low: the logarithm of 1 */
        halves.steps *= s->nearest ? 2 : 1;
        if (n != s->low)
            status = floor_at(&steps, &halves, n);
        if (status != POSREF_OK)
            return status;
        if (s->nearest) /* floor(x + 1/2) = floor((floor(2 x) + 1) / 2), x >= 0 */
            steps = (steps + 1) / 2;
        *memo = (struct posref_log_memo){n, s->up ? -steps : steps};
    }
    *out = memo->steps;
    return POSREF_OK;
}
