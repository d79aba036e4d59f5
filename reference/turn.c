/* SPDX-License-Identifier: Apache-2.0 */
/* Turns, and cosine and sine of turn * position in double-double. Everything up to the final
 * conversion is integer arithmetic of 128 bits, so that every machine and compiler agrees and the
 * bounds are plain counts of units. docs/numerics.md derives them. */
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
        int bits = 64 - __builtin_clzll(turns->rad_man - 1 ? turns->rad_man - 1 : 1);
        if (turns->rad_man == 1)
            bits = 0;
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

/* An angle near the first quadrant, 2 pi (step / 1024 +- residue * 2^(-128 - zeros)), and
 * then `quarters` quarter turns. residue has its top bit set; zeros >= 10. */
struct reduced {
    turn_u128 residue;
    int zeros;
    int step; /* 0 .. 255 */
    int quarters;
    bool negative;
};

static int bit_length(const uint64_t *limb, int n)
{
    while (n > 0 && limb[n - 1] == 0)
        n--;
    return n == 0 ? 0 : 64 * n - __builtin_clzll(limb[n - 1]);
}

/* The 128 bits of limb[0..3] that begin `from` bits below its top (bit 256). */
static turn_u128 take_128(const uint64_t *limb, int from)
{
    uint64_t word[3] = {0, 0, 0};
    int whole = from / 64;
    int bits = from % 64;
    for (int i = 0; i < 3; i++)
        if (3 - whole - i >= 0)
            word[i] = limb[3 - whole - i];
    if (bits) {
        word[0] = word[0] << bits | word[1] >> (64 - bits);
        word[1] = word[1] << bits | word[2] >> (64 - bits);
    }
    return (turn_u128)word[0] << 64 | word[1];
}

static void shift_up(uint64_t *limb, int by)
{
    int whole = by / 64;
    int bits = by % 64;
    for (int i = 3; i >= 0; i--) {
        uint64_t high = i - whole >= 0 ? limb[i - whole] : 0;
        uint64_t low = i - whole - 1 >= 0 ? limb[i - whole - 1] : 0;
        limb[i] = bits ? high << bits | low >> (64 - bits) : high;
    }
}

/* product * 2^-point turns, exactly, to a step and a residue of 128 bits (cut off). false: no bit
 * of the fraction is left. */
static bool reduce(struct reduced *out, uint64_t product[4], int64_t point)
{
    int length = bit_length(product, 4);
    out->step = 0;
    out->quarters = 0;
    out->negative = false;
    if (length == 0)
        return false;
    if (point - length >= 11) { /* below 2^-11 turn */
        if (point - length > 700) /* keeps every double normal */
            return false;
        out->residue = take_128(product, 256 - length);
        out->zeros = (int)(point - length);
        return true;
    }
    if (point < 64) /* so long an angle that the turn's own error swallows it */
        return false;
    shift_up(product, (int)(256 - point));
    uint64_t rounded = product[3] + ((uint64_t)1 << 53);
    int place = (int)(rounded >> 54);
    out->quarters = place >> 8;
    out->step = place & 255;
    product[3] -= (uint64_t)place << 54;
    out->negative = product[3] >> 63;
    if (out->negative) {
        uint64_t carry = 1;
        for (int i = 0; i < 4; i++) {
            product[i] = ~product[i] + carry;
            carry = carry && product[i] == 0;
        }
    }
    length = bit_length(product, 4);
    if (length == 0)
        return false;
    out->residue = take_128(product, 256 - length);
    out->zeros = 256 - length;
    return true;
}

__extension__ typedef __int128 turn_i128;

/* man * 2^exponent, man with its top bits near the top. */
struct wide {
    turn_u128 man;
    int exponent;
};

/* 1 - cos and sin of the residue d = 2 pi residue 2^(-128 - zeros) < 2^-8.34, by their series in
 * d^2 = v 2^-16. one_minus_cos in units of 2^-144; sine normalised. */
