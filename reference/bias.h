/* SPDX-License-Identifier: Apache-2.0 */
/* What the schemes that add a bias to attention scores share: the grid of query and key positions,
 * whole-number differences, learned tables, and one view of any bias, which is how attention adds
 * it to scores. Private to reference/. */
#ifndef POSREF_BIAS_H
#define POSREF_BIAS_H

#include "ball.h"
#include "scheme.h"

/* Positions of queries and keys: q_positions and k_positions, each defaulting to positions. */
struct posref_grid {
    struct posref_positions q, k;
};
POSREF_MUST_USE enum posref_status posref_grid_read(struct posref_grid *out,
                                                    struct posref_job *job, int64_t n_axes);
/* The job has an input that says where queries or keys are. */
bool posref_grid_given(const struct posref_job *job);
/* Fails, naming the input, unless every position is a whole number: buckets and tables are looked
 * up by whole differences. Differences of two positions then are exact doubles below 2^32. */
POSREF_MUST_USE enum posref_status posref_grid_whole(const struct posref_grid *grid,
                                                     struct posref_job *job);
/* The input that a query's (or a key's) position was read from: what an error names. */
const char *posref_grid_name(const struct posref_job *job, bool query);

/* The bias of any scheme: one real number a head, query and key. */
struct posref_bias {
    int heads;
    int64_t n_q, n_k;  /* rows and columns; with BEiT's CLS where the scheme has one */
    bool compound;     /* a learned network: rounded from the middle where no bound decides */
    /* Encloses the bias at about prec_bits. */
    enum posref_status (*at)(struct posref_ball *out, const struct posref_bias *bias, int h,
                             int64_t i, int64_t j, unsigned prec_bits);
    void *ctx; /* may keep what the heads of a pair share: one thread uses it at a time */
};

/* Adds the output bias [heads, n_q, n_k], each element correctly rounded. A compound one that
 * POSREF_COMPOUND_BITS do not decide is the rounding of the enclosure's midpoint, which lies far
 * within 2^-60 of the sum of |terms|. */
#define POSREF_COMPOUND_BITS 1024U
POSREF_MUST_USE enum posref_status posref_bias_output(struct posref_job *job,
                                                      const struct posref_bias *bias);

/* One element of it. */
POSREF_MUST_USE enum posref_status posref_bias_round(double *out, const struct posref_bias *bias,
                                                     int h, int64_t i, int64_t j);

/* A learned table of `entries` rows, one scalar a head: the input weights, [entries, heads], or
 * [heads, entries] when the spec says weights_layout=heads_entries. */
struct posref_table {
    const double *value;
    int64_t entries, heads, entry_stride, head_stride;
};
/* Fails when weights has another shape, or another number of heads than a given num_heads. */
POSREF_MUST_USE enum posref_status posref_table_read(struct posref_table *out,
                                                     struct posref_job *job, int64_t entries);
/* Adds the output bias [heads, n_q, n_k]: bit-identical copies of the entries that index [n_q, n_k]
 * names, each below table->entries. */
POSREF_MUST_USE enum posref_status posref_table_gather(struct posref_job *job,
                                                       const struct posref_table *table,
                                                       const int64_t *index, int64_t n_q,
                                                       int64_t n_k);

/* ---- schemes whose bias is an entry of a learned table ------------------------------------- */

/* Fills out with the entry of each query and key, row major; n_special rows and columns (BEiT's
 * class token) come before those of the positions. */
typedef enum posref_status posref_index_fn(int64_t *out, struct posref_job *job,
                                           const struct posref_grid *grid);

/* Memory for [n_q + n_special, n_k + n_special] entries, filled. Fails when they are too many. */
POSREF_MUST_USE enum posref_status posref_index_fill(int64_t **out, struct posref_job *job,
                                                     const struct posref_grid *grid,
                                                     int64_t n_special, posref_index_fn *fill);
/* Adds the integer output `name` [n_q, n_k]. */
POSREF_MUST_USE enum posref_status posref_index_output(struct posref_job *job, const char *name,
                                                       const int64_t *value, int64_t n_q,
                                                       int64_t n_k);

/* What the job is to do, and the entries when it has positions; value = NULL: nothing to do. */
struct posref_index {
    int64_t *value, n_q, n_k;
    bool wants_index, wants_bias;
};
POSREF_MUST_USE enum posref_status posref_index_read(struct posref_index *out,
                                                     struct posref_job *job, int64_t n_axes,
                                                     int64_t n_special, posref_index_fn *fill);
/* The whole eval of a scheme with one index: ops index (output `name` [n_q, n_k], integers) and
 * bias, by fill and weights of so many entries. */
POSREF_MUST_USE enum posref_status posref_eval_table(struct posref_job *job, int64_t n_axes,
                                                     int64_t n_special, int64_t entries,
                                                     const char *name, posref_index_fn *fill);

#endif
