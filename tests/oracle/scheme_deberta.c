/* SPDX-License-Identifier: Apache-2.0 */
/* DeBERTa v2's buckets (arXiv 2006.03654; microsoft/DeBERTa, make_log_bucket_position): distances
 * up to m = B/2 keep their value, further ones become m + ceil(ln(n/m) / ln((M-1)/m) (m-1)) with
 * the distance's sign. Rows of the 2B embeddings: bucket + B for content to position, -bucket + B
 * for position to content, clamped to the table.
 *
 * ceil(x) is the number of t = 0, 1, ... with t < x: with ((M-1)/m)^t < (n/m)^(m-1). */
#include "bias_grid.h"

#include <flint/fmpz.h>
#include <math.h>

struct deberta {
    struct oracle_grid g;
    int64_t n_buckets, max_distance;
    int sign;
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

static int64_t bucket(const void *ctx, int64_t i, int64_t j)
{
    const struct deberta *b = ctx;
    const int64_t d = oracle_grid_q(&b->g, 0, i) - oracle_grid_k(&b->g, 0, j);
    const int64_t n = d < 0 ? -d : d, m = b->n_buckets / 2;
    if (n <= m)
        return d;
    return d < 0 ? -(m + steps(b, n)) : m + steps(b, n);
}

static int64_t row(const void *ctx, int64_t i, int64_t j)
{
    const struct deberta *b = ctx;
    const int64_t at = b->sign * bucket(ctx, i, j) + b->n_buckets, last = 2 * b->n_buckets - 1;
    return at < 0 ? 0 : at > last ? last : at;
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct deberta b = {.sign = 1};
    if (!oracle_grid_read(&b.g, t, c, 1))
        return;
    b.n_buckets = oracle_int(c, "num_buckets");
    b.max_distance = oracle_int(c, "max_distance");
    if (b.n_buckets < 4 || b.n_buckets > 1 << 16 || b.max_distance - 1 <= b.n_buckets / 2) {
        oracle_fail(c, "num_buckets or max_distance out of range");
        return;
    }
    bool ok = oracle_judge_entries(&b.g, "buckets", bucket, &b) &&
              oracle_judge_entries(&b.g, "c2p", row, &b) &&
              oracle_judge_lookup(&b.g, 2 * b.n_buckets, row, &b);
    b.sign = -1;
    if (ok)
        oracle_judge_entries(&b.g, "p2c", row, &b);
}

const struct oracle_scheme oracle_deberta = {"deberta", judge};
