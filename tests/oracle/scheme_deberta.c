/* SPDX-License-Identifier: Apache-2.0 */
/* DeBERTa v2's buckets (arXiv 2006.03654; microsoft/DeBERTa, make_log_bucket_position): distances
 * up to m = B/2 keep their value, further ones become m + ceil(ln(n/m) / ln((M-1)/m) (m-1)) with
 * the distance's sign. Rows of the 2B embeddings: bucket + B for content to position, -bucket + B
 * for position to content, clamped to the table.
 *
 * ceil(x) is the number of t = 0, 1, ... with t < x: with ((M-1)/m)^t < (n/m)^(m-1).
 *
 * Scores (equation 4, and section 3.1 for the scale 1/sqrt(3d)): Q_i . K_j + Q_i . K^r_delta(i,j) +
 * K_j . Q^r_delta(j,i). DeBERTa's code forms K . Q^r with the keys as rows, gathers entry (key x,
 * query y) by -bucket(x - y) + B and transposes; without buckets B is M and bucket(d) is d. */
#include "attention.h"
#include "bias_grid.h"

#include <flint/fmpz.h>
#include <math.h>

struct deberta {
    struct oracle_grid g;
    int64_t n_buckets, max_distance, span; /* n_buckets 0: none */
    int sign;
    struct oracle_tensor *keys, *queries; /* NULL: no such term */
    bool as_written;                      /* p2c of the paper */
};

/* Whether ((M-1)/m)^t < (n/m)^(m-1): (M-1)^t m^(m-1) < n^(m-1) m^t. */
static bool below(const struct deberta *b, int64_t n, int64_t t)
{
    const int64_t m = b->n_buckets / 2;
    fmpz_t left, right, power;
    fmpz_init_set_si(left, b->max_distance - 1);
    fmpz_init_set_si(right, n);
    fmpz_init_set_si(power, m);
    fmpz_pow_ui(left, left, (ulong)t);
    fmpz_pow_ui(right, right, (ulong)(m - 1));
    fmpz_pow_ui(power, power, (ulong)(t < m - 1 ? m - 1 - t : t - (m - 1)));
    if (t < m - 1)
        fmpz_mul(left, left, power);
    else
        fmpz_mul(right, right, power);
    const bool less = fmpz_cmp(left, right) < 0;
    fmpz_clear(left);
    fmpz_clear(right);
    fmpz_clear(power);
    return less;
}

/* From a guess in doubles, which the integers correct. */
static int64_t steps(const struct deberta *b, int64_t n)
{
    const double m = (double)b->n_buckets / 2;
    int64_t t = (int64_t)(log((double)n / m) / log((double)(b->max_distance - 1) / m) * (m - 1));
    while (t > 0 && !below(b, n, t - 1))
        t--;
    while (below(b, n, t))
        t++;
    return t;
}

static int64_t bucket_of(const struct deberta *b, int64_t d)
{
    const int64_t n = d < 0 ? -d : d, m = b->n_buckets / 2;
    if (n <= m || b->n_buckets == 0)
        return d;
    return d < 0 ? -(m + steps(b, n)) : m + steps(b, n);
}

static int64_t bucket(const void *ctx, int64_t i, int64_t j)
{
    const struct deberta *b = ctx;
    return bucket_of(b, oracle_grid_q(&b->g, 0, i) - oracle_grid_k(&b->g, 0, j));
}

static int64_t clamp_row(const struct deberta *b, int64_t at)
{
    return at < 0 ? 0 : at > 2 * b->span - 1 ? 2 * b->span - 1 : at;
}

static int64_t row(const void *ctx, int64_t i, int64_t j)
{
    const struct deberta *b = ctx;
    return clamp_row(b, b->sign * bucket(ctx, i, j) + b->span);
}

static const double *embedding(const struct deberta *b, const struct oracle_tensor *t, int64_t head,
                               int64_t at, int64_t dim)
{
    return t->data + ((t->rank == 3 ? head : 0) * 2 * b->span + at) * dim;
}

static void term(arb_ptr out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                 slong prec)
{
    const struct deberta *b = a->ctx;
    const double *q = oracle_q(a, head, i), *k = oracle_k(a, head, j);
    const int64_t ahead = oracle_grid_k(&b->g, 0, j) - oracle_grid_q(&b->g, 0, i);
    oracle_dot(out++, q, k, a->dim, prec);
    if (b->keys)
        oracle_dot(out++, q, embedding(b, b->keys, head, clamp_row(b, bucket_of(b, -ahead) +
                                                                   b->span), a->dim),
                   a->dim, prec);
    if (b->queries)
        oracle_dot(out, k, embedding(b, b->queries, head,
                                     clamp_row(b, b->as_written ? b->span + bucket_of(b, ahead)
                                                                : b->span - bucket_of(b, ahead)),
                                     a->dim), a->dim, prec);
}

static bool has_rows(const struct deberta *b, const struct oracle_tensor *t)
{
    return t && (t->rank == 2 || t->rank == 3) && t->shape[t->rank - 2] == 2 * b->span;
}

static void judge_scores(struct oracle_tally *t, struct oracle_case *c, struct deberta *b)
{
    static const char *const names[][4] = {{"content_content", "content_position",
                                            "position_content", NULL},
                                           {"content_content", "content_position", NULL},
                                           {"content_content", "position_content", NULL}};
    const int kind = oracle_is(c, "pos_att_type", "c2p_p2c") ? 0
                     : oracle_is(c, "pos_att_type", "c2p")   ? 1
                     : oracle_is(c, "pos_att_type", "p2c")   ? 2 : -1;
    struct oracle_attention a = {.tally = t, .c = c, .ctx = b, .term = term};
    if (!oracle_attention_wanted(c) || c->error[0])
        return;
    b->keys = kind == 2 ? NULL : oracle_input(c, "key_weights");
    b->queries = kind == 1 ? NULL : oracle_input(c, "query_weights");
    b->as_written = oracle_is(c, "p2c_difference", "key_minus_query");
    if (kind < 0 || (kind != 2 && !has_rows(b, b->keys)) ||
        (kind != 1 && !has_rows(b, b->queries))) {
        oracle_fail(c, "key_weights or query_weights: not 2 B rows");
        return;
    }
    a.terms = names[kind];
    a.scale_factor = kind == 0 ? 3 : 2;
    oracle_attention_judge(&a);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct deberta b = {.sign = 1};
    if (!oracle_grid_read(&b.g, t, c, 1))
        return;
    const bool plain = oracle_is(c, "log_buckets", "false");
    b.n_buckets = plain ? 0 : oracle_int(c, "num_buckets");
    b.max_distance = oracle_int(c, "max_distance");
    b.span = plain ? b.max_distance : b.n_buckets;
    if (!plain &&
        (b.n_buckets < 4 || b.n_buckets > 1 << 16 || b.max_distance - 1 <= b.n_buckets / 2)) {
        oracle_fail(c, "num_buckets or max_distance out of range");
        return;
    }
    bool ok = oracle_judge_entries(&b.g, "buckets", bucket, &b) &&
              oracle_judge_entries(&b.g, "c2p", row, &b) &&
              oracle_judge_lookup(&b.g, 2 * b.span, row, &b);
    b.sign = -1;
    if (ok)
        oracle_judge_entries(&b.g, "p2c", row, &b);
    if (ok)
        judge_scores(t, c, &b);
}

const struct oracle_scheme oracle_deberta = {"deberta", judge};
