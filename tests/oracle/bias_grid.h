/* SPDX-License-Identifier: Apache-2.0 */
/* What the oracle's additive biases share: pairs of a query and a key, and tables looked up by
 * them. */
#ifndef ORACLE_BIAS_GRID_H
#define ORACLE_BIAS_GRID_H

#include "oracle.h"

struct oracle_grid {
    struct oracle_tally *tally;
    struct oracle_case *c;
    struct oracle_tensor *q, *k; /* [n] or [n_axes, n] */
    int64_t n_q, n_k;
};

/* Reads q_positions and k_positions, or positions for either. */
bool oracle_grid_read(struct oracle_grid *g, struct oracle_tally *t, struct oracle_case *c,
                      int n_axes);
/* Whole coordinate of query i (key j) on an axis. */
int64_t oracle_grid_q(const struct oracle_grid *g, int axis, int64_t i);
int64_t oracle_grid_k(const struct oracle_grid *g, int axis, int64_t j);
/* |q - k| of a one-dimensional grid, exactly. */
void oracle_grid_distance(arb_t out, const struct oracle_grid *g, int64_t i, int64_t j);

/* The number that belongs to query i and key j. */
typedef int64_t oracle_entry_fn(const void *ctx, int64_t i, int64_t j);
/* Judges the integer output `name` [n_q, n_k] when it is there. */
bool oracle_judge_entries(struct oracle_grid *g, const char *name, oracle_entry_fn *entry,
                          const void *ctx);
/* Judges bias [heads, n_q, n_k] when it is there: copies of the entries of weights, whose layout
 * the spec names. */
bool oracle_judge_lookup(struct oracle_grid *g, int64_t n_entries, oracle_entry_fn *entry,
                         const void *ctx);

/* Judges scores and attention when they are there, with the same entries as the bias of the score:
 * one head of the table for each of q's. */
void oracle_judge_lookup_attention(struct oracle_grid *g, int64_t n_entries, oracle_entry_fn *entry,
                                   const void *ctx);

/* Judges bias [heads, n_q, n_k]: calls enclose(out, ctx, h, i, j, prec), and bounds the rounding of
 * a compound value by slack(ctx) as it stands after the call (NULL: correctly rounded). */
typedef void oracle_enclose_fn(arb_t out, void *ctx, int64_t h, int64_t i, int64_t j, slong prec);
typedef double oracle_slack_fn(const void *ctx);
bool oracle_judge_bias(struct oracle_grid *g, int64_t n_heads, oracle_enclose_fn *enclose,
                       oracle_slack_fn *slack, void *ctx);

#endif