static void residue_cos_sin(turn_u128 *one_minus_cos, struct wide *sine, const struct reduced *r)
{
    const turn_u128 two_pi = (turn_u128)TURN_TWO_PI_HIGH << 64 | TURN_TWO_PI_LOW;
    turn_u128 d = mul_high(r->residue, two_pi); /* angle = d 2^(-zeros - 125) */
    int down = 2 * r->zeros - 22;
    turn_u128 v = mul_high(d, d);
    v = down < 0 ? v << -down : down < 128 ? v >> down : 0;
    uint64_t vh = (uint64_t)(v >> 64);

    const turn_u128 s3 = ((turn_u128)1 << 127) / 3;
    const turn_u128 s5 = ((turn_u128)1 << 112) / 120;
    const turn_u128 s7 = ((turn_u128)1 << 96) / 5040;
    const uint64_t s9 = (uint64_t)(((turn_u128)1 << 80) / 362880);
    const uint64_t s11 = (uint64_t)(((turn_u128)1 << 64) / 39916800);
    uint64_t high = s9 - (uint64_t)((turn_u128)vh * s11 >> 64);
    turn_u128 a = s7 - ((turn_u128)vh * high >> 64);
    a = s5 - mul_high(v, a);
    a = s3 - mul_high(v, a);
    a = mul_high(v, a); /* 1 - sin(d) / d = a 2^-144 */
    sine->man = d - (mul_high(d, a) >> 16);
    sine->exponent = -r->zeros - 125;

    const turn_u128 c2 = (turn_u128)1 << 127;
    const turn_u128 c4 = ((turn_u128)1 << 112) / 24;
    const turn_u128 c6 = ((turn_u128)1 << 96) / 720;
    const uint64_t c8_half = (uint64_t)(((turn_u128)1 << 79) / 40320);
    const uint64_t c10 = (uint64_t)(((turn_u128)1 << 64) / 3628800);
    high = c8_half - (uint64_t)((turn_u128)vh * c10 >> 65);
    turn_u128 b = c6 - ((turn_u128)vh * high >> 63);
    b = c4 - mul_high(v, b);
    b = c2 - mul_high(v, b);
    *one_minus_cos = mul_high(v, b);
}

static turn_u128 table(int j)
{
    return (turn_u128)posref_turn_fixed[j].high << 64 | posref_turn_fixed[j].low;
}

/* cos and sin of the angle without its quarters: both in [0, 1], except that the sine may be
 * negative in step 0 (then *sine_negative). */
static void quadrant_cos_sin(struct wide *c, struct wide *s, bool *sine_negative,
                             const struct reduced *r)
{
    turn_u128 versed;
    residue_cos_sin(&versed, s, r);
    *sine_negative = false;
    if (r->step == 0) {
        c->man = ((turn_u128)1 << 127) - (versed >> 17);
        c->exponent = -127;
        *sine_negative = r->negative;
        return;
    }
    turn_u128 sin_step = table(r->step);
    turn_u128 cos_step = table(TURN_STEPS - r->step);
    turn_u128 sin_residue = r->zeros - 3 < 128 ? s->man >> (r->zeros - 3) : 0; /* 2^-128 */
    versed >>= 16;
    turn_u128 sine = sin_step - mul_high(sin_step, versed);
    turn_u128 cosine = cos_step - mul_high(cos_step, versed);
    turn_u128 ds = mul_high(cos_step, sin_residue);
    turn_u128 dc = mul_high(sin_step, sin_residue);
    s->man = r->negative ? sine - ds : sine + ds;
    c->man = r->negative ? cosine + dc : cosine - dc;
    s->exponent = -127;
    c->exponent = -127;
}

static void normalise(struct wide *x)
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
static struct posref_dd to_dd(struct wide x, bool negative)
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
static struct wide scale(struct wide x, const struct posref_magnitude *mag)
{
    uint64_t bits = double_bits(mag->hi);
    int e = (int)(bits >> 52 & 0x7ff) - 1075; /* hi = man 2^e */
    uint64_t man = (bits & 0xfffffffffffffu) | (uint64_t)1 << 52;
    /* In units of 2^(e - 74). lo < 2^(e + 1) is cut to units of 2^(e - 60) < 2^-112 hi. */
    int64_t lo = (int64_t)(mag->lo * pow2(-e) * 0x1p60);
    turn_u128 whole = ((turn_u128)man << 74) + (turn_u128)((turn_i128)lo * 16384);
    struct wide m = {whole, e - 74};
    normalise(&x);
    normalise(&m);
    return (struct wide){mul_high(x.man, m.man), x.exponent + m.exponent + 128};
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
    struct reduced r;
    *cos_out = (struct posref_dd){0, 0, HUGE_VAL};
    *sin_out = *cos_out;
    if (!in_range(turn, mag) || !multiply(product, &point, turn, position) ||
        !reduce(&r, product, point))
        return;
    struct wide c;
    struct wide s;
    bool sine_negative;
    quadrant_cos_sin(&c, &s, &sine_negative, &r);
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
