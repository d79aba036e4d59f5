/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction of an angle and the sine and cosine of what is left, in 128-bit integers: every
 * machine and compiler agrees, and the bounds are plain counts of units. docs/numerics.md
 * derives them. */
#include "turn_impl.h"

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

bool posref_turn_reduce(struct turn_reduced *out, uint64_t product[4], int64_t point)
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

/* 1 - cos and sin of the residue d = 2 pi residue 2^(-128 - zeros) < 2^-8.34, by their series in
 * d^2 = v 2^-16. one_minus_cos in units of 2^-144; sine normalised. */
static void residue_cos_sin(turn_u128 *one_minus_cos, struct turn_wide *sine,
                            const struct turn_reduced *r)
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

void posref_turn_kernel(struct turn_wide *c, struct turn_wide *s, bool *sine_negative,
                        const struct turn_reduced *r)
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
