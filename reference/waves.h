/* SPDX-License-Identifier: Apache-2.0 */
/* Sines and cosines of coordinate * frequency, correctly rounded: what sinusoidal, timestep and
 * fourier tables are made of. Two routes to every value, as for rope: turns at a fixed precision,
 * fast, and balls for what these leave undecided. Private to reference/.
 *
 * No value but those at angles of whole quarter turns lies on a rounding boundary: a coordinate and
 * a frequency that are algebraic make an algebraic angle, whose sine and cosine are transcendental
 * unless it is 0 (Lindemann); so are their sums with, and products by, algebraic numbers. Angles
 * counted in turns: exact_turn.h. */
#ifndef POSREF_WAVES_H
#define POSREF_WAVES_H

#include "layout.h"
#include "scaling.h"
#include "turn.h"

/* A coordinate as an exact sum: the position and what the spec adds to it. */
struct posref_coordinate {
    double hi, lo; /* lo = 0 for all but fractions of many digits */
    const struct posref_turn *log; /* |ln hi| for waves of logarithms; NULL elsewhere */
};
/* a + b, exactly. */
struct posref_coordinate posref_coordinate_sum(double a, double b);

struct posref_waves {
    struct posref_block block;
    struct posref_ladder ladder;
    double times;            /* theta_i = ladder_i * times / divisor, units of `unit` */
    struct posref_coordinate divisor;
    enum posref_angle_unit unit; /* not radian: the ladder has one factor, and times = 1 */
    const double *turns_per; /* Fourier features: turns per unit of frequency i; else NULL */
    bool log;                /* the angle is that of the coordinate's logarithm */
    struct posref_magnitude magnitude; /* multiplies both; exact */
    struct posref_turn *turn;          /* [n_sines], by posref_waves_prepare */
};

/* The waves of a sinusoidal spec, turn left NULL. */
void posref_sinusoidal_waves(struct posref_waves *out, const struct posref_spec *spec);

/* Fills out->turn, which has room for n_sines. */
POSREF_MUST_USE enum posref_status posref_waves_prepare(struct posref_waves *waves);

/* |ln x| of n coordinates x > 0 with lo = 0, in out[n], to which their `log` then points. */
POSREF_MUST_USE enum posref_status posref_waves_logarithms(struct posref_turn *out,
                                                           struct posref_coordinate *at,
                                                           int64_t n);

/* 24 t mod 24 for the angle t of frequency i in turns, when that is counted in turns and 24 t is
 * whole; else -1. */
int posref_waves_exact_turn(const struct posref_waves *waves, int i,
                            const struct posref_coordinate *at);

/* magnitude * cos and magnitude * sin of the angle of frequency i, enclosed; at angles of whole
 * quarter turns exact. */
POSREF_MUST_USE enum posref_status
posref_waves_ball(struct posref_ball *cos_out, struct posref_ball *sin_out,
                  const struct posref_waves *waves, int i, const struct posref_coordinate *at,
                  unsigned prec_bits);

/* The same in double-double; err = HUGE_VAL where the fast path does not apply. */
void posref_waves_dd(struct posref_dd *cos_out, struct posref_dd *sin_out,
                     const struct posref_waves *waves, int i, const struct posref_coordinate *at);

/* Rounded values of frequency i at n coordinates, written to rows `stride` apart; cos_out NULL:
 * only sines are wanted. */
POSREF_MUST_USE enum posref_status
posref_waves_table(double *cos_out, double *sin_out, int64_t stride,
                   const struct posref_waves *waves, int i, const struct posref_coordinate *at,
                   int64_t n);

/* x_scale * x + sine or cosine of frequency i, rounded once; x_scale^2 = x_scale_squared, a whole
 * number, so that the square root of dim is exact where it is rational. */
POSREF_MUST_USE enum posref_status
posref_waves_embed(double *y, double x, int x_scale_squared, bool sine,
                   const struct posref_waves *waves, int i, const struct posref_coordinate *at,
                   const struct posref_dd *value);

#endif
