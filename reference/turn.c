/* SPDX-License-Identifier: Apache-2.0 */
/* Turns, and cosine and sine of turn * position in double-double. The kernel works in
 * integers; what is left here is the magnitude and the conversion to doubles. */
#include "turn_impl.h"

#include <math.h>

bool posref_turn_from_ball(struct posref_turn *out, const struct posref_ball *turns)
{
    if (turns->sign == 0) {
        *out = (struct posref_turn){.is_zero = true};
        return turns->rad_man == 0;
    }
    if (turns->sign < 0 || turns->exponent > 1 << 20 || turns->exponent < -(1 << 20))
        return false;
    /* radius <= one unit: rad_man * 2^rad_exponent <= 2^(exponent - 192) */
    if (turns->rad_man) {
        uint64_t below = turns->rad_man - 1;
        int bits = below ? 64 - __builtin_clzll(below) : 0;
        if (turns->rad_exponent + bits > turns->exponent - 192)
            return false;
    }
    for (int i = 0; i < 3; i++) {
        int from = turns->n_limbs - 3 + i;
        out->limb[i] = from >= 0 ? turns->limb[from] : 0;
    }
    out->exponent = (int32_t)(turns->exponent - 192);
    out->is_zero = false;
    return true;
}

static void normalise(struct turn_wide *x)
{
    uint64_t high = (uint64_t)(x->man >> 64);
    int up = high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)x->man | 1);
    x->man <<= up;
    x->exponent -= up;
}

/* 2^e, -1022 <= e <= 1023. */
static double pow2(int e)
{
    return bits_double((uint64_t)(e + 1023) << 52);
}

/* |x| to hi + lo: hi to nearest, lo the rest to nearest, |error| <= 2^-105.9 hi. */
static struct posref_dd to_dd(struct turn_wide x, bool negative)
{
    normalise(&x);
    int64_t top = (int64_t)(uint64_t)(x.man >> 65); /* 63 bits */
    double hi = (double)top;
    int64_t rest = (int64_t)((uint64_t)top - (uint64_t)hi); /* |rest| <= 2^9 */
    uint64_t below = (uint64_t)(x.man >> 12) & (((uint64_t)1 << 53) - 1); /* the next 53 bits */
    int64_t low = rest * ((int64_t)1 << 53) + (int64_t)below;
    double unit = pow2(x.exponent + 65);
    double sign = negative ? -unit : unit;
    return (struct posref_dd){hi * sign, (double)low * (sign * 0x1p-53), 0};
}

/* x * magnitude; the magnitude's own error of 2^-105 is counted by the caller. */
static struct turn_wide scale(struct turn_wide x, const struct posref_magnitude *mag)
{
    uint64_t bits = double_bits(mag->hi);
    int e = (int)(bits >> 52 & 0x7ff) - 1075; /* hi = man 2^e */
    uint64_t man = (bits & 0xfffffffffffffu) | (uint64_t)1 << 52;
    /* In units of 2^(e - 74). lo < 2^(e + 1) is cut to units of 2^(e - 60) < 2^-112 hi. */
    int64_t lo = (int64_t)(mag->lo * pow2(-e) * 0x1p60);
    turn_u128 whole = ((turn_u128)man << 74) + (turn_u128)((turn_i128)lo * 16384);
    struct turn_wide m = {whole, e - 74};
    normalise(&x);
    normalise(&m);
    return (struct turn_wide){mul_high(x.man, m.man), x.exponent + m.exponent + 128};
}

/* Keeps every intermediate double normal, with much to spare. */
static bool in_range(const struct posref_turn *turn, const struct posref_magnitude *mag)
{
    return turn->exponent > -900 && turn->exponent < 0 &&
           (mag->is_one || (mag->hi >= 0x1p-200 && mag->hi <= 0x1p200 &&
                            fabs(mag->lo) <= mag->hi * 0x1p-52));
}

/* turn * |position| as product * 2^-*point turns. false: subnormal, infinite or NaN position. */
static bool multiply(uint64_t product[4], int64_t *point, const struct posref_turn *turn,
                     double position)
{
    uint64_t bits = double_bits(position);
    int field = (int)(bits >> 52 & 0x7ff);
    uint64_t man = (bits & 0xfffffffffffffu) | (uint64_t)1 << 52;
    turn_u128 t = 0;
    if (field == 0 || field == 0x7ff)
        return false;
    for (int i = 0; i < 3; i++) {
        t = (turn_u128)turn->limb[i] * man + (uint64_t)(t >> 64);
        product[i] = (uint64_t)t;
    }
    product[3] = (uint64_t)(t >> 64);
    *point = -((int64_t)turn->exponent + field - 1075);
    return true;
}

/* Position 0 or a zero turn: the magnitude and zero. */
static void no_angle(struct posref_dd *c, struct posref_dd *s, const struct posref_magnitude *mag)
{
    *s = (struct posref_dd){0, 0, 0};
    *c = (struct posref_dd){1, 0, 0};
    if (!mag->is_one)
        *c = (struct posref_dd){mag->hi, mag->lo, mag->is_exact ? 0 : 0x1p-105 * fabs(mag->hi)};
}

void posref_turn_cos_sin_dd(struct posref_dd *cos_out, struct posref_dd *sin_out,
                            const struct posref_turn *turn, const struct posref_magnitude *mag,
                            double position)
{
    if (position == 0 || turn->is_zero) {
        no_angle(cos_out, sin_out, mag);
        return;
    }
    uint64_t product[4];
    int64_t point;
    struct turn_reduced r;
    *cos_out = (struct posref_dd){0, 0, HUGE_VAL};
    *sin_out = *cos_out;
    if (!in_range(turn, mag) || !multiply(product, &point, turn, position) ||
        !posref_turn_reduce(&r, product, point))
        return;
    struct turn_wide c;
    struct turn_wide s;
    bool sine_negative;
    posref_turn_kernel(&c, &s, &sine_negative, &r);
    double relative = TURN_DD_ERROR;
    double size = 1;
    if (!mag->is_one) {
        c = scale(c, mag);
        s = scale(s, mag);
        relative = TURN_DD_ERROR_MAGNITUDE;
        size = mag->hi;
    }
    /* A quarter turn takes (cos, sin) to (-sin, cos). */
    bool odd = r.quarters & 1;
    bool half = r.quarters & 2;
    struct posref_dd cosine = to_dd(odd ? s : c, odd ? sine_negative == half : half);
    struct posref_dd sine = to_dd(odd ? c : s, (odd ? half : sine_negative != half) !=
                                                   (position < 0));
    /* The turn's error, 2 units, times |position| and 2 pi: an absolute error of the angle. */
    double angle = 13 * (pow2(turn->exponent) * fabs(position)) * size;
    cosine.err = relative * fabs(cosine.hi) + angle;
    sine.err = relative * fabs(sine.hi) + angle;
    *cos_out = cosine;
    *sin_out = sine;
}
