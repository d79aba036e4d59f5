/* SPDX-License-Identifier: Apache-2.0 */
/* xPos's scales of rotated pairs: xpos.c. Private to reference/. */
#ifndef POSREF_XPOS_H
#define POSREF_XPOS_H

#include "scheme.h"
#include "turn.h"

/* The spec has them. */
bool posref_xpos_on(const struct posref_spec *spec);

/* Checks the three fields beside those of rope, and fills what is left out. */
POSREF_MUST_USE enum posref_status posref_xpos_check(struct posref_spec *spec,
                                                     struct posref_error *err);
/* Positions so far from the centre (scores: from each other) that a scale may leave the doubles:
 * beyond 512 scale bases. Names `name`. */
POSREF_MUST_USE enum posref_status posref_xpos_reach(const struct posref_spec *spec,
                                                     const char *name, const double *positions,
                                                     int64_t n, double from,
                                                     struct posref_error *err);

/* More scales of one call than a few seconds allow: 2^19. */
POSREF_MUST_USE enum posref_status posref_xpos_count(const struct posref_spec *spec,
                                                     const char *name, int64_t count,
                                                     struct posref_error *err);

/* x times the scale of pair i at this position, on the spec's side. At position 0, where nothing
 * turns, x must be exact, and the product is exact whenever it is a double or half way between two
 * of them. */
POSREF_MUST_USE enum posref_status posref_xpos_times(struct posref_ball *x,
                                                     const struct posref_spec *spec, int i,
                                                     double position, unsigned prec_bits);
/* x times zeta_i^(-offset / scale base), offset = key position - query position, exact: what query
 * and key contribute to a score. */
POSREF_MUST_USE enum posref_status posref_xpos_score(struct posref_ball *x,
                                                     const struct posref_spec *spec, int i,
                                                     const struct posref_ball *offset,
                                                     unsigned prec_bits);
/* The scale as a double-double. */
POSREF_MUST_USE enum posref_status posref_xpos_magnitude(struct posref_magnitude *out,
                                                         const struct posref_spec *spec, int i,
                                                         double position);

/* For limits: the scale to about 1e-13, and the relative error of an honest float32 one, in u.
 * Without xPos 1 and 0. */
double posref_xpos_estimate(double *error, const struct posref_spec *spec,
                            enum posref_xpos_side side, int i, double position);

#endif
