/* SPDX-License-Identifier: Apache-2.0 */
/* What the ball_*.c files share: radii (always rounded up), limb counts, and the one function that
 * turns a raw string of limbs into a normalised ball. Nothing else includes this header. */
#ifndef POSREF_BALL_IMPL_H
#define POSREF_BALL_IMPL_H

#include "ball.h"

__extension__ typedef unsigned __int128 posref_u128;

/* Exponents beyond this mean "anything" (too large) or "zero +- tiny" (too small). Far from both
 * ends of int64_t, so that sums of a few exponents never overflow. */
#define BALL_EXPONENT_LIMIT ((int64_t)1 << 59)

#define BALL_LN2 0.6931471805599453 /* for starting points */

/* man * 2^exponent, man = 0 or in [2^31, 2^32). Every operation rounds up. */
struct ball_radius {
    uint64_t man;
    int64_t exponent;
};

#define BALL_RADIUS_ZERO ((struct ball_radius){0, 0})

static inline int ball_limbs(unsigned prec_bits)
{
    unsigned n = (prec_bits + 63) / 64;
    return n < 1 ? 1 : n > POSREF_BALL_LIMBS ? POSREF_BALL_LIMBS : (int)n;
}

/* At least man * 2^exponent, normalised. */
static inline struct ball_radius radius_make(uint64_t man, int64_t exponent)
{
    if (man == 0)
        return BALL_RADIUS_ZERO;
    int shift = 32 - __builtin_clzll(man);
    if (shift <= 0)
        return (struct ball_radius){man << -shift, exponent + shift};
    uint64_t up = (man >> shift) + ((man & (((uint64_t)1 << shift) - 1)) != 0);
    if (up >> 32) {
        up >>= 1; /* it was 2^32 exactly */
        shift++;
    }
    return (struct ball_radius){up, exponent + shift};
}

static inline struct ball_radius radius_pow2(int64_t exponent)
{
    return (struct ball_radius){(uint64_t)1 << 31, exponent - 31};
}

static inline struct ball_radius radius_add(struct ball_radius a, struct ball_radius b)
{
    if (a.man == 0)
        return b;
    if (b.man == 0)
        return a;
    if (a.exponent < b.exponent) {
        struct ball_radius t = a;
        a = b;
        b = t;
    }
    int64_t d = a.exponent - b.exponent;
    uint64_t low = d == 0 ? b.man : d >= 32 ? 1 : (b.man >> d) + 1;
    return radius_make(a.man + low, a.exponent);
}

static inline struct ball_radius radius_mul(struct ball_radius a, struct ball_radius b)
{
    if (a.man == 0 || b.man == 0)
        return BALL_RADIUS_ZERO;
    return radius_make(a.man * b.man, a.exponent + b.exponent);
}

/* a / b rounded up; b a lower bound of the divisor, b.man != 0. */
static inline struct ball_radius radius_div(struct ball_radius a, struct ball_radius b)
{
    if (a.man == 0)
        return BALL_RADIUS_ZERO;
    return radius_make((a.man << 32) / b.man + 1, a.exponent - b.exponent - 32);
}

/* a b + c d. Here a and c need not be normalised, only at most 2^32 + 1. */
static inline struct ball_radius radius_dot(struct ball_radius a, struct ball_radius b,
                                            struct ball_radius c, struct ball_radius d)
{
    uint64_t p = a.man * b.man, q = c.man * d.man; /* below 2^64 */
    int64_t e = a.exponent + b.exponent, f = c.exponent + d.exponent;
    if (p == 0 || q == 0)
        return p ? radius_make(p, e) : radius_make(q, f);
    if (e < f) {
        uint64_t t = p;
        p = q;
        q = t;
        f = e;
        e = c.exponent + d.exponent;
    }
    int64_t by = e - f + 1;
    return radius_make((p >> 1) + (by < 64 ? q >> by : 0) + 2, e + 1);
}

static inline struct ball_radius ball_radius_of(const struct posref_ball *a)
{
    if (a->rad_man >> 31 == 1)
        return (struct ball_radius){a->rad_man, a->rad_exponent};
    return radius_make(a->rad_man, a->rad_exponent);
}

/* At least |midpoint|. */
static inline struct ball_radius ball_mid_upper(const struct posref_ball *a)
{
    if (a->sign == 0)
        return BALL_RADIUS_ZERO;
    uint64_t top = a->limb[a->n_limbs - 1];
    bool exact = a->n_limbs == 1 && (top & 0xffffffffu) == 0;
    return radius_make((top >> 32) + !exact, a->exponent - 32);
}

/* At least |x| for every member x. */
static inline struct ball_radius ball_upper(const struct posref_ball *a)
{
    return radius_add(ball_mid_upper(a), ball_radius_of(a));
}

static inline void ball_set_radius(struct posref_ball *out, struct ball_radius r)
{
    out->rad_man = r.man;
    out->rad_exponent = r.man ? r.exponent : 0;
}

static inline void ball_add_radius(struct posref_ball *out, struct ball_radius r)
{
    ball_set_radius(out, radius_add(ball_radius_of(out), r));
}

static inline bool ball_is_exact(const struct posref_ball *a)
{
    return a->rad_man == 0;
}

static inline bool ball_is_zero(const struct posref_ball *a)
{
    return a->sign == 0 && a->rad_man == 0;
}

/* The midpoint alone, as an exact ball. */
static inline void ball_set_mid(struct posref_ball *out, const struct posref_ball *a)
{
    posref_ball_set(out, a);
    ball_set_radius(out, BALL_RADIUS_ZERO);
}

/* Zero +- radius. */
void posref_ball_set_zero(struct posref_ball *out, struct ball_radius radius);

/* A lower bound of |x| over the members, as man * 2^exponent with man in [2^31, 2^32); false when
 * the ball contains zero (or comes within 2^-30 of it, relatively). */
bool posref_ball_lower(struct ball_radius *out, const struct posref_ball *a);

/* *out = sign * 0.buf[len-1]...buf[0] * 2^exponent +- radius, normalised and cut to n limbs; what
 * is cut off goes into the radius. buf is scratch, or out->limb itself when already normalised. */
void posref_ball_finish(struct posref_ball *out, int sign, const uint64_t *buf, int len,
                        int64_t exponent, struct ball_radius radius, int n);

/* *out = a cut to prec_bits. */
void posref_ball_cut(struct posref_ball *out, const struct posref_ball *a, unsigned prec_bits);

void posref_ball_div_small(struct posref_ball *out, const struct posref_ball *a, uint64_t divisor,
                           unsigned prec_bits);
void posref_ball_ln2(struct posref_ball *out, unsigned prec_bits);

/* The midpoint to about 2^-52, relatively: a starting point, never a result. Finite only for
 * exponents in the range of a double. */
double posref_ball_approx(const struct posref_ball *a);

/* log |midpoint| to about 2^-48, absolutely or relatively: likewise. Not of zero. */
double posref_ball_approx_log(const struct posref_ball *a);

#endif
