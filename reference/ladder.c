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

#include <math.h>

/* x^(-num i / den) as a power of two, when x = 2^e and den divides e num i. */
static bool exponent_of_two(int64_t *exponent, double x, int64_t num, int64_t den, int i)
{
    int e;
    if (num == 0 || i == 0) {
        *exponent = 0;
        return true;
    }
    if (frexp(x, &e) != 0.5 || (int64_t)(e - 1) * num * i % den != 0)
        return false;
    *exponent = -((int64_t)(e - 1) * num * i / den);
    return true;
}

bool posref_ladder_exact(struct posref_ball *out, const struct posref_ladder *ladder, int i)
{
    int64_t of_base, of_factor;
    if (!exponent_of_two(&of_base, ladder->base, ladder->num, ladder->den, i) ||
        !exponent_of_two(&of_factor, ladder->factor, ladder->factor_num, ladder->factor_den, i))
        return false;
    posref_ball_set_int(out, 1);
    posref_ball_scale2(out, out, of_base + of_factor);
    return true;
}

enum posref_status posref_ladder_at(struct posref_ball *out, const struct posref_ladder *ladder,
                                    int i, unsigned prec_bits)
{
    if (posref_ladder_exact(out, ladder, i))
        return POSREF_OK;
    struct posref_ball x;
    posref_ball_set_double(&x, ladder->base);
    if (!posref_ball_pow_ratio(out, &x, -(int64_t)ladder->num * i, ladder->den, prec_bits))
        return POSREF_INTERNAL;
    if (ladder->factor_num == 0)
        return POSREF_OK;
    struct posref_ball power;
    posref_ball_set_double(&x, ladder->factor);
    if (!posref_ball_pow_ratio(&power, &x, -(int64_t)ladder->factor_num * i, ladder->factor_den,
                               prec_bits))
        return POSREF_INTERNAL;
    posref_ball_mul(out, out, &power, prec_bits);
    return POSREF_OK;
}
