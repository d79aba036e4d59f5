/* SPDX-License-Identifier: Apache-2.0 */
/* Balls: making them, normalising them, sign and scale. */
#include "ball_impl.h"

#include <string.h>

void posref_ball_set_zero(struct posref_ball *out, struct ball_radius radius)
{
    out->sign = 0;
    out->n_limbs = 0;
    out->exponent = 0;
    ball_set_radius(out, radius);
}

/* Midpoint or radius left the range of exponents: enclose with what is left. */
static void out_of_range(struct posref_ball *out)
{
    bool huge = (out->sign && out->exponent > BALL_EXPONENT_LIMIT) ||
                (out->rad_man && out->rad_exponent > BALL_EXPONENT_LIMIT);
    if (huge) {
        posref_ball_set_zero(out, radius_pow2(BALL_EXPONENT_LIMIT * 2));
        return;
    }
    struct ball_radius tiny = radius_pow2(-BALL_EXPONENT_LIMIT);
    if (out->sign && out->exponent < -BALL_EXPONENT_LIMIT)
        posref_ball_set_zero(out, radius_add(ball_radius_of(out), tiny));
    if (out->rad_man && out->rad_exponent < -BALL_EXPONENT_LIMIT)
        ball_set_radius(out, tiny);
}

static void check_range(struct posref_ball *out)
{
    if (out->exponent > BALL_EXPONENT_LIMIT || out->exponent < -BALL_EXPONENT_LIMIT ||
        out->rad_exponent > BALL_EXPONENT_LIMIT || out->rad_exponent < -BALL_EXPONENT_LIMIT)
        out_of_range(out);
}

static bool any_nonzero(const uint64_t *buf, int len)
{
    for (int i = 0; i < len; i++)
        if (buf[i])
            return true;
    return false;
}

void posref_ball_finish(struct posref_ball *out, int sign, const uint64_t *buf, int len,
                        int64_t exponent, struct ball_radius radius, int n)
{
    while (len > 0 && buf[len - 1] == 0) {
        len--;
        exponent -= 64;
    }
    if (len == 0 || sign == 0) {
        posref_ball_set_zero(out, radius);
        check_range(out);
        return;
    }
    int shift = __builtin_clzll(buf[len - 1]);
    int skip = len > n ? len - n : 0;
    bool lost = skip > 0 && (buf[skip - 1] << shift || any_nonzero(buf, skip - 1));
    int first = skip; /* lowest limb that is not zero after the shift */
    while (first < len - 1 && (buf[first] << shift) == 0 &&
           (shift == 0 || first == 0 || buf[first - 1] >> (64 - shift) == 0))
        first++;
    int kept = len - first;
    uint64_t below = first > 0 ? buf[first - 1] : 0;
    for (int i = 0; i < kept; i++) { /* upwards: buf may be out->limb, with shift = 0 */
        const uint64_t limb = buf[first + i];
        out->limb[i] = limb << shift | (shift ? below >> (64 - shift) : 0);
        below = limb;
    }
    out->sign = sign;
    out->n_limbs = kept;
    out->exponent = exponent - shift;
    if (lost)
        radius = radius_add(radius, radius_pow2(out->exponent - 64 * (int64_t)n));
    ball_set_radius(out, radius);
    check_range(out);
}

void posref_ball_cut(struct posref_ball *out, const struct posref_ball *a, unsigned prec_bits)
{
    posref_ball_finish(out, a->sign, a->limb, a->n_limbs, a->exponent, ball_radius_of(a),
                       ball_limbs(prec_bits));
}

void posref_ball_set(struct posref_ball *out, const struct posref_ball *a)
{
    if (out == a)
        return;
    memcpy(out, a, offsetof(struct posref_ball, limb) + (size_t)a->n_limbs * sizeof a->limb[0]);
}

static void set_uint64(struct posref_ball *out, int sign, uint64_t man, int64_t exponent)
{
    posref_ball_finish(out, sign, &man, 1, exponent + 64, BALL_RADIUS_ZERO, 1);
}

void posref_ball_set_double(struct posref_ball *out, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int biased = (int)(bits >> 52) & 0x7ff;
    uint64_t man = bits & 0xfffffffffffffu;
    if (biased)
        man |= (uint64_t)1 << 52;
    else
        biased = 1;
    set_uint64(out, bits >> 63 ? -1 : 1, man, biased - 1075);
}

void posref_ball_set_int(struct posref_ball *out, int64_t x)
{
    set_uint64(out, x < 0 ? -1 : 1, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 0);
}

void posref_ball_neg(struct posref_ball *out, const struct posref_ball *a)
{
    posref_ball_set(out, a);
    out->sign = -out->sign;
}

void posref_ball_scale2(struct posref_ball *out, const struct posref_ball *a, int64_t exponent)
{
    int64_t limit = 2 * BALL_EXPONENT_LIMIT;
    exponent = exponent > limit ? limit : exponent < -limit ? -limit : exponent;
    posref_ball_set(out, a);
    if (out->sign)
        out->exponent += exponent;
    if (out->rad_man)
        out->rad_exponent += exponent;
    check_range(out);
}

bool posref_ball_lower(struct ball_radius *out, const struct posref_ball *a)
{
    if (a->sign == 0)
        return false;
    /* Both in units of 2^(exponent - 62): the midpoint is at least 2^61. */
    uint64_t mid = a->limb[a->n_limbs - 1] >> 2;
    struct ball_radius r = ball_radius_of(a);
    int64_t shift = r.exponent - (a->exponent - 62);
    uint64_t rad = 0;
    if (r.man) {
        if (shift > 31)
            return false;
        rad = shift >= 0 ? r.man << shift : shift <= -32 ? 1 : (r.man >> -shift) + 1;
    }
    if (mid <= rad || mid - rad < (uint64_t)1 << 31)
        return false;
    uint64_t man = mid - rad;
    int cut = 32 - __builtin_clzll(man);
    *out = (struct ball_radius){man >> cut, a->exponent - 62 + cut};
    return true;
}

double posref_ball_approx(const struct posref_ball *a)
{
    if (a->sign == 0)
        return 0;
    double top = (double)(a->limb[a->n_limbs - 1] >> 11); /* exact: 53 bits */
    int64_t e = a->exponent - 53;
    double scale = e < 0 ? 0.5 : 2.0;
    for (uint64_t k = (uint64_t)(e < 0 ? -e : e); k; k >>= 1) {
        if (k & 1)
            top *= scale;
        scale *= scale;
    }
    return a->sign < 0 ? -top : top;
}
