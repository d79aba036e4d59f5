/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a learned table an entry is made of: shared by evaluation and judging. Private to
 * reference/. */
#ifndef POSREF_LEARNED_H
#define POSREF_LEARNED_H

#include "ball.h"
#include "resample.h"

/* An entry is the sum over taps of weight * row; one tap of weight 1 is a copy. */
struct posref_learned_entry {
    struct posref_taps y, x; /* x.n = 1, x.index = {0} where the table has one axis */
    int64_t first, width;    /* row of taps (i, j): first + y.index[i] * width + x.index[j] */
};

/* Entry `row` (position and offset applied) of a table of n_rows; false: there is none. */
bool posref_learned_entry(struct posref_learned_entry *out, const struct posref_spec *spec,
                          int64_t n_rows, double row);
/* The sum of an entry's taps times its denominators, exactly; weights: the channel's column. */
void posref_learned_taps(struct posref_ball *out, const struct posref_learned_entry *entry,
                         const double *weights, int64_t dim);

/* What a channel of an entry is summed from; for judging (judge_learned.c). */
struct posref_learned_size {
    double sum, largest; /* of |tap weight * value|, of |value| */
    bool copy;
};
void posref_learned_size(struct posref_learned_size *out, const struct posref_learned_entry *entry,
                         const double *weights, int64_t dim);
/* Error of a resampled entry, in u of sum + largest. */
double posref_learned_resample_k(const struct posref_spec *spec);

/* Rows that the spec's source grid and prefix take; 0: any number. */
int64_t posref_learned_rows(const struct posref_spec *spec);

#endif
