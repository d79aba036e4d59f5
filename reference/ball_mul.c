/* SPDX-License-Identifier: Apache-2.0 */
/* Product of balls, and pi and ln 2 from their tables. */
#include "ball_impl.h"

#include "ball_constants.h"

static inline __attribute__((always_inline)) void
mul_rows(uint64_t *out, const uint64_t *a, int na, const uint64_t *b, int nb)
{
    uint64_t carry = 0;
    _Pragma("GCC unroll 6") for (int i = 0; i < na; i++) {
        posref_u128 t = (posref_u128)a[i] * b[0] + carry;
        out[i] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
    out[na] = carry;
    _Pragma("GCC unroll 6") for (int j = 1; j < nb; j++) {
        carry = 0;
        _Pragma("GCC unroll 6") for (int i = 0; i < na; i++) {
            posref_u128 t = (posref_u128)a[i] * b[j] + out[i + j] + carry;
            out[i + j] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
        out[na + j] = carry;
    }
}

/* The usual lengths as constants: these loops are unrolled. */
static void mul_limbs(uint64_t *out, const uint64_t *a, int na, const uint64_t *b, int nb)
{
    if (na == nb) {
        switch (na) {
        case 5: mul_rows(out, a, 5, b, 5); return;
        case 6: mul_rows(out, a, 6, b, 6); return;
        default: break;
        }
    }
    mul_rows(out, a, na, b, nb);
}

/* |a| rb + (|b| + rb) ra: what the radii make of the product. */
static struct ball_radius product_radius(const struct posref_ball *a, const struct posref_ball *b)
{
    const struct ball_radius ra = ball_radius_of(a), rb = ball_radius_of(b);
    if (a->sign == 0 || b->sign == 0 || (rb.man && rb.exponent + 64 > b->exponent))
        return radius_dot(ball_mid_upper(a), rb, radius_add(ball_mid_upper(b), rb), ra);
    /* rb is less than one unit of the 32 bits that are kept of b. */
    const struct ball_radius a_upper = {(a->limb[a->n_limbs - 1] >> 32) + 1, a->exponent - 32};
    const struct ball_radius b_upper = {(b->limb[b->n_limbs - 1] >> 32) + 2, b->exponent - 32};
    return radius_dot(a_upper, rb, b_upper, ra);
}

/* posref_ball_finish of the product of two midpoints of n limbs: its top bit is the first of the
 * 2 n limbs or the next. False: a limb that is kept ends up empty, or an exponent is far out. */
static inline bool finish_product(struct posref_ball *out, int sign, const uint64_t *product,
                                  int64_t exponent, struct ball_radius radius, int n)
{
    const unsigned shift = 1 ^ (unsigned)(product[2 * n - 1] >> 63);
    uint64_t lost = product[n - 1] << shift;
    if ((product[n] << shift | (product[n - 1] & (0 - (uint64_t)shift)) >> 63) == 0)
        return false;
    for (int i = 0; i < n - 1; i++)
        lost |= product[i];
    exponent -= shift;
    if (lost)
        radius = radius_add(radius, radius_pow2(exponent - 64 * (int64_t)n));
    if (exponent > BALL_EXPONENT_LIMIT || exponent < -BALL_EXPONENT_LIMIT ||
        radius.exponent > BALL_EXPONENT_LIMIT || radius.exponent < -BALL_EXPONENT_LIMIT)
        return false;
    const uint64_t carried = 0 - (uint64_t)shift;
    for (int i = 0; i < n; i++)
        out->limb[i] = product[n + i] << shift | (product[n + i - 1] & carried) >> 63;
    out->sign = sign;
    out->n_limbs = n;
    out->exponent = exponent;
    ball_set_radius(out, radius);
    return true;
}

void posref_ball_mul(struct posref_ball *out, const struct posref_ball *a,
                     const struct posref_ball *b, unsigned prec_bits)
{
    struct ball_radius radius = BALL_RADIUS_ZERO;
    if (a->rad_man || b->rad_man)
        radius = product_radius(a, b);
    if (a->sign == 0 || b->sign == 0) {
        posref_ball_set_zero(out, radius);
        return;
    }
    uint64_t buf[2 * POSREF_BALL_LIMBS];
    const int sign = a->sign * b->sign, n = ball_limbs(prec_bits);
    const int64_t exponent = a->exponent + b->exponent;
    if (n == 4 && a->n_limbs == 4 && b->n_limbs == 4) { /* the ladders' walks */
        mul_rows(buf, a->limb, 4, b->limb, 4);
        if (finish_product(out, sign, buf, exponent, radius, 4))
            return;
    } else {
        mul_limbs(buf, a->limb, a->n_limbs, b->limb, b->n_limbs);
    }
    posref_ball_finish(out, sign, buf, a->n_limbs + b->n_limbs, exponent, radius, n);
}

/* limb[] are the leading limbs of an irrational constant, cut off (not rounded). */
static void set_constant(struct posref_ball *out, const uint64_t limb[POSREF_BALL_LIMBS],
                         int64_t exponent,
                         unsigned prec_bits)
{
    int n = ball_limbs(prec_bits);
    posref_ball_finish(out, 1, &limb[POSREF_BALL_LIMBS - n], n, exponent,
                       radius_pow2(exponent - 64 * (int64_t)n), n);
}

void posref_ball_pi(struct posref_ball *out, unsigned prec_bits)
{
    set_constant(out, posref_pi_limbs, 2, prec_bits);
}

void posref_ball_ln2(struct posref_ball *out, unsigned prec_bits)
{
    set_constant(out, posref_ln2_limbs, 0, prec_bits);
}
