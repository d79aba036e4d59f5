/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with linear biases (Press et al., arXiv 2108.12409).
 *
 * Published slopes of n heads, c the largest power of two <= n, B = alibi_bias_max:
 *     head h < c:   m = 2^(-B (h + 1) / c)
 *     head h >= c:  m = 2^(-B (2 (h - c) + 1) / (2c)), every other slope of the list for 2c heads.
 * Bias of query position i and key position j, added to the scaled scores:
 *     form=distance   -m (i - j)    for every i and j; for keys after the query it is positive,
 *                                   which causal attention masks
 *     form=row         m j          distance plus m i, constant in a row: equal after softmax
 *     form=symmetric  -m |i - j| */
#include "scheme.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_ALIBI_BIAS_MAX, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_FORM, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const char *const inputs[] = {"positions", "q_positions", "k_positions", "logits", NULL};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    (void)spec; /* the ranges of the fields say it all */
    (void)err;
    return POSREF_OK;
}

const struct posref_scheme_def posref_alibi = {
    .info = {.name = "alibi",
             .summary = "a bias linear in the distance, one slope per head, added to the scores",
             .formula = "bias = -m_h (i - j); m_h = 2^(-alibi_bias_max (h+1)/num_heads) for a "
                        "power of two of heads",
             .source = "Press et al., Train Short, Test Long, arXiv 2108.12409"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_FREQUENCIES | 1U << POSREF_OP_BIAS | 1U << POSREF_OP_WEIGHTS,
    .check = check,
};
