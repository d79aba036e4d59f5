/* SPDX-License-Identifier: Apache-2.0 */
/* T5's buckets (arXiv 1910.10683, and mesh-tensorflow's code for the formula): half of the buckets
 * of a side hold one distance each, the others grow by equal steps of the logarithm up to
 * max_distance, beyond which all distances share the last one.
 *
 * floor(K ln(n/m) / ln(M/m)) is the number of t = 1, 2, ... with (n/m)^K >= (M/m)^t, that is with
 * n^K m^t >= M^t m^K: integers of any size decide. */
#include "bias_grid.h"

#include <flint/fmpz.h>

struct t5 {
    struct oracle_grid g;
    bool bidirectional;
    int64_t side, max_distance; /* buckets of a side */
};

static int64_t steps(const struct t5 *b, int64_t n)
{
    const int64_t m = b->side / 2, most = b->side - m;
    int64_t t = 0;
    fmpz_t left, right;
    fmpz_init(left);
    fmpz_init(right);
    fmpz_set_si(left, n);
    fmpz_pow_ui(left, left, (ulong)most);
    fmpz_set_si(right, m);
    fmpz_pow_ui(right, right, (ulong)most);
    while (t < most) { /* n^K m^(t+1) against M^(t+1) m^K */
        fmpz_mul_si(left, left, m);
        fmpz_mul_si(right, right, b->max_distance);
        if (fmpz_cmp(left, right) < 0)
            break;
        t++;
    }
    fmpz_clear(left);
    fmpz_clear(right);
    return t;
}

static int64_t entry(const void *ctx, int64_t i, int64_t j)
{
    const struct t5 *b = ctx;
    int64_t ahead = oracle_grid_k(&b->g, 0, j) - oracle_grid_q(&b->g, 0, i), n = -ahead;
    int64_t first = 0;
    if (b->bidirectional && ahead > 0) {
        first = b->side;
        n = ahead;
    }
    if (n < 0)
        n = 0;
    if (n < b->side / 2)
        return first + n;
    int64_t bucket = b->side / 2 + steps(b, n);
    return first + (bucket < b->side ? bucket : b->side - 1);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct t5 b;
    if (!oracle_grid_read(&b.g, t, c, 1))
        return;
    const int64_t n_buckets = oracle_int(c, "num_buckets");
    b.bidirectional = oracle_is(c, "bidirectional", "true");
    b.side = b.bidirectional ? n_buckets / 2 : n_buckets;
    b.max_distance = oracle_int(c, "max_distance");
    if (b.side < 2 || n_buckets > 1 << 16 || b.max_distance <= b.side / 2) {
        oracle_fail(c, "num_buckets or max_distance out of range");
        return;
    }
    if (oracle_judge_entries(&b.g, "buckets", entry, &b))
        oracle_judge_lookup(&b.g, n_buckets, entry, &b);
    oracle_judge_lookup_attention(&b.g, n_buckets, entry, &b);
}

const struct oracle_scheme oracle_t5_bias = {"t5_bias", judge};
