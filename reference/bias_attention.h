/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of an attention hook that adds entries of a learned table, one scalar a head.
 * Private to reference/. */
#ifndef POSREF_BIAS_ATTENTION_H
#define POSREF_BIAS_ATTENTION_H

#include "attention.h"
#include "bias.h"

/* Reads positions, which must be whole, and weights of so many entries with one head for each of
 * q's; looks all pairs up. For a hook's begin(). */
POSREF_MUST_USE enum posref_status
posref_bias_attention_begin(struct posref_attention *a, int64_t entries, posref_index_fn *fill);
POSREF_MUST_USE enum posref_status
posref_bias_attention_bias(struct posref_ball *out, const struct posref_attention *a, int64_t head,
                           int64_t i, int64_t j, unsigned prec_bits);
void posref_bias_attention_estimate(struct posref_attention_estimate *out,
                                    const struct posref_attention *a, int64_t head, int64_t i,
                                    int64_t j);

#endif
