/* SPDX-License-Identifier: Apache-2.0 */
/* A learned scalar for each relative distance d: entry min(max(d, -k), k) + k of 2k + 1 (Shaw et
 * al., arXiv 1803.02155, equation 6, with scalars), or d + L - 1 of 2L - 1. */
#include "bias_grid.h"

struct relative {
    struct oracle_grid g;
    bool full, query_first;
    int64_t limit; /* k, or L - 1 */
};

static int64_t entry(const void *ctx, int64_t i, int64_t j)
{
    const struct relative *r = ctx;
    int64_t d = oracle_grid_k(&r->g, 0, j) - oracle_grid_q(&r->g, 0, i);
    if (r->query_first)
        d = -d;
    if (r->full)
        return d + r->limit;
    return (d < -r->limit ? -r->limit : d > r->limit ? r->limit : d) + r->limit;
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct relative r;
    if (!oracle_grid_read(&r.g, t, c, 1))
        return;
    r.full = oracle_is(c, "table", "full");
    r.query_first = oracle_is(c, "difference", "query_minus_key");
    if ((!r.full && !oracle_is(c, "table", "clipped")) ||
        (!r.query_first && !oracle_is(c, "difference", "key_minus_query"))) {
        oracle_fail(c, "table or difference: the oracle has no formula for it");
        return;
    }
    r.limit = r.full ? oracle_int(c, "max_position_embeddings") - 1 : oracle_int(c, "max_distance");
    if (oracle_judge_entries(&r.g, "index", entry, &r))
        oracle_judge_lookup(&r.g, 2 * r.limit + 1, entry, &r);
    oracle_judge_lookup_attention(&r.g, 2 * r.limit + 1, entry, &r);
}

const struct oracle_scheme oracle_relative_bias = {"relative_bias", judge};
