/* SPDX-License-Identifier: Apache-2.0 */
/* Product of balls, and pi and ln 2 from their tables. */
#include "ball_impl.h"

#include "ball_constants.h"

static inline __attribute__((always_inline)) void
mul_rows(uint64_t *out, const uint64_t *a, int na, const uint64_t *b, int nb)
{
    for (int i = 0; i < na; i++)
        out[i] = 0;
    for (int j = 0; j < nb; j++) {
        uint64_t carry = 0;
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
    switch (na) {
    case 4: mul_rows(out, a, 4, b, nb); break;
    case 5: mul_rows(out, a, 5, b, nb); break;
    case 6: mul_rows(out, a, 6, b, nb); break;
    default: mul_rows(out, a, na, b, nb); break;
    }
}

void posref_ball_mul(struct posref_ball *out, const struct posref_ball *a,
                     const struct posref_ball *b, unsigned prec_bits)
{
    struct ball_radius radius = BALL_RADIUS_ZERO;
    if (a->rad_man || b->rad_man) { /* |a| rb + |b| ra + ra rb */
        struct ball_radius ra = ball_radius_of(a);
        struct ball_radius rb = ball_radius_of(b);
        radius = radius_add(radius_mul(ball_mid_upper(a), rb),
                            radius_mul(radius_add(ball_mid_upper(b), rb), ra));
    }
    if (a->sign == 0 || b->sign == 0) {
        posref_ball_set_zero(out, radius);
        return;
    }
    uint64_t buf[2 * POSREF_BALL_LIMBS];
    mul_limbs(buf, a->limb, a->n_limbs, b->limb, b->n_limbs);
    posref_ball_finish(out, a->sign * b->sign, buf, a->n_limbs + b->n_limbs,
                       a->exponent + b->exponent, radius, ball_limbs(prec_bits));
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
