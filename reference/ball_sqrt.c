/* SPDX-License-Identifier: Apache-2.0 */
/* Square root of a ball; exact for perfect squares whose root fits. */
#include "ball_impl.h"

/* Some y near sqrt(f) for an exact f in [1/4, 1): Newton's iteration from a linear guess. The
 * caller does not trust it. */
static void approximate_root(struct posref_ball *y, const struct posref_ball *f, unsigned prec)
{
    double guess = posref_ball_approx(f);
    guess = 0.35 + 0.65 * guess;
    for (int i = 0; i < 4; i++)
        guess = 0.5 * (guess + posref_ball_approx(f) / guess);
    posref_ball_set_double(y, guess);
    for (unsigned bits = 100; ; bits *= 2) {
        unsigned p = bits < prec ? bits + 32 : prec;
        struct posref_ball t;
        if (!posref_ball_div(&t, f, y, p)) /* cannot be: y is near sqrt(f) */
            return;
        posref_ball_add(y, y, &t, p);
        posref_ball_scale2(y, y, -1);
        ball_set_radius(y, BALL_RADIUS_ZERO);
        if (p == prec)
            return;
    }
}

bool posref_ball_sqrt(struct posref_ball *out, const struct posref_ball *a, unsigned prec_bits)
{
    if (ball_is_zero(a)) {
        posref_ball_set_zero(out, BALL_RADIUS_ZERO);
        return true;
    }
    struct ball_radius lower;
    if (a->sign <= 0 || !posref_ball_lower(&lower, a))
        return false;
    struct ball_radius rad = ball_radius_of(a);
    int64_t half = (a->exponent + (a->exponent & 1)) / 2;
    struct posref_ball f;
    struct posref_ball y;
    struct posref_ball residue;
    ball_set_mid(&f, a);
    f.exponent -= 2 * half;
    unsigned prec = 64 * (unsigned)ball_limbs(prec_bits);
    approximate_root(&y, &f, prec + 64);
    /* To nearest: add half a unit of the last limb kept, then cut. A root that fits is met. */
    struct posref_ball unit;
    posref_ball_set_int(&unit, 1);
    posref_ball_scale2(&unit, &unit, y.exponent - (int64_t)prec - 1);
    posref_ball_add(&y, &y, &unit, POSREF_BALL_MAX_BITS + 128);
    posref_ball_cut(&y, &y, prec);
    ball_set_radius(&y, BALL_RADIUS_ZERO);
    /* |sqrt(f) - y| = |f - y^2| / (sqrt(f) + y) <= |f - y^2| / y */
    posref_ball_mul(&residue, &y, &y, POSREF_BALL_MAX_BITS + 128);
    posref_ball_sub(&residue, &f, &residue, POSREF_BALL_MAX_BITS + 128);
    struct ball_radius error = ball_upper(&residue);
    if (!posref_ball_lower(&lower, &y))
        return false;
    error = radius_div(error, lower);
    if (error.man && error.exponent > lower.exponent - 3)
        return false; /* cannot be: Newton's iteration converged */
    /* |sqrt(m + t) - sqrt(m)| <= |t| / sqrt(m), sqrt(m) >= y - error >= y / 2 */
    rad.exponent -= 2 * half;
    error = radius_add(error, radius_mul(radius_div(rad, lower), radius_pow2(1)));
    ball_set_radius(&y, error);
    posref_ball_scale2(out, &y, half);
    return true;
}
