/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a learned table an entry is made of: shared by evaluation and judging. Private to
 * reference/. */
#ifndef POSREF_LEARNED_H
#define POSREF_LEARNED_H

#include "resample.h"

/* An entry is the sum over taps of weight * row; one tap of weight 1 is a copy. */
struct posref_learned_entry {
    struct posref_taps y, x; /* x.n = 1, x.index = {0} where the table has one axis */
    int64_t first, width;    /* row of taps (i, j): first + y.index[i] * width + x.index[j] */
};

/* Entry `row` (position and offset applied) of a table of n_rows; false: there is none. */
bool posref_learned_entry(struct posref_learned_entry *out, const struct posref_spec *spec,
                          int64_t n_rows, double row);
/* Rows that the spec's source grid and prefix take; 0: any number. */
int64_t posref_learned_rows(const struct posref_spec *spec);

#endif
