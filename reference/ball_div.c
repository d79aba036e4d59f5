/* SPDX-License-Identifier: Apache-2.0 */
/* Quotient of balls: long division of the midpoints (exact when the remainder is zero). */
#include "ball_impl.h"

/* One quotient limb of Knuth's algorithm D: divides rem (n + 1 limbs, rem / den < 2^64) by den
 * (n limbs, top bit set), leaves the remainder in rem, returns the quotient. */
static uint64_t divide_step(uint64_t *rem, const uint64_t *den, int n)
{
    posref_u128 top = (posref_u128)rem[n] << 64 | rem[n - 1];
    uint64_t q = rem[n] >= den[n - 1] ? UINT64_MAX : (uint64_t)(top / den[n - 1]);
    uint64_t carry = 0;
    uint64_t borrow = 0;
    for (int i = 0; i < n; i++) {
        posref_u128 p = (posref_u128)q * den[i] + carry;
        posref_u128 t = (posref_u128)rem[i] - (uint64_t)p - borrow;
        carry = (uint64_t)(p >> 64);
        rem[i] = (uint64_t)t;
        borrow = (uint64_t)(t >> 64) & 1;
    }
    posref_u128 t = (posref_u128)rem[n] - carry - borrow;
    rem[n] = (uint64_t)t;
    while (rem[n]) { /* negative: q was too large, by at most 2 */
        uint64_t up = 0;
        for (int i = 0; i < n; i++) {
            posref_u128 s = (posref_u128)rem[i] + den[i] + up;
            rem[i] = (uint64_t)s;
            up = (uint64_t)(s >> 64);
        }
        rem[n] += up;
        q--;
    }
    return q;
}

/* The leading n limbs of |quotient of the midpoints|: q[n-1] is 0.A / 0.B cut to an integer, 0 or
 * 1, and the lower limbs are the fraction. true when nothing remains. */
static bool divide_mids(uint64_t *q, int n, const struct posref_ball *a,
                        const struct posref_ball *b)
{
    uint64_t rem[POSREF_BALL_LIMBS + 1];
    int nb = b->n_limbs;
    int next = a->n_limbs; /* limbs of a still to bring down */
    for (int i = nb; i >= 0; i--)
        rem[i] = 0;
    for (int i = nb - 1; i >= 0; i--)
        rem[i] = next > 0 ? a->limb[--next] : 0;
    for (int k = n - 1; k >= 0; k--) {
        q[k] = divide_step(rem, b->limb, nb);
        if (k == 0)
            break;
        for (int i = nb; i > 0; i--)
            rem[i] = rem[i - 1];
        rem[0] = next > 0 ? a->limb[--next] : 0;
    }
    for (int i = 0; i < nb; i++)
        if (rem[i])
            return false;
    while (next > 0)
        if (a->limb[--next])
            return false;
    return true;
}

bool posref_ball_div(struct posref_ball *out, const struct posref_ball *a,
                     const struct posref_ball *b, unsigned prec_bits)
{
    struct ball_radius b_lower;
    if (!posref_ball_lower(&b_lower, b))
        return false;
    struct ball_radius radius = BALL_RADIUS_ZERO;
    int n = ball_limbs(prec_bits);
    if (a->sign == 0) {
        posref_ball_set_zero(out, radius_div(ball_radius_of(a), b_lower));
        return true;
    }
    uint64_t q[POSREF_BALL_LIMBS + 2];
    int len = n + 2; /* the first limb is 0 or 1 */
    bool exact = divide_mids(q, len, a, b);
    int64_t exponent = a->exponent - b->exponent + 64;
    if (a->rad_man || b->rad_man) { /* (ra + |a / b| rb) / (|b| - rb) */
        struct posref_ball top;
        posref_ball_finish(&top, 1, q, len, exponent, BALL_RADIUS_ZERO, 1);
        struct ball_radius quotient = ball_upper(&top);
        if (!exact)
            quotient = radius_add(quotient, radius_pow2(exponent - 64 * (int64_t)len));
        radius = radius_add(ball_radius_of(a), radius_mul(quotient, ball_radius_of(b)));
        radius = radius_div(radius, b_lower);
    }
    if (!exact)
        radius = radius_add(radius, radius_pow2(exponent - 64 * (int64_t)len));
    posref_ball_finish(out, a->sign * b->sign, q, len, exponent, radius, n);
    return true;
}

void posref_ball_div_small(struct posref_ball *out, const struct posref_ball *a, uint64_t divisor,
                           unsigned prec_bits)
{
    struct ball_radius radius = ball_radius_of(a);
    struct ball_radius d = radius_make(divisor, 0);
    if (d.exponent > 0) /* rounded up: take one less, still a lower bound */
        d.man--;
    radius = radius_div(radius, d);
    if (a->sign == 0) {
        posref_ball_set_zero(out, radius);
        return;
    }
    int n = ball_limbs(prec_bits);
    int len = n + 1 > a->n_limbs + 1 ? n + 1 : a->n_limbs + 1;
    uint64_t q[POSREF_BALL_LIMBS + 2];
    uint64_t rem = 0;
    for (int k = len - 1; k >= 0; k--) {
        int from = a->n_limbs - len + k;
        posref_u128 top = (posref_u128)rem << 64 | (from >= 0 ? a->limb[from] : 0);
        q[k] = (uint64_t)(top / divisor);
        rem = (uint64_t)(top % divisor);
    }
    if (rem)
        radius = radius_add(radius, radius_pow2(a->exponent - 64 * (int64_t)len));
    posref_ball_finish(out, a->sign, q, len, a->exponent, radius, n);
}

void posref_ball_ratio(struct posref_ball *out, int64_t num, int64_t den, unsigned prec_bits)
{
    struct posref_ball d;
    posref_ball_set_int(out, num);
    posref_ball_set_int(&d, den);
    if (!posref_ball_div(out, out, &d, prec_bits)) /* den = 0: the caller's error, no value */
        posref_ball_set_zero(out, radius_pow2(2 * BALL_EXPONENT_LIMIT));
}
