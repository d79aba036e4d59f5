/* SPDX-License-Identifier: Apache-2.0 */
/* x^(num/den) for x > 0. Where the root is a dyadic number (x = 2^16, num/den = -1/4) the power is
 * formed from it, so that it is exact when it fits; otherwise a guess is corrected, or it is
 * exp(num/den log x). */
#include "ball_impl.h"

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* root^den, or UINT64_MAX when it exceeds `limit`. */
static uint64_t power_capped(uint64_t root, uint64_t den, uint64_t limit)
{
    uint64_t value = 1;
    for (uint64_t i = 0; i < den; i++) {
        if (value > limit / root)
            return UINT64_MAX;
        value *= root;
    }
    return value;
}

/* r with r^den = m for an odd m > 1, or 0. A root of m >= 3 needs 3^den < 2^64. */
static uint64_t integer_root(uint64_t m, uint64_t den)
{
    if (den == 1)
        return m;
    if (den > 40)
        return 0;
    uint64_t low = 1;
    uint64_t high = (uint64_t)1 << 32;
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        uint64_t p = power_capped(mid, den, m);
        if (p == m)
            return mid;
        if (p > m)
            high = mid;
        else
            low = mid + 1;
    }
    return 0;
}

/* *root = x^(1/den), when that is dyadic and x is exact with one limb. */
static bool dyadic_root(struct posref_ball *root, const struct posref_ball *x, uint64_t den)
{
    if (den == 1) {
        posref_ball_set(root, x);
        return true;
    }
    if (!ball_is_exact(x) || x->n_limbs != 1 || den > (uint64_t)1 << 32)
        return false;
    int zeros = __builtin_ctzll(x->limb[0]);
    uint64_t m = x->limb[0] >> zeros; /* x = m * 2^e */
    int64_t e = x->exponent - 64 + zeros;
    if (e % (int64_t)den != 0)
        return false;
    uint64_t r = m == 1 ? 1 : integer_root(m, den);
    if (r == 0)
        return false;
    posref_ball_finish(root, 1, &r, 1, e / (int64_t)den + 64, BALL_RADIUS_ZERO, 1);
    return true;
}

static void power_int(struct posref_ball *out, const struct posref_ball *x, uint64_t n,
                      unsigned prec)
{
    struct posref_ball square;
    posref_ball_set(&square, x);
    posref_ball_set_int(out, 1);
    for (; n; n >>= 1) {
        if (n & 1)
            posref_ball_mul(out, out, &square, prec);
        if (n > 1)
            posref_ball_mul(&square, &square, &square, prec);
    }
}

/* About e^v for |v| < 700: IEEE operations alone, as in posref_ball_approx_log. */
static double approximate_exp(double v)
{
    const double turns = v / BALL_LN2;
    const int64_t k = (int64_t)(turns + (turns < 0 ? -0.5 : 0.5));
    const double r = v - (double)k * BALL_LN2; /* |r| < 0.35 */
    double sum = 1;
    for (int i = 15; i > 0; i--)
        sum = 1 + sum * r / i;
    for (int64_t n = k < 0 ? -k : k; n > 0; n--)
        sum *= k < 0 ? 0.5 : 2;
    return sum;
}

/* out *= (1 + u)^(-1 / den), |u| < 2^-10, by the binomial series. Its coefficients fall, so that
 * what is left out is less than the last term used (of u = 0 +- radius: than twice that). */
