/* SPDX-License-Identifier: Apache-2.0 */
/* Sandwich (arXiv 2212.10356, section 6): sum over i = 1 ... d/2 of cos((m - n) / b^(2i/d)), less
 * its largest value d/2, divided by the compression ratio 8 (h + 1) / H of head h = 0 ... H - 1
 * (NVIDIA/NeMo has the subtraction and the ratios). */
#include "bias_grid.h"

struct sandwich {
    struct oracle_grid g;
    int64_t dim, heads;
    double base;
};

static void enclose(arb_t out, void *ctx, int64_t h, int64_t i, int64_t j, slong prec)
{
    struct sandwich *s = ctx;
    const slong bits = prec + 128;
    arb_t distance, angle;
    arb_init(distance);
    arb_init(angle);
    oracle_grid_distance(distance, &s->g, i, j);
    arb_zero(out);
    for (int64_t pair = 1; pair <= s->dim / 2 && !arb_is_zero(distance); pair++) {
        struct oracle_power power;
        oracle_power_init(&power, s->base, 2 * pair, s->dim);
        oracle_power_arb(angle, &power, bits);
        oracle_power_clear(&power);
        arb_mul(angle, angle, distance, bits);
        arb_mul_2exp_si(angle, angle, -1); /* cos a - 1 = -2 sin(a/2)^2 */
        arb_sin(angle, angle, bits);
        arb_mul(angle, angle, angle, bits);
        arb_mul_2exp_si(angle, angle, 1);
        arb_sub(out, out, angle, bits);
    }
    arb_mul_si(out, out, s->heads, bits);
    arb_div_si(out, out, 8 * (h + 1), bits);
    arb_clear(distance);
    arb_clear(angle);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct sandwich s = {.dim = oracle_int(c, "dim"), .heads = oracle_int(c, "num_heads"),
                         .base = oracle_real(c, "base")};
    if (!c->error[0] && oracle_grid_read(&s.g, t, c, 1))
        oracle_judge_bias(&s.g, s.heads, enclose, NULL, &s);
}

const struct oracle_scheme oracle_sandwich = {"sandwich", judge};
