/* SPDX-License-Identifier: Apache-2.0 */
/* What the turn_*.c files share: the sine tables and 128-bit products. Bounds are derived in
 * docs/numerics.md. */
#ifndef POSREF_TURN_IMPL_H
#define POSREF_TURN_IMPL_H

#include "turn.h"

#include <string.h>

__extension__ typedef unsigned __int128 turn_u128;
__extension__ typedef __int128 turn_i128;

/* Sine and cosine of 2 pi j / 1024. tests/unit/test_turn_table.c computes both tables again with
 * balls, and printed them. */
#define TURN_STEPS 256
struct turn_fixed {
    uint64_t high, low; /* sin * 2^127, cut off */
};
/* cos is the entry TURN_STEPS - j */
extern const struct turn_fixed posref_turn_fixed[TURN_STEPS + 1];

/* (sin, cos) and its derivative 2 pi (cos, -sin) with respect to the turn; each value as head, its
 * leading 26 bits, and tail, the rest rounded to a double. The third number lets an odd quarter
 * turn read one place further: (cos, -sin) and 2 pi (-sin, -cos). */
struct turn_parts {
    double head[3];
    double tail[3];
    double slope_head[3];
    double slope_tail[3];
};
extern const struct turn_parts posref_turn_parts[TURN_STEPS];

/* 2 pi * 2^125, cut off. */
#define TURN_TWO_PI_HIGH 0xc90fdaa22168c234u
#define TURN_TWO_PI_LOW 0xc4c6628b80dc1cd1u

/* The largest error of hi + lo that posref_turn_cos_sin_dd allows itself beside that of the turn,
 * relative to |hi|; docs/numerics.md section 5. */
#define TURN_DD_ERROR 0x1p-105
#define TURN_DD_ERROR_MAGNITUDE 0x1p-104
/* Of a f + b g in posref_dd_rotate, relative to |a f| + |b g|; section 6. */
#define TURN_ROTATE_ERROR 0x1.04p-103
/* Of the quick phase, relative to the result; section 4. */
#define TURN_QUICK_ERROR 0x1.4p-66

/* An angle near the first quadrant, 2 pi (step / 1024 +- residue * 2^(-128 - zeros)), and
 * then `quarters` quarter turns. residue has its top bit set; zeros >= 10. */
struct turn_reduced {
    turn_u128 residue;
    int zeros;
    int step; /* 0 .. 255 */
    int quarters;
    bool negative;
};

/* man * 2^exponent, man with its top bits near the top. */
struct turn_wide {
    turn_u128 man;
    int exponent;
};

/* product * 2^-point turns, exactly, to a step and a residue of 128 bits (cut off); product is
 * scratch. false: no bit of the fraction is left, or it is below 2^-700. */
bool posref_turn_reduce(struct turn_reduced *out, uint64_t product[4], int64_t point);

/* Cosine and sine of the angle without its quarters, both in [0, 1] to 2^-115 relatively, except
 * that the sine may be negative in step 0 (then *sine_negative). */
void posref_turn_kernel(struct turn_wide *c, struct turn_wide *s, bool *sine_negative,
                        const struct turn_reduced *r);

/* The quick phase alone, for tests: true when it decides both. */
bool posref_turn_quick(double *cos_out, double *sin_out, const struct posref_turn *turn,
                       double position);

/* a * b / 2^128 cut off, or up to 2 less. */
static inline turn_u128 mul_high(turn_u128 a, turn_u128 b)
{
    uint64_t ah = (uint64_t)(a >> 64);
    uint64_t bh = (uint64_t)(b >> 64);
    turn_u128 high = (turn_u128)ah * bh;
    turn_u128 m1 = (turn_u128)ah * (uint64_t)b;
    turn_u128 m2 = (turn_u128)(uint64_t)a * bh;
    turn_u128 low = (turn_u128)(uint64_t)m1 + (uint64_t)m2;
    return high + (m1 >> 64) + (m2 >> 64) + (low >> 64);
}

static inline double bits_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#endif
