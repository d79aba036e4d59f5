/* SPDX-License-Identifier: Apache-2.0 */
/* Angles as fractions of a turn, and the fast correctly rounded cosine and sine. Private to
 * reference/.
 *
 * A frequency theta (radians per token) is kept as theta / 2pi in 192 significant bits with an
 * exponent. A double position is m * 2^e with integer m, so position * (theta / 2pi) modulo one
 * turn is exact integer arithmetic, up to the stated error of the turn itself. */
#ifndef POSREF_TURN_H
#define POSREF_TURN_H

#include "ball.h"

/* theta / 2pi = frac * 2^exponent, frac in [2^191, 2^192) little-endian limbs, off by at most
 * 2 units in the last place of frac; is_zero: theta = 0. Non-negative always. */
struct posref_turn {
    uint64_t limb[3];
    int32_t exponent;
    bool is_zero;
};

/* Rounds a ball (theta / 2pi >= 0, relative radius <= 2^-192) to a turn. false: ball too wide. */
bool posref_turn_from_ball(struct posref_turn *out, const struct posref_ball *turns);

/* A magnitude that multiplies cosine and sine (attention factor), as an unevaluated sum
 * hi + lo with |error| <= 2^-105 |hi| and |lo| <= ulp(hi); is_one: exactly 1 (the common case, no
 * multiplication); is_exact: hi + lo is the magnitude itself (a factor given as a double), so that
 * what happens at position 0 is exact. */
struct posref_magnitude {
    double hi, lo;
    bool is_one;
    bool is_exact;
};

/* A double-double with a bound: the exact value lies within err of hi + lo. */
struct posref_dd {
    double hi, lo, err;
};

/* magnitude * cos and magnitude * sin of 2pi * turn * position, in double-double with bounds.
 * The bound is good enough to round correctly in all but about 1 in 2^40 cases. |position| as
 * POSREF_MAX_POSITION; position 0 and a zero turn give exact results (err = 0). */
void posref_turn_cos_sin_dd(struct posref_dd *cos_out, struct posref_dd *sin_out,
                            const struct posref_turn *turn, const struct posref_magnitude *mag,
                            double position);

/* One rotation of the pair (x1, x2), both finite:
 *     y1 = x1 cos - x2 sin,    y2 = x2 cos + x1 sin,
 * with cos and sin as enclosed by *c and *s (magnitude included; for the inverse direction pass s
 * with hi and lo negated). Exact cases stay exact (err = 0): both x zero, or c and s exact with
 * products that do not cancel. The bound follows |x1 cos| + |x2 sin|, so a result that cancels
 * may stay undecided. Where the exponents leave the range in which the error-free products hold
 * (|x| near overflow or underflow), err is INFINITY: posref_dd_round then says undecided and the
 * ball path decides. A computed exact zero is +0 unless every term is -0. */
void posref_dd_rotate(struct posref_dd *y1, struct posref_dd *y2, const struct posref_dd *c,
                      const struct posref_dd *s, double x1, double x2);

/* The rounding test (Ziv): true and *out = the correctly rounded double when hi + lo +- err
 * decides it (err = 0 decides always). */
bool posref_dd_round(double *out, const struct posref_dd *value);

/* n correctly rounded (cos, sin) pairs, one turn, positions[n]: a quick phase, then the
 * double-double phase, and undecided[k] = true for those that need the ball path (the caller owns
 * the spec that recomputes theta). Returns how many are undecided. Magnitude 1. */
size_t posref_turn_cos_sin(double *cos_out, double *sin_out, bool *undecided,
                           const struct posref_turn *turn, const double *positions, size_t n);

#endif
