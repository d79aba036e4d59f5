/* SPDX-License-Identifier: Apache-2.0 */
/* Angles that are exact parts of a turn, when frequencies are counted in turns. Private to
 * reference/.
 *
 * In radians a turned pair has a transcendental tangent, so no output is exactly zero or lies on a
 * rounding boundary. In turns the angle t = position * frequency is algebraic: where it is not
 * rational, e^(2 pi i t) is transcendental (Gelfond, Schneider) and the same holds. Where it is
 * rational, a combination x1 cos - x2 sin with rational x is rational only when e^(2 pi i t) has a
 * degree of 2 at most over Q(i), that is when 8 t or 12 t is whole; these are decided exactly. */
#ifndef POSREF_EXACT_TURN_H
#define POSREF_EXACT_TURN_H

#include "ball.h"
#include "scaling.h"

#define POSREF_TURN_PARTS 24

/* theta_i = odd^(+-1) 2^exponent, when it is rational (odd fits: else it is no part of a turn for
 * any double); *inverse: the sign is -. The ladder has no second factor. */
bool posref_exact_turn_rational(int64_t *odd, bool *inverse, int64_t *exponent,
                                const struct posref_ladder *ladder, int i);

/* 24 t mod 24 for t = position * theta_i / divisor (1 or 4) in turns, when 24 t is whole; else -1.
 * The ladder has no second factor. */
int posref_exact_turn(const struct posref_ladder *ladder, int i, int divisor, double position);

/* with_cos cos + with_sin sin of such an angle, exactly enclosed: whole multiples of a quarter or
 * twelfth, and what cancels, have radius 0. False: no special angle (an odd part of 24). */
bool posref_exact_turn_combine(struct posref_ball *out, int parts, double with_cos, double with_sin,
                               unsigned prec_bits);

#endif
