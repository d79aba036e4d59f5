/* SPDX-License-Identifier: Apache-2.0 */
/* Exact parts of a turn: whether an angle is one, and what it does to a pair. */
#include "exact_turn.h"

#include "whole.h"

#include <math.h>

/* x = odd * 2^exponent, x > 0. */
static int64_t odd_part(int *exponent, double x)
{
    int64_t odd = (int64_t)ldexp(frexp(x, exponent), 53);
    *exponent -= 53;
    while (odd % 2 == 0) {
        odd /= 2;
        ++*exponent;
    }
    return odd;
}

bool posref_exact_turn_rational(int64_t *odd, bool *inverse, int64_t *exponent,
                                const struct posref_ladder *ladder, int i)
{
    int two;
    int64_t num = (int64_t)ladder->num * i, den = ladder->den;
    *inverse = num > 0;
    num = num < 0 ? -num : num;
    *odd = 1;
    *exponent = 0;
    if (num == 0)
        return true;
    const int64_t common = posref_whole_gcd(num, den);
    num /= common;
    den /= common;
    const int64_t base = odd_part(&two, ladder->base), of_base = posref_whole_root(base, den);
    if (of_base == 0 || two * num % den != 0)
        return false;
    *odd = posref_whole_power(of_base, num, (int64_t)1 << 62);
    *exponent = (*inverse ? -1 : 1) * (two * num / den);
    return *odd > 0;
}

/* 2^n mod 3, 8 together: 24 is 8 times 3. n >= 0. */
static int pow2_mod24(int64_t n)
{
    static const int mod24[] = {1, 2, 4, 8, 16};
    return n < 5 ? mod24[n] : n % 2 ? 8 : 16;
}

int posref_exact_turn(const struct posref_ladder *ladder, int i, int divisor, double position)
{
    int64_t odd, exponent;
    bool inverse;
    int of_position;
    if (position == 0)
        return 0;
    if (!posref_exact_turn_rational(&odd, &inverse, &exponent, ladder, i))
        return -1;
    /* 24 t = 8 * (3 P odd^(+-1)) * 2^(exponents), P the position's odd part. */
    int64_t whole = 3 * odd_part(&of_position, fabs(position)); /* below 2^55 */
    exponent += of_position + 3 - (divisor == 4 ? 2 : 0);
    if (exponent < 0 || (inverse && whole % odd != 0))
        return -1;
    int64_t parts = inverse ? whole / odd % 24 : whole % 24 * (odd % 24) % 24;
    parts = parts * pow2_mod24(exponent) % 24;
    return (int)(position < 0 ? (24 - parts) % 24 : parts);
}

/* 2 cos of `parts` 24ths of a turn is sign * sqrt(square), square 0, 1, 2, 3 or 4. */
static int cosine(int *sign, int parts)
{
    static const int square[7] = {4, -1, 3, 2, 1, -1, 0}; /* of 0 ... 6 24ths; -1: no such form */
    parts = parts > 12 ? 24 - parts : parts;
    *sign = parts > 6 ? -1 : 1;
    return square[parts > 6 ? 12 - parts : parts];
}

/* sign * sqrt(square) / 2 * x */
static void times_root(struct posref_ball *out, int sign, int square, double x, unsigned prec_bits)
{
    struct posref_ball factor;
    posref_ball_set_int(out, square == 4 ? 2 : square);
    if (square == 2 || square == 3)
        (void)posref_ball_sqrt(out, out, prec_bits);
    posref_ball_scale2(out, out, -1);
    if (sign < 0)
        posref_ball_neg(out, out);
    posref_ball_set_double(&factor, x);
    posref_ball_mul(out, out, &factor, prec_bits);
}

bool posref_exact_turn_combine(struct posref_ball *out, int parts, double with_cos, double with_sin,
                               unsigned prec_bits)
{
    int cos_sign, sin_sign;
    const int cos_square = cosine(&cos_sign, parts);
    const int sin_square = cosine(&sin_sign, (parts + 18) % 24); /* sin t = cos (t - 1/4) */
    struct posref_ball other;
    if (cos_square < 0)
        return false;
    if (cos_square == 2) { /* both sqrt(2) / 2: what cancels must cancel before the root */
        posref_ball_set_double(out, cos_sign * with_cos);
        posref_ball_set_double(&other, sin_sign * with_sin);
        posref_ball_add(out, out, &other, POSREF_BALL_MAX_BITS);
        times_root(&other, 1, 2, 1, prec_bits);
        posref_ball_mul(out, out, &other, prec_bits);
        return true;
    }
    times_root(out, cos_sign, cos_square, with_cos, prec_bits);
    times_root(&other, sin_sign, sin_square, with_sin, prec_bits);
    posref_ball_add(out, out, &other, prec_bits);
    return true;
}
