/* SPDX-License-Identifier: Apache-2.0 */
/* Geometric frequency ladders with rational exponents.
 *
 * No tie: a rounding boundary is a dyadic number with exactly 54 significant bits. Write base =
 * M 2^m with M odd (M >= 1 for every double). base^(-p/q) with p/q > 0 is dyadic only if M^(-p/q)
 * is, up to a power of two that must be rational as well; M^(-p/q) <= 1 is dyadic only for M = 1,
 * since an odd number's negative power is irrational or has an odd denominator > 1. So theta_i is
 * either a power of two, recognised exactly below, or no dyadic number. The same holds for a
 * product of two such powers and for a quotient by factor = F 2^f: the odd parts M, F >= 1 enter
 * with negative powers and cannot cancel. */
#include "scaling.h"

#include <string.h>

/* log2 of an exact power of two. */
static bool log2_exact(int64_t *exponent, const struct posref_ball *x)
{
    if (x->rad_man || x->sign != 1 || x->limb[x->n_limbs - 1] != (uint64_t)1 << 63)
        return false;
    for (int i = 0; i < x->n_limbs - 1; i++)
        if (x->limb[i])
            return false;
    *exponent = x->exponent - 1;
    return true;
}

/* x^(-num / den) = 2^*exponent, when x is a power of two and den divides; num = 0: always. */
static bool exponent_of_two(int64_t *exponent, const struct posref_ball *x, int64_t num,
                            int64_t den)
{
    int64_t e;
    *exponent = 0;
    if (num == 0)
        return true;
    if (!log2_exact(&e, x) || e * num % den != 0)
        return false;
    *exponent = -(e * num / den);
    return true;
}

static int64_t stretch_exponent(const struct posref_ladder *ladder, int i)
{
    return ladder->stretch_den ? (int64_t)ladder->stretch_num * i + ladder->stretch_first : 0;
}

static bool is_power_of_two(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits << 12 == 0; /* a base is no subnormal */
}

bool posref_ladder_exact(struct posref_ball *out, const struct posref_ladder *ladder, int i)
{
    int64_t of_base, of_stretch, of_over;
    if ((int64_t)ladder->num * i != 0 && !is_power_of_two(ladder->base))
        return false; /* nearly all, at once */
    const int64_t num = stretch_exponent(ladder, i);
    struct posref_ball base, over;
    posref_ball_set_double(&base, ladder->base);
    posref_ball_set_double(&over, ladder->over);
    if (!exponent_of_two(&of_base, &base, (int64_t)ladder->num * i, ladder->den) ||
        !exponent_of_two(&of_stretch, &ladder->stretch, num, ladder->stretch_den) ||
        !exponent_of_two(&of_over, &over, num, ladder->stretch_den))
        return false;
    posref_ball_set_int(out, 1);
    posref_ball_scale2(out, out, of_base + of_stretch - of_over);
    return true;
}

/* (stretch / over)^(-num / den) as (over / stretch)^(num / den): exact where it is dyadic. */
static bool stretch_power(struct posref_ball *out, const struct posref_ladder *ladder, int64_t num,
                          unsigned prec_bits)
{
    struct posref_ball x;
    if (ladder->over == 1)
        return posref_ball_pow_ratio(out, &ladder->stretch, -num, ladder->stretch_den, prec_bits);
    posref_ball_set_double(&x, ladder->over);
    return posref_ball_div(&x, &x, &ladder->stretch, prec_bits + 64) &&
           posref_ball_pow_ratio(out, &x, num, ladder->stretch_den, prec_bits);
}

enum posref_status posref_ladder_at(struct posref_ball *out, const struct posref_ladder *ladder,
                                    int i, unsigned prec_bits)
{
    if (posref_ladder_exact(out, ladder, i))
        return POSREF_OK;
    struct posref_ball x, power;
    posref_ball_set_double(&x, ladder->base);
    if (!posref_ball_pow_ratio(out, &x, -(int64_t)ladder->num * i, ladder->den, prec_bits))
        return POSREF_INTERNAL;
    const int64_t num = stretch_exponent(ladder, i);
    if (num == 0)
        return POSREF_OK;
    if (!stretch_power(&power, ladder, num, prec_bits))
        return POSREF_INTERNAL;
    posref_ball_mul(out, out, &power, prec_bits);
    return POSREF_OK;
}
