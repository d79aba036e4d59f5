/* SPDX-License-Identifier: Apache-2.0 */
/* What a ball decides: order, floor, the nearest double; and the loop that asks for more bits. */
#include "ball_impl.h"

#include <math.h>
#include <string.h>

#define ALL_BITS (POSREF_BALL_MAX_BITS + 128)

/* The sign of every member (0: the exact zero), or 2. */
static int decided_sign(const struct posref_ball *a)
{
    if (ball_is_exact(a))
        return a->sign;
    struct posref_ball rad;
    struct ball_radius r = ball_radius_of(a);
    if (a->sign == 0)
        return 2;
    /* |mid| > rad: mid >= 2^(exponent - 1), rad < 2^(32 + r.exponent) */
    if (a->exponent - 1 >= r.exponent + 32)
        return a->sign;
    posref_ball_finish(&rad, -a->sign, &r.man, 1, r.exponent + 64, BALL_RADIUS_ZERO, 1);
    struct posref_ball mid;
    ball_set_mid(&mid, a);
    posref_ball_add(&rad, &mid, &rad, ALL_BITS);
    return rad.sign == a->sign && ball_is_exact(&rad) ? a->sign : 2;
}

int posref_ball_compare(const struct posref_ball *a, const struct posref_ball *b)
{
    struct posref_ball d;
    posref_ball_sub(&d, a, b, ALL_BITS);
    return decided_sign(&d);
}

/* The 64 bits before the point of an exact |a| < 2^63. */
static uint64_t integer_part(const struct posref_ball *a)
{
    if (a->sign == 0 || a->exponent <= 0)
        return 0;
    return a->limb[a->n_limbs - 1] >> (64 - a->exponent);
}

bool posref_ball_floor(int64_t *out, const struct posref_ball *a)
{
    if (a->sign && a->exponent > 62)
        return false;
    struct posref_ball mid;
    struct posref_ball integer;
    ball_set_mid(&mid, a);
    int64_t n = (int64_t)integer_part(&mid);
    posref_ball_set_int(&integer, n);
    if (a->sign < 0) {
        n = -n;
        posref_ball_neg(&integer, &integer);
        if (posref_ball_compare(&mid, &integer) < 0)
            n--;
    }
    posref_ball_set_int(&integer, n);
    int low = posref_ball_compare(a, &integer);
    if (low != 0 && low != 1)
        return false;
    posref_ball_set_int(&integer, n + 1);
    if (posref_ball_compare(a, &integer) != -1)
        return false;
    *out = n;
    return true;
}

/* The double nearest to the exact, positive 0.limbs * 2^exponent, ties to even. */
static double nearest(const struct posref_ball *a)
{
    if (a->exponent > 1024)
        return HUGE_VAL;
    int64_t bits = a->exponent >= -1021 ? 53 : a->exponent + 1074; /* of the significand */
    if (bits < 0)
        return 0;
    uint64_t top = a->limb[a->n_limbs - 1];
    bool sticky = a->n_limbs > 1; /* the lowest limb is not zero */
    int drop = 64 - (int)bits;
    uint64_t man = bits ? top >> drop : 0;
    uint64_t half = (top >> (drop - 1)) & 1;
    uint64_t rest = drop > 1 ? top << (65 - drop) : 0;
    if (half && (rest || sticky || (man & 1)))
        man++;
    /* Biased exponent and significand add up, carries included. */
    uint64_t pattern = bits == 53 ? ((uint64_t)(a->exponent + 1021) << 52) + man : man;
    double x;
    memcpy(&x, &pattern, sizeof x);
    return x;
}

/* Half the sum of two neighbouring doubles, exactly; infinity counts as 2^1024. */
static void midpoint(struct posref_ball *out, double x, double y)
{
    struct posref_ball t;
    posref_ball_set_double(out, x);
    if (isinf(y)) {
        posref_ball_set_int(&t, 1);
        posref_ball_scale2(&t, &t, 1024);
    } else {
        posref_ball_set_double(&t, y);
    }
    posref_ball_add(out, out, &t, 128);
    posref_ball_scale2(out, out, -1);
}

static double step(double x, int by)
{
    uint64_t pattern;
    memcpy(&pattern, &x, sizeof x);
    pattern += (uint64_t)(int64_t)by;
    memcpy(&x, &pattern, sizeof x);
    return x;
}

/* Most balls decide by the 128 leading bits of the midpoint: 53 are kept, and the other 75, as a
 * fraction of a unit in the last place, keep away from 1/2 by more than the radius and what lies
 * below them. False: undecided here. The radius is below 2^-15 units, so that no other boundary
 * than 1/2 can be met (the one below a power of two is 1/4 of a unit down). */
static bool round_quickly(double *out, const struct posref_ball *a)
{
    if (a->sign == 0 || a->n_limbs < 2 || a->exponent < -1021 || a->exponent > 1022)
        return false;
    const int64_t radius_bits = a->rad_exponent - a->exponent + 128; /* in units of bit 128 */
    if (a->rad_man && (radius_bits > 28 || a->rad_man >> 32))
        return false;
    const uint64_t top = a->limb[a->n_limbs - 1], next = a->limb[a->n_limbs - 2];
    const posref_u128 rest = (posref_u128)(top & 0x7ff) << 64 | next;
    const posref_u128 half = (posref_u128)1 << 74, margin = ((posref_u128)1 << 61) + 1;
    const bool up = rest > half;
    if (up ? rest - half <= margin : half - rest <= margin)
        return false;
    /* Biased exponent and significand add up, carries included. */
    uint64_t pattern = ((uint64_t)(a->exponent + 1021) << 52) + (top >> 11) + up;
    pattern |= (uint64_t)(a->sign < 0) << 63;
    memcpy(out, &pattern, sizeof *out);
    return true;
}

bool posref_ball_round(double *out, const struct posref_ball *a)
{
    if (ball_is_zero(a)) {
        *out = 0;
        return true;
    }
    if (round_quickly(out, a))
        return true;
    int sign = decided_sign(a);
    if (sign == 2)
        return false;
    struct posref_ball mid;
    ball_set_mid(&mid, a);
    mid.sign = 1;
    double x = nearest(&mid);
    if (!ball_is_exact(a)) { /* all members strictly inside the cell of x */
        struct posref_ball edge;
        ball_set_radius(&mid, ball_radius_of(a));
        if (!isinf(x)) {
            midpoint(&edge, x, step(x, 1));
            if (posref_ball_compare(&mid, &edge) != -1)
                return false;
        }
        if (x > 0) {
            midpoint(&edge, step(x, -1), x);
            if (posref_ball_compare(&mid, &edge) != 1)
                return false;
        }
    }
    *out = sign < 0 ? -x : x;
    return true;
}

enum posref_status posref_ball_decide(double *out, posref_ball_fn *fn, const void *ctx)
{
    for (unsigned prec = 128; prec <= POSREF_BALL_MAX_BITS; prec *= 2) {
        struct posref_ball value;
        enum posref_status status = fn(&value, ctx, prec);
        if (status != POSREF_OK)
            return status;
        if (posref_ball_round(out, &value))
            return POSREF_OK;
    }
    return POSREF_INTERNAL;
}
