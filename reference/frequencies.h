/* SPDX-License-Identifier: Apache-2.0 */
/* Frequencies of a spec: a geometric ladder, changed by a scaling. Two routes to every value:
 * a walk along the ladder at a fixed precision, fast, and a single frequency at any precision, for
 * the values that the walk leaves undecided. Private to reference/. */
#ifndef POSREF_FREQUENCIES_H
#define POSREF_FREQUENCIES_H

#include "scaling.h"
#include "turn.h"

/* Precision of the walk. A step of the ladder loses less than 2 units of the last place, so that
 * after POSREF_MAX_DIM / 2 steps the relative radius is still below 2^-236: a turn needs 2^-192. */
#define POSREF_WALK_BITS 256

struct posref_frequencies {
    const struct posref_spec *spec;
    int still_from; /* theta_i = 0 for i >= still_from (partial=proportional); 0: none is */
    int unit; /* enum posref_angle_unit: what the ladder's values are counted in */
    struct posref_ladder ladder;
    const struct posref_scaling_def *scaling;
};

/* The frequencies of a completed rope spec: theta_i = base^(-2i/r) under its scaling. */
void posref_frequencies_rope(struct posref_frequencies *out, const struct posref_spec *spec);

/* 24 times position * theta_i in turns, mod 24, where that is whole and theta_i is not counted in
 * radians; else -1 (exact_turn.h). */
int posref_frequencies_exact_turn(const struct posref_frequencies *of, int i, double position);

/* theta_i in radians per token, enclosed at about prec_bits; more where the scaling's comparisons
 * need more to decide. POSREF_INTERNAL: undecided at POSREF_BALL_MAX_BITS. */
POSREF_MUST_USE enum posref_status posref_frequencies_at(struct posref_ball *out,
                                                         const struct posref_frequencies *of,
                                                         int i, unsigned prec_bits);

/* Turns and (unless NULL) correctly rounded values of theta_0 ... theta_(n-1). */
POSREF_MUST_USE enum posref_status posref_frequencies_walk(struct posref_turn *turns,
                                                           double *theta_rounded,
                                                           const struct posref_frequencies *of,
                                                           int n);

/* The scaling's factor on cos and sin: enclosed, or as double-double and correctly rounded. */
POSREF_MUST_USE enum posref_status
posref_frequencies_magnitude_ball(struct posref_ball *out, const struct posref_frequencies *of,
                                  unsigned prec_bits);
POSREF_MUST_USE enum posref_status
posref_frequencies_magnitude(struct posref_magnitude *out, double *rounded,
                             const struct posref_frequencies *of);

/* Encloses magnitude * cos and magnitude * sin of position * theta_i. Position 0 is exact where the
 * magnitude is. */
POSREF_MUST_USE enum posref_status
posref_frequencies_cos_sin_ball(struct posref_ball *cos_out, struct posref_ball *sin_out,
                                const struct posref_frequencies *of, int i, double position,
                                unsigned prec_bits);

/* Rows of a table that are worked out together: they and what they are written to stay in cache. */
#define POSREF_TABLE_ROWS 128

/* n <= POSREF_TABLE_ROWS correctly rounded values of magnitude * cos and magnitude * sin of
 * position * theta_i, whose turn is given, written `stride` elements apart. */
POSREF_MUST_USE enum posref_status
posref_frequencies_table(double *cos_out, double *sin_out, int64_t stride,
                         const struct posref_frequencies *of, int i,
                         const struct posref_turn *turn, const struct posref_magnitude *magnitude,
                         const double *positions, int64_t n);

#endif
