/* SPDX-License-Identifier: Apache-2.0 */
/* The logarithm of a ball, relatively accurate also near 1. */
#include "ball_impl.h"

#define SQRT_HALF 0xb504f333f9de6484u /* times 2^64 */

/* log(1 + d) = 2 atanh(d / (2 + d)) for |d| < 1/16. The series' terms fall by z^2 < 1/4 at least,
 * so what is left out is less than the last power used. */
static bool log1p_small(struct posref_ball *out, const struct posref_ball *d, unsigned prec)
{
    struct posref_ball z;
    struct posref_ball square;
    struct posref_ball power;
    posref_ball_set_int(&z, 2);
    posref_ball_add(&z, &z, d, prec);
    if (!posref_ball_div(&z, d, &z, prec))
        return false;
    posref_ball_mul(&square, &z, &z, prec);
    posref_ball_set(&power, &z);
    posref_ball_set(out, &z);
    for (uint64_t i = 3; z.sign; i += 2) {
        struct posref_ball term;
        int64_t need = (int64_t)prec + power.exponent + z.exponent + 4;
        unsigned p = need < 64 ? 64 : need > (int64_t)prec ? prec : (unsigned)need;
        posref_ball_mul(&power, &power, &square, p);
        posref_ball_div_small(&term, &power, i, p);
        posref_ball_add(out, out, &term, prec);
        if (power.sign == 0 || power.exponent < z.exponent - (int64_t)prec)
            break;
    }
    if (z.sign)
        ball_add_radius(out, ball_upper(&power));
    else
        ball_add_radius(out, ball_upper(&z));
    posref_ball_scale2(out, out, 1);
    return true;
}

/* About log(f) for f in [0.7, 1.42], from IEEE operations alone so that every machine starts the
 * same: 2 atanh((f - 1) / (f + 1)). */
static double approximate_log(double f)
{
    double z = (f - 1) / (f + 1);
    double sum = 0;
    for (int i = 23; i > 0; i -= 2)
        sum = sum * z * z + 1.0 / i;
    return 2 * z * sum;
}

/* log(f) for an exact f in [0.7, 1.42]: with any y, log f = y + log(f e^-y), and f e^-y is near 1
 * when y is near log f. */
static bool log_reduced(struct posref_ball *out, const struct posref_ball *f, unsigned prec)
{
    struct posref_ball y;
    struct posref_ball d;
    struct posref_ball one;
    posref_ball_set_double(&y, approximate_log(posref_ball_approx(f)));
    posref_ball_neg(&d, &y);
    posref_ball_exp(&d, &d, prec);
    posref_ball_mul(&d, &d, f, prec);
    posref_ball_set_int(&one, 1);
    posref_ball_sub(&d, &d, &one, prec);
    if (!log1p_small(out, &d, prec))
        return false;
    posref_ball_add(out, out, &y, prec);
    return true;
}

double posref_ball_approx_log(const struct posref_ball *a)
{
    struct posref_ball f = {.sign = 1, .n_limbs = 1, .limb = {a->limb[a->n_limbs - 1]}};
    f.exponent = f.limb[0] < SQRT_HALF;
    return approximate_log(posref_ball_approx(&f)) +
           BALL_LN2 * (double)(a->exponent - f.exponent);
}

static bool log_exact(struct posref_ball *out, const struct posref_ball *m, unsigned prec_bits)
{
    unsigned prec = prec_bits + 32;
    struct posref_ball f;
    struct posref_ball d;
    struct posref_ball one;
    posref_ball_set_int(&one, 1);
    posref_ball_sub(&d, m, &one, POSREF_BALL_MAX_BITS + 128);
    if (d.sign == 0 || d.exponent <= -6)
        return log1p_small(out, &d, prec);
    posref_ball_set(&f, m);
    int64_t k = f.exponent;
    f.exponent = 0; /* [1/2, 1) */
    if (f.limb[f.n_limbs - 1] < SQRT_HALF) {
        f.exponent = 1;
        k--;
    }
    if (!log_reduced(out, &f, prec))
        return false;
    if (k) {
        posref_ball_ln2(&d, prec);
        posref_ball_set_int(&one, k);
        posref_ball_mul(&d, &d, &one, prec);
        posref_ball_add(out, out, &d, prec_bits);
    }
    return true;
}

bool posref_ball_log(struct posref_ball *out, const struct posref_ball *a, unsigned prec_bits)
{
    struct ball_radius lower;
    if (a->sign <= 0 || !posref_ball_lower(&lower, a))
        return false;
    struct ball_radius rad = ball_radius_of(a);
    struct posref_ball m;
    ball_set_mid(&m, a);
    if (!log_exact(out, &m, prec_bits))
        return false;
    ball_add_radius(out, radius_div(rad, lower)); /* |log(m+t) - log m| <= |t| / (m - rad) */
    posref_ball_cut(out, out, prec_bits);
    return true;
}
