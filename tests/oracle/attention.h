/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention (Vaswani et al., arXiv 1706.03762) for the oracle, once for all schemes:
 *
 *   score = t_i (sum of terms) / sqrt(dim) + bias,  attention = softmax(score) v
 *
 * A scheme's judge() fills an oracle_attention with what it changes and calls
 * oracle_attention_judge; oracle_attention_wanted says whether the case has such outputs. Vectors
 * are rotated as vectors here, unlike in reference/, where only differences of positions are. */
#ifndef ORACLE_ATTENTION_H
#define ORACLE_ATTENTION_H

#include "oracle.h"

#define ORACLE_TERMS 8

struct oracle_attention {
    struct oracle_tally *tally;
    struct oracle_case *c;
    void *ctx;                /* the scheme's */
    const char *const *terms; /* names, NULL-terminated; NULL: one without a name */
    int64_t scale_factor;     /* the scale is 1/sqrt(dim scale_factor); 0 stands for 1 */
    int n_unscaled;           /* of the terms, the last: neither scaled nor warmed */
    /* Each term of score (head, i, j) before the scale; NULL: q . k. */
    void (*term)(arb_ptr out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                 slong prec);
    void (*bias)(arb_t out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                 slong prec);
    void (*value)(arb_t out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                  int64_t c, slong prec);
    /* NULL, or in place of the softmax: the terms themselves are the weights, over the sum of
     * these. */
    void (*denominator)(arb_t out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                        slong prec);
    /* Filled by oracle_attention_judge. */
    struct oracle_tensor *q, *k, *v, *mask, *q_positions, *k_positions;
    int64_t n_q, n_k, heads, kv_heads, v_heads, dim, dim_v;
    /* The unit at hand. */
    int64_t head, i, j;
    int n_terms;
    arb_ptr row;
};

bool oracle_attention_wanted(struct oracle_case *c);
void oracle_attention_judge(struct oracle_attention *a);
/* Fills what oracle_attention_judge would; false: the case has failed. */
bool oracle_attention_read(struct oracle_attention *a);
/* Whether query i sees key j. */
bool oracle_sees(const struct oracle_attention *a, int64_t i, int64_t j);
/* x times the scale of the scores, and the temperature of query i. */
void oracle_times_scale(arb_t x, struct oracle_attention *a, int64_t i, slong prec);

/* The rows that head `head` reads. */
const double *oracle_q(const struct oracle_attention *a, int64_t head, int64_t i);
const double *oracle_k(const struct oracle_attention *a, int64_t head, int64_t j);
/* Position of query i, or key j, on an axis. */
double oracle_q_position(const struct oracle_attention *a, int64_t axis, int64_t i);
double oracle_k_position(const struct oracle_attention *a, int64_t axis, int64_t j);
/* Linear attention: elu(x) + 1, and the sum of phi(q_c) phi(k_c). */
void oracle_phi(arb_t out, double x, slong prec);
void oracle_plain_products(arb_t out, struct oracle_attention *a, int64_t head, int64_t i,
                           int64_t j, slong prec);
/* sum of x_c y_c. */
void oracle_dot(arb_t out, const double *x, const double *y, int64_t n, slong prec);

#endif
