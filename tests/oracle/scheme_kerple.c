/* SPDX-License-Identifier: Apache-2.0 */
/* KERPLE (arXiv 2205.09921, equations of section 4): -r1 log(1 + r2 |m - n|) and -r1 |m - n|^r2.
 * A power of an integer to an exponent a/2^b is rational only for a perfect 2^b-th power:
 * oracle_pow is exact there. */
#include "bias_grid.h"

struct kerple {
    struct oracle_grid g;
    bool log;
    struct oracle_tensor *r1, *r2;
};

static void enclose(arb_t out, void *ctx, int64_t h, int64_t i, int64_t j, slong prec)
{
    struct kerple *k = ctx;
    arb_t factor;
    oracle_grid_distance(out, &k->g, i, j);
    if (arb_is_zero(out))
        return;
    arb_init(factor);
    if (k->log) {
        arb_set_d(factor, k->r2->data[h]);
        arb_mul(out, out, factor, ARF_PREC_EXACT);
        arb_log1p(out, out, prec + 64);
    } else {
        fmpq_t exponent;
        fmpq_init(exponent);
        oracle_fmpq_set_double(exponent, k->r2->data[h]);
        oracle_pow(out, arf_get_d(arb_midref(out), ARF_RND_NEAR), exponent, prec + 64);
        fmpq_clear(exponent);
    }
    arb_set_d(factor, -k->r1->data[h]);
    arb_mul(out, out, factor, arb_is_exact(out) ? ARF_PREC_EXACT : prec);
    arb_clear(factor);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct kerple k = {.log = oracle_is(c, "kernel", "log"), .r1 = oracle_input(c, "r1"),
                       .r2 = oracle_input(c, "r2")};
    const int64_t heads = oracle_int(c, "num_heads");
    if (!oracle_grid_read(&k.g, t, c, 1))
        return;
    if (!k.r1 || !k.r2 || (!k.log && !oracle_is(c, "kernel", "power")))
        oracle_fail(c, "no r1, r2, or another kernel than the oracle knows");
    else if (oracle_shaped(c, k.r1, 1, &heads) && oracle_shaped(c, k.r2, 1, &heads))
        oracle_judge_bias(&k.g, heads, enclose, NULL, &k);
}

const struct oracle_scheme oracle_kerple = {"kerple", judge};