static void correct(struct posref_ball *out, const struct posref_ball *u, uint64_t den,
                    unsigned prec)
{
    struct posref_ball sum, term, part;
    posref_ball_set_int(&sum, 1);
    posref_ball_set_int(&term, 1);
    for (uint64_t k = 1; u->sign; k++) { /* term *= -u (1 + (k - 1) den) / (k den) */
        const int64_t need = (int64_t)prec + term.exponent + 4;
        const unsigned p = need < 64 ? 64 : need > (int64_t)prec ? prec : (unsigned)need;
        posref_ball_mul(&term, &term, u, p);
        if (k > 1) {
            posref_ball_set_int(&part, (int64_t)(1 + (k - 1) * den));
            posref_ball_mul(&term, &term, &part, p);
        }
        posref_ball_div_small(&term, &term, k * den, p);
        term.sign = -term.sign;
        posref_ball_add(&sum, &sum, &term, prec);
        if (term.sign == 0 || term.exponent < -(int64_t)prec)
            break;
    }
    if (!ball_is_zero(u))
        ball_add_radius(&sum, radius_mul(ball_upper(u->sign ? &term : u), radius_pow2(1)));
    posref_ball_mul(out, out, &sum, prec);
}

#define GUESS_MAX 65536     /* den and num: powers by multiplication lose 32 bits at most */
#define GUESS_PREC_BITS 640 /* beyond it the series is no shorter than that of exp */

/* x^(+-n/d) from a guess y in doubles: with u = y^d / x^(+-n) - 1 it is y (1 + u)^(-1/d), whatever
 * y is. False: y is too far off, or would be. *out is spoilt. */
static bool power_guessed(struct posref_ball *out, const struct posref_ball *x, bool negative,
                          uint64_t n, uint64_t d, unsigned prec)
{
    struct posref_ball y, u, power, one;
    if (n > GUESS_MAX || d > GUESS_MAX || prec > GUESS_PREC_BITS)
        return false;
    const double exponent = (negative ? -1.0 : 1.0) * (double)n / (double)d;
    const double size = posref_ball_approx_log(x) * exponent;
    if (!(size > -500 && size < 500))
        return false;
    posref_ball_set_double(&y, approximate_exp(size));
    prec += 32;
    power_int(&u, &y, d, prec);
    power_int(&power, x, n, prec);
    if (negative)
        posref_ball_mul(&u, &u, &power, prec);
    else if (!posref_ball_div(&u, &u, &power, prec))
        return false;
    posref_ball_set_int(&one, 1);
    posref_ball_sub(&u, &u, &one, prec);
    const struct ball_radius most = ball_upper(&u);
    if (most.man && most.exponent > -10 - 32)
        return false;
    posref_ball_set(out, &y);
    correct(out, &u, d, prec);
    return true;
}

bool posref_ball_pow_ratio(struct posref_ball *out, const struct posref_ball *x, int64_t num,
                           int64_t den, unsigned prec_bits)
{
    struct posref_ball t;
    struct ball_radius lower;
    if (den == 0 || x->sign <= 0 || !posref_ball_lower(&lower, x))
        return false;
    bool negative = (num < 0) != (den < 0);
    uint64_t n = num < 0 ? 0 - (uint64_t)num : (uint64_t)num;
    uint64_t d = den < 0 ? 0 - (uint64_t)den : (uint64_t)den;
    uint64_t common = gcd(n, d);
    n /= common;
    d /= common;
    unsigned prec = prec_bits + 64;
    /* Powers by multiplication lose about log2(n) bits. */
    if (n == 0) {
        posref_ball_set_int(out, 1);
    } else if (n <= 1 << 20 && dyadic_root(&t, x, d)) {
        power_int(out, &t, n, prec);
        posref_ball_set_int(&t, 1);
        if (negative && !posref_ball_div(out, &t, out, prec))
            return false;
    } else if (!power_guessed(&t, x, negative, n, d, prec)) {
        if (!posref_ball_log(&t, x, prec))
            return false;
        struct posref_ball ratio;
        posref_ball_finish(&ratio, negative ? -1 : 1, &n, 1, 64, BALL_RADIUS_ZERO, 1);
        posref_ball_mul(&t, &t, &ratio, prec);
        posref_ball_div_small(&t, &t, d, prec);
        posref_ball_exp(out, &t, prec);
    } else {
        posref_ball_set(out, &t);
    }
    posref_ball_cut(out, out, prec_bits);
    return true;
}
