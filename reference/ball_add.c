/* SPDX-License-Identifier: Apache-2.0 */
/* Sum and difference of balls. The sum of the midpoints is formed exactly whenever it spans no
 * more than SPAN limbs, so cancellation loses nothing. */
#include "ball_impl.h"

#define SPAN 136

/* The 64 bits of b at distance `limbs` limbs and `bits` bits (< 64) below b's top. */
static inline uint64_t limb_at(const struct posref_ball *b, int64_t limbs, int bits)
{
    uint64_t high = 0;
    uint64_t low = 0;
    if (limbs >= 0 && limbs < b->n_limbs)
        high = b->limb[b->n_limbs - 1 - limbs] >> bits;
    if (bits && limbs >= 1 && limbs <= b->n_limbs)
        low = b->limb[b->n_limbs - limbs] << (64 - bits);
    return high | low;
}

/* buf += or -= b, whose top lies `shift` bits below the top of buf. Returns the carry or borrow. */
static uint64_t accumulate(uint64_t *buf, int len, const struct posref_ball *b, int64_t shift,
                           bool subtract)
{
    uint64_t carry = 0;
    int64_t whole = shift / 64;
    int bits = (int)(shift % 64);
    for (int i = 0; i < len; i++) {
        uint64_t limb = limb_at(b, len - 1 - i - whole, bits);
        posref_u128 t = subtract ? (posref_u128)buf[i] - limb - carry
                                 : (posref_u128)buf[i] + limb + carry;
        buf[i] = (uint64_t)t;
        carry = (uint64_t)(t >> 64) & 1;
    }
    return carry;
}

static void negate(uint64_t *buf, int len)
{
    uint64_t carry = 1;
    for (int i = 0; i < len; i++) {
        buf[i] = ~buf[i] + carry;
        carry = carry && buf[i] == 0;
    }
}

/* Both midpoints are not zero, and a->exponent >= b->exponent. */
static void add_mids(struct posref_ball *out, const struct posref_ball *a,
                     const struct posref_ball *b, int b_sign, int a_sign,
                     struct ball_radius radius, int n)
{
    uint64_t buf[SPAN + 1];
    int64_t shift = a->exponent - b->exponent;
    int64_t span = (shift + 63) / 64 + b->n_limbs;
    if (span < a->n_limbs)
        span = a->n_limbs;
    int64_t exponent = a->exponent;
    if (span > SPAN) { /* b's tail falls off: less than one unit of the lowest limb */
        span = SPAN;
        radius = radius_add(radius, radius_pow2(exponent - 64 * (int64_t)SPAN));
    }
    int len = (int)span;
    int pad = len - a->n_limbs;
    for (int i = 0; i < len; i++)
        buf[i] = i < pad ? 0 : a->limb[i - pad];
    bool subtract = a_sign != b_sign;
    uint64_t carry = accumulate(buf, len, b, shift, subtract);
    int sign = a_sign;
    if (subtract && carry) { /* only when the exponents are equal */
        negate(buf, len);
        sign = -sign;
    } else if (!subtract) {
        buf[len++] = carry;
        exponent += 64;
    }
    posref_ball_finish(out, sign, buf, len, exponent, radius, n);
}

static void add_signed(struct posref_ball *out, const struct posref_ball *a,
                       const struct posref_ball *b, int b_sign, unsigned prec_bits)
{
    int n = ball_limbs(prec_bits);
    struct ball_radius radius = radius_add(ball_radius_of(a), ball_radius_of(b));
    if (b_sign == 0)
        posref_ball_finish(out, a->sign, a->limb, a->n_limbs, a->exponent, radius, n);
    else if (a->sign == 0)
        posref_ball_finish(out, b_sign, b->limb, b->n_limbs, b->exponent, radius, n);
    else if (a->exponent >= b->exponent)
        add_mids(out, a, b, b_sign, a->sign, radius, n);
    else
        add_mids(out, b, a, a->sign, b_sign, radius, n);
}

void posref_ball_add(struct posref_ball *out, const struct posref_ball *a,
                     const struct posref_ball *b, unsigned prec_bits)
{
    add_signed(out, a, b, b->sign, prec_bits);
}

void posref_ball_sub(struct posref_ball *out, const struct posref_ball *a,
                     const struct posref_ball *b, unsigned prec_bits)
{
    add_signed(out, a, b, -b->sign, prec_bits);
}
