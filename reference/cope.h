/* SPDX-License-Identifier: Apache-2.0 */
/* What CoPE's values and their error model share. Private to reference/. */
#ifndef POSREF_COPE_H
#define POSREF_COPE_H

#include "attention.h"

struct posref_cope {
    const double *weights; /* [npos_max, dim], or [heads, npos_max, dim]; NULL: op table alone */
    int64_t heads;         /* of weights; 1: shared */
    struct posref_cope_row {
        int64_t query;      /* that it is for; -1: none yet */
        unsigned prec_bits;
        struct posref_ball *position; /* [n_k], clamped */
    } *row;                /* [heads of q] */
};

/* The key whose gate comes n-th into the sum: from the last key back. */
int64_t posref_cope_key(const struct posref_spec *spec, int64_t n, int64_t n_k);
/* Whether key k has a gate for query i: whether it is seen. */
bool posref_cope_counts(const struct posref_attention *a, int64_t i, int64_t k);
/* Row m of the table for this head. */
const double *posref_cope_weights(const struct posref_attention *a, int64_t head, int64_t m);
/* For judging: what score (head, i, j) may be off by. */
void posref_cope_estimate(struct posref_attention_estimate *out, const struct posref_attention *a,
                          int64_t head, int64_t i, int64_t j); /* judge_cope.c */

#endif
