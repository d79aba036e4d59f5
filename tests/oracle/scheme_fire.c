/* SPDX-License-Identifier: Apache-2.0 */
/* FIRE (arXiv 2310.04418, equation of section 3.2): f(psi(i - j) / psi(max(L, i))) with psi(x) =
 * log(c x + 1) and f a network of one hidden layer; the appendix's code adds epsilon to the
 * denominator and takes |i - j|. */
#include "bias_grid.h"
#include "network.h"

#include <math.h>

struct fire {
    struct oracle_grid g;
    struct oracle_network network;
    double c, threshold, epsilon, terms;
};

/* log(c x + 1), x exact. */
static void psi(arb_t out, double c, const arb_t x, slong prec)
{
    arb_t factor;
    arb_init(factor);
    arb_set_d(factor, c);
    arb_mul(out, x, factor, ARF_PREC_EXACT);
    arb_log1p(out, out, prec);
    arb_clear(factor);
}

static void enclose(arb_t out, void *ctx, int64_t h, int64_t i, int64_t j, slong prec)
{
    struct fire *f = ctx;
    arb_t x, far;
    arb_init(x);
    arb_init(far);
    oracle_grid_distance(x, &f->g, i, j);
    psi(x, f->c, x, prec + 64);
    arb_set_d(far, fmax(f->threshold, f->g.q->data[i]));
    psi(far, f->c, far, prec + 64);
    arb_set_d(out, f->epsilon);
    arb_add(far, far, out, prec + 64);
    arb_div(x, x, far, prec + 64);
    oracle_network_head(out, &f->terms, &f->network, x, h, prec + 32);
    arb_clear(x);
    arb_clear(far);
}

static double slack(const void *ctx)
{
    return ((const struct fire *)ctx)->terms * 0x1p-60;
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct fire f = {.c = oracle_real(c, "log_scale"), .threshold = oracle_real(c, "threshold"),
                     .epsilon = oracle_real(c, "epsilon")};
    const int64_t heads = oracle_int(c, "num_heads");
    if (!c->error[0] && oracle_grid_read(&f.g, t, c, 1) &&
        oracle_network_read(&f.network, c, 1, heads, true))
        oracle_judge_bias(&f.g, heads, enclose, slack, &f);
}

const struct oracle_scheme oracle_fire = {"fire", judge};
