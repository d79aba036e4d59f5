/* SPDX-License-Identifier: Apache-2.0 */
/* Cosine and sine of a ball of turns. The midpoint is reduced to an eighth of a turn exactly,
 * whatever its size; the operand's radius is added by Lipschitz: 2 pi < 6.2832 per turn. */
#include "ball_impl.h"

/* *frac = m - q / 4 with |frac| <= 1/8, exactly; returns q modulo 4. m is exact. */
static int reduce(struct posref_ball *frac, const struct posref_ball *m)
{
    struct posref_ball t;
    posref_ball_scale2(&t, m, 2); /* quarter turns */
    int64_t whole = t.exponent;   /* bits before the point */
    if (t.sign == 0 || whole < 0) {
        posref_ball_set(frac, m);
        return 0;
    }
    int64_t tail = 64 * (int64_t)t.n_limbs - whole; /* bits after it */
    unsigned quarter = 0; /* integer part modulo 4 */
    for (int64_t i = 0; i < 2; i++) {
        int64_t bit = tail + i;
        if (bit >= 0 && bit < 64 * (int64_t)t.n_limbs)
            quarter |= (unsigned)(t.limb[bit / 64] >> (bit % 64) & 1) << i;
    }
    if (tail <= 0) { /* an integer number of quarters */
        posref_ball_set_zero(frac, BALL_RADIUS_ZERO);
    } else {
        int len = (int)((tail + 63) / 64);
        uint64_t buf[POSREF_BALL_LIMBS + 1];
        for (int i = 0; i < len; i++)
            buf[i] = i < t.n_limbs ? t.limb[i] : 0;
        if (tail % 64)
            buf[len - 1] &= ((uint64_t)1 << (tail % 64)) - 1;
        posref_ball_finish(frac, t.sign, buf, len, 64 * (int64_t)len - tail, BALL_RADIUS_ZERO,
                           POSREF_BALL_LIMBS);
    }
    int q = t.sign < 0 ? -(int)quarter : (int)quarter;
    if (frac->sign && frac->exponent == 0) { /* at least half a quarter: go to the next one */
        posref_ball_set_int(&t, frac->sign);
        q += frac->sign;
        posref_ball_sub(frac, frac, &t, POSREF_BALL_MAX_BITS + 128);
    }
    posref_ball_scale2(frac, frac, -2);
    return q & 3;
}

/* Sum over i of t^n0 * prod(-square / ((n+1)(n+2))), from `term` = the term of degree n. What is
 * left out of this alternating series is less than the last term used. */
static void series(struct posref_ball *sum, const struct posref_ball *first,
                   const struct posref_ball *square, uint64_t degree, unsigned prec)
{
    struct posref_ball term;
    posref_ball_set(&term, first);
    posref_ball_set(sum, first);
    for (uint64_t n = degree;; n += 2) {
        int64_t need = term.exponent - first->exponent + square->exponent + (int64_t)prec + 4;
        unsigned p = need < 64 ? 64 : need > (int64_t)prec ? prec : (unsigned)need;
        posref_ball_mul(&term, &term, square, p);
        posref_ball_div_small(&term, &term, (n + 1) * (n + 2), p);
        posref_ball_neg(&term, &term);
        posref_ball_add(sum, sum, &term, prec);
        if (term.sign == 0 || term.exponent < first->exponent - (int64_t)prec)
            break;
    }
    ball_add_radius(sum, ball_upper(&term));
}

/* s = sin(x), v = cos(x) - 1 for 0 < |x| < 1, both relatively accurate: series at x / 2^k, then k
 * times sin 2t = 2 s (1 + v), cos 2t - 1 = 2 v (v + 2). */
static void sin_cosm1(struct posref_ball *s, struct posref_ball *v, const struct posref_ball *x,
                      unsigned prec)
{
    int k = 2;
    while ((unsigned)(4 * k * k) < prec)
        k++;
    k = k + x->exponent < 0 ? 0 : k + (int)x->exponent;
    struct posref_ball t;
    struct posref_ball u;
    struct posref_ball constant;
    posref_ball_scale2(&t, x, -k);
    posref_ball_mul(&u, &t, &t, prec);
    series(s, &t, &u, 1, prec);
    posref_ball_scale2(&t, &u, -1);
    posref_ball_neg(&t, &t);
    series(v, &t, &u, 2, prec);
    for (int i = 0; i < k; i++) {
        posref_ball_set_int(&constant, 1);
        posref_ball_add(&t, v, &constant, prec);
        posref_ball_mul(s, s, &t, prec);
        posref_ball_scale2(s, s, 1);
        posref_ball_set_int(&constant, 2);
        posref_ball_add(&t, v, &constant, prec);
        posref_ball_mul(v, v, &t, prec);
        posref_ball_scale2(v, v, 1);
    }
}

/* cos and sin of 2 pi m for an exact m. */
static void cos_sin_exact(struct posref_ball *c, struct posref_ball *s,
                          const struct posref_ball *m, unsigned prec_bits)
{
    unsigned prec = prec_bits + 32;
    struct posref_ball x;
    struct posref_ball one;
    int q = reduce(&x, m);
    posref_ball_set_int(&one, 1);
    if (x.sign == 0) {
        posref_ball_set_zero(s, BALL_RADIUS_ZERO);
        posref_ball_set(c, &one);
    } else {
        posref_ball_pi(c, prec);
        posref_ball_mul(&x, &x, c, prec);
        posref_ball_scale2(&x, &x, 1);
        sin_cosm1(s, c, &x, prec);
        posref_ball_add(c, c, &one, prec_bits);
        posref_ball_cut(s, s, prec_bits);
    }
    if (q & 1) { /* cos(x + pi/2) = -sin x, sin(x + pi/2) = cos x */
        posref_ball_set(&x, c);
        posref_ball_neg(c, s);
        posref_ball_set(s, &x);
    }
    if (q & 2) {
        posref_ball_neg(c, c);
        posref_ball_neg(s, s);
    }
}

void posref_ball_cos_sin_turns(struct posref_ball *cos_out, struct posref_ball *sin_out,
                               const struct posref_ball *turns, unsigned prec_bits)
{
    struct ball_radius rad = ball_radius_of(turns);
    struct posref_ball m;
    if (rad.man && rad.exponent > -32) { /* a turn or more */
        posref_ball_set_zero(cos_out, radius_pow2(0));
        posref_ball_set_zero(sin_out, radius_pow2(0));
        return;
    }
    ball_set_mid(&m, turns);
    cos_sin_exact(cos_out, sin_out, &m, prec_bits);
    if (rad.man) {
        struct ball_radius slope = radius_make(62832, 0);
        slope = radius_div(radius_mul(rad, slope), radius_make(10000, 0));
        ball_add_radius(cos_out, slope);
        ball_add_radius(sin_out, slope);
    }
}
