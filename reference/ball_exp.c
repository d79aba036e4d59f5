/* SPDX-License-Identifier: Apache-2.0 */
/* The exponential of a ball. The midpoint is exact; its exponential is enclosed with balls, and
 * the operand's radius is added by |e^(m+t) - e^m| <= e^m (e^|t| - 1). */
#include "ball_impl.h"

/* Halvings before the series: about the square root of the precision balances both parts. */
static int halvings(unsigned prec, int64_t exponent)
{
    int target = 4;
    while ((unsigned)(target * target) < prec)
        target++;
    int64_t n = target + exponent;
    return n < 0 ? 0 : (int)n;
}

/* e^r - 1 for |r| < 1/2, relatively accurate: the series of t = r / 2^k, then k times
 * E(2t) = E(t) (E(t) + 2). The terms left out sum to less than the last one used: each is at most
 * half of the one before. */
static void expm1_small(struct posref_ball *out, const struct posref_ball *r, unsigned prec)
{
    struct posref_ball t;
    struct posref_ball term;
    int k = halvings(prec, r->exponent);
    posref_ball_scale2(&t, r, -k);
    posref_ball_cut(&t, &t, prec);
    posref_ball_set(&term, &t);
    posref_ball_set(out, &t);
    if (t.sign) {
        for (uint64_t i = 2;; i++) {
            int64_t need = (int64_t)prec + term.exponent + 4;
            unsigned p = need < 64 ? 64 : need > (int64_t)prec ? prec : (unsigned)need;
            posref_ball_mul(&term, &term, &t, p);
            posref_ball_div_small(&term, &term, i, p);
            posref_ball_add(out, out, &term, prec);
            if (term.sign == 0 || term.exponent < t.exponent - (int64_t)prec)
                break;
        }
        ball_add_radius(out, ball_upper(&term));
    } else { /* 0 +- radius, radius < 1/2 */
        ball_add_radius(out, ball_upper(&t));
    }
    struct posref_ball two;
    posref_ball_set_int(&two, 2);
    for (int i = 0; i < k; i++) {
        posref_ball_add(&t, out, &two, prec);
        posref_ball_mul(out, out, &t, prec);
    }
}

/* e^m for an exact m, |m| < 2^50. */
static void exp_exact(struct posref_ball *out, const struct posref_ball *m, unsigned prec_bits)
{
    unsigned prec = prec_bits + 32;
    struct posref_ball r;
    struct posref_ball one;
    int64_t k = 0;
    if (m->exponent > -2) {
        struct posref_ball multiple;
        double turns = posref_ball_approx(m) * 1.4426950408889634;
        k = (int64_t)(turns + (turns < 0 ? -0.5 : 0.5));
        unsigned wide = prec + (unsigned)(m->exponent > 0 ? m->exponent : 0) + 8;
        posref_ball_ln2(&multiple, wide);
        posref_ball_set_int(&one, k);
        posref_ball_mul(&multiple, &multiple, &one, wide);
        posref_ball_sub(&r, m, &multiple, prec);
    } else {
        posref_ball_set(&r, m);
    }
    expm1_small(out, &r, prec);
    posref_ball_set_int(&one, 1);
    posref_ball_add(out, out, &one, prec_bits);
    posref_ball_scale2(out, out, k);
}

void posref_ball_exp(struct posref_ball *out, const struct posref_ball *a, unsigned prec_bits)
{
    struct ball_radius rad = ball_radius_of(a);
    struct ball_radius upper = ball_upper(a);
    if (upper.man && upper.exponent > 50 - 32) { /* |a| may reach 2^50 */
        struct ball_radius lower;
        bool tiny = a->sign < 0 && posref_ball_lower(&lower, a) && lower.exponent >= 49 - 31;
        posref_ball_set_zero(out, radius_pow2(tiny ? -((int64_t)1 << 49)
                                                   : 2 * BALL_EXPONENT_LIMIT));
        return;
    }
    struct posref_ball m;
    ball_set_mid(&m, a);
    if (rad.man && rad.exponent > -32) { /* radius >= 1: enclose by 0 +- 2 e^(m + rad) */
        struct posref_ball top;
        posref_ball_finish(&top, 1, &rad.man, 1, rad.exponent + 64, BALL_RADIUS_ZERO, 1);
        posref_ball_add(&m, &m, &top, 128);
        ball_set_radius(&m, BALL_RADIUS_ZERO); /* below 2^-77: the factor 2 covers it */
        exp_exact(&m, &m, 64);
        posref_ball_set_zero(out, radius_mul(ball_upper(&m), radius_pow2(1)));
        return;
    }
    exp_exact(out, &m, prec_bits);
    if (rad.man) /* e^t - 1 <= 2 t for t <= 1 */
        ball_add_radius(out, radius_mul(ball_upper(out), radius_mul(rad, radius_pow2(1))));
}
