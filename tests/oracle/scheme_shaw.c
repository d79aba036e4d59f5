/* SPDX-License-Identifier: Apache-2.0 */
/* Shaw et al. (arXiv 1803.02155), equations 3 to 5: e_ij = q_i (k_j + a^K)^T / sqrt(d), z_i = sum
 * alpha_ij (v_j + a^V), a = w_clip(j - i, k), rows of the tables counted from -k. Hugging Face's
 * BERT with relative_key: the row of distance i - j, counted from -(max - 1), no clipping, no
 * values; relative_key_query adds k_j . E. */
#include "attention.h"

struct shaw {
    struct oracle_tensor *keys, *values;
    int64_t k;
    bool hugging_face;
};

static int64_t clip(int64_t x, int64_t k)
{
    return x < -k ? -k : x > k ? k : x;
}

static int64_t row(const struct oracle_attention *a, int64_t i, int64_t j)
{
    const struct shaw *s = a->ctx;
    int64_t q = (int64_t)oracle_q_position(a, 0, i), k = (int64_t)oracle_k_position(a, 0, j);
    if (!s->hugging_face)
        return clip(k - q, s->k) + s->k;
    if (q - k < -s->k || q - k > s->k) {
        oracle_fail(a->c, "a distance outside of the table");
        return 0;
    }
    return q - k + s->k;
}

static void term(arb_ptr out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                 slong prec)
{
    const struct shaw *s = a->ctx;
    const double *q = oracle_q(a, head, i), *k = oracle_k(a, head, j);
    const double *e = s->keys->data + row(a, i, j) * a->dim;
    oracle_dot(out, q, k, a->dim, prec);
    oracle_dot(out + 1, q, e, a->dim, prec);
    if (a->n_terms == 3)
        oracle_dot(out + 2, k, e, a->dim, prec);
}

static void value(arb_t out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                  int64_t c, slong prec)
{
    const struct shaw *s = a->ctx;
    (void)head, (void)prec;
    arb_set_d(out, s->values->data[row(a, i, j) * a->dim_v + c]);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    static const char *const three[] = {"content_content", "content_position", "position_content",
                                        NULL};
    static const char *const two[] = {"content_content", "content_position", NULL};
    struct shaw s = {.keys = oracle_input(c, "key_weights"),
                     .values = oracle_input(c, "value_weights"),
                     .k = oracle_int(c, "max_relative_position"),
                     .hugging_face = !oracle_is(c, "position_embedding_type", "shaw")};
    struct oracle_attention a = {.tally = t, .c = c, .ctx = &s, .term = term,
                                 .value = s.values ? value : NULL};
    a.terms = oracle_is(c, "position_embedding_type", "relative_key_query") ? three : two;
    if (!oracle_attention_wanted(c) || c->error[0])
        return;
    if (!s.keys || s.keys->rank != 2 || s.keys->shape[0] != 2 * s.k + 1)
        oracle_fail(c, "key_weights: not 2 k + 1 rows");
    else
        oracle_attention_judge(&a);
}

const struct oracle_scheme oracle_shaw = {"shaw", judge};
