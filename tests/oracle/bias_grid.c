/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of queries and keys, look-ups and enclosed biases. */
#include "bias_grid.h"

#include "attention.h"

bool oracle_grid_read(struct oracle_grid *g, struct oracle_tally *t, struct oracle_case *c,
                      int n_axes)
{
    struct oracle_tensor *both = oracle_input(c, "positions");
    *g = (struct oracle_grid){.tally = t, .c = c, .q = oracle_input(c, "q_positions"),
                              .k = oracle_input(c, "k_positions")};
    g->q = g->q ? g->q : both;
    g->k = g->k ? g->k : both;
    if (!g->q || !g->k || g->q->count % n_axes || g->k->count % n_axes ||
        g->q->rank != (n_axes > 1) + 1 || g->k->rank != (n_axes > 1) + 1)
        return oracle_fail(c, "no positions of %d axes", n_axes);
    g->n_q = g->q->count / n_axes;
    g->n_k = g->k->count / n_axes;
    return true;
}

int64_t oracle_grid_q(const struct oracle_grid *g, int axis, int64_t i)
{
    return (int64_t)g->q->data[axis * g->n_q + i];
}

int64_t oracle_grid_k(const struct oracle_grid *g, int axis, int64_t j)
{
    return (int64_t)g->k->data[axis * g->n_k + j];
}

void oracle_grid_distance(arb_t out, const struct oracle_grid *g, int64_t i, int64_t j)
{
    arf_t k;
    arf_init(k);
    arb_set_d(out, g->q->data[i]);
    arf_set_d(k, g->k->data[j]);
    arf_sub(arb_midref(out), arb_midref(out), k, ARF_PREC_EXACT, ARF_RND_DOWN);
    arb_abs(out, out);
    arf_clear(k);
}

bool oracle_judge_entries(struct oracle_grid *g, const char *name, oracle_entry_fn *entry,
                          const void *ctx)
{
    struct oracle_tensor *out = oracle_output(g->c, name);
    if (!out)
        return true;
    if (!oracle_shaped(g->c, out, 2, (const int64_t[]){g->n_q, g->n_k}))
        return false;
    for (int64_t at = 0; at < out->count; at++)
        oracle_judge_copy(g->tally, g->c, out, at,
                          (double)entry(ctx, at / g->n_k, at % g->n_k));
    return true;
}

bool oracle_judge_lookup(struct oracle_grid *g, int64_t n_entries, oracle_entry_fn *entry,
                         const void *ctx)
{
    struct oracle_tensor *out = oracle_output(g->c, "bias"), *table = oracle_input(g->c, "weights");
    const bool heads_first = oracle_is(g->c, "weights_layout", "heads_entries");
    if (!out)
        return true;
    if (!table || table->rank != 2 || table->shape[heads_first] != n_entries)
        return oracle_fail(g->c, "weights: no table of %lld entries", (long long)n_entries);
    const int64_t n_heads = table->shape[!heads_first], pairs = g->n_q * g->n_k;
    if (oracle_has(g->c, "num_heads") && oracle_int(g->c, "num_heads") != n_heads)
        return oracle_fail(g->c, "weights: another number of heads than the spec says");
    if (!oracle_shaped(g->c, out, 3, (const int64_t[]){n_heads, g->n_q, g->n_k}))
        return false;
    for (int64_t pair = 0; pair < pairs; pair++) {
        const int64_t e = entry(ctx, pair / g->n_k, pair % g->n_k);
        if (e < 0 || e >= n_entries)
            return oracle_fail(g->c, "entry %lld is outside the table", (long long)e);
        for (int64_t h = 0; h < n_heads; h++)
            oracle_judge_copy(g->tally, g->c, out, h * pairs + pair,
                              table->data[heads_first ? h * n_entries + e : e * n_heads + h]);
    }
    return true;
}

/* A table that scores look up. */
struct lookup {
    const struct oracle_tensor *table;
    int64_t n_entries, n_heads;
    bool heads_first;
    oracle_entry_fn *entry;
    const void *ctx;
};

static void looked_up(arb_t out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                      slong prec)
{
    const struct lookup *l = a->ctx;
    const int64_t e = l->entry(l->ctx, i, j);
    (void)prec;
    arb_zero(out);
    if (e < 0 || e >= l->n_entries || head >= l->n_heads)
        oracle_fail(a->c, "entry %lld of head %lld is outside the table", (long long)e,
                    (long long)head);
    else
        arb_set_d(out, l->table->data[l->heads_first ? head * l->n_entries + e
                                                     : e * l->n_heads + head]);
}

void oracle_judge_lookup_attention(struct oracle_grid *g, int64_t n_entries,
                                   oracle_entry_fn *entry, const void *ctx)
{
    struct oracle_tensor *q = oracle_input(g->c, "q");
    struct lookup l = {.table = oracle_input(g->c, "weights"), .n_entries = n_entries,
                       .heads_first = oracle_is(g->c, "weights_layout", "heads_entries"),
                       .entry = entry, .ctx = ctx};
    struct oracle_attention a = {.tally = g->tally, .c = g->c, .ctx = &l, .bias = looked_up};
    if (!oracle_attention_wanted(g->c) || g->c->error[0])
        return;
    if (!l.table || l.table->rank != 2 || l.table->shape[l.heads_first] != n_entries) {
        oracle_fail(g->c, "weights: no table of %lld entries", (long long)n_entries);
        return;
    }
    l.n_heads = l.table->shape[!l.heads_first];
    if (!q || l.n_heads != (q->rank == 3 ? q->shape[1] : 1))
        oracle_fail(g->c, "weights: another number of heads than q");
    else
        oracle_attention_judge(&a);
}

struct pair {
    struct oracle_grid *g;
    struct oracle_tensor *out;
    oracle_enclose_fn *enclose;
    oracle_slack_fn *slack;
    void *ctx;
    int64_t at;
    arb_t value;
};

static bool unit(void *ctx, slong prec)
{
    struct pair *p = ctx;
    const int64_t pairs = p->g->n_q * p->g->n_k;
    p->enclose(p->value, p->ctx, p->at / pairs, p->at % pairs / p->g->n_k, p->at % p->g->n_k,
               prec);
    return oracle_judge_within(p->g->tally, p->g->c, p->out, p->at, p->value,
                               p->slack ? p->slack(p->ctx) : 0, prec);
}

bool oracle_judge_bias(struct oracle_grid *g, int64_t n_heads, oracle_enclose_fn *enclose,
                       oracle_slack_fn *slack, void *ctx)
{
    struct pair p = {.g = g, .out = oracle_output(g->c, "bias"), .enclose = enclose,
                     .slack = slack, .ctx = ctx};
    if (!p.out)
        return true;
    if (!oracle_shaped(g->c, p.out, 3, (const int64_t[]){n_heads, g->n_q, g->n_k}))
        return false;
    arb_init(p.value);
    for (p.at = 0; p.at < p.out->count; p.at++)
        oracle_raise(unit, &p);
    arb_clear(p.value);
    return true;
}
