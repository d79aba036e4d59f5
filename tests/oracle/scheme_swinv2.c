/* SPDX-License-Identifier: Apache-2.0 */
/* Swin V2 (arXiv 2111.09883, section 3.3, and microsoft/Swin-Transformer for the constants): the
 * offset d of each axis, divided by W - 1 and multiplied by 8, as sign(d) log2(1 + |d|) / log2(8);
 * a network without a last bias; 16 sigmoid of it. W is that of the window the model was trained
 * with. An axis one token wide has offset 0 and coordinate 0. */
#include "bias_grid.h"
#include "network.h"
#include "window.h"

struct swinv2 {
    struct oracle_grid g;
    struct oracle_network network;
    int64_t window[2], trained[2];
    double terms;
    int64_t pair, axis;
    struct oracle_tensor *coordinates;
    arb_ptr x;
};

static int64_t offset(const struct swinv2 *s, int axis, int64_t i, int64_t j)
{
    return oracle_grid_q(&s->g, axis, i) - oracle_grid_k(&s->g, axis, j);
}

/* log2(1 + 8 |d| / (W - 1)) / 3 with d's sign. A power of two is exact up to the division. */
static void coordinate(arb_t out, const struct swinv2 *s, int axis, int64_t d, slong prec)
{
    const int64_t below = s->trained[axis] - 1;
    int64_t above = below + 8 * (d < 0 ? -d : d), log2 = 0;
    if (d == 0) {
        arb_zero(out);
        return;
    }
    while (above > below && above % 2 == 0) {
        above /= 2;
        log2++;
    }
    if (above == below) {
        arb_set_si(out, log2);
        arb_div_si(out, out, 3, prec);
    } else {
        arb_t two;
        arb_init(two);
        arb_set_si(out, below + 8 * (d < 0 ? -d : d));
        arb_div_si(out, out, below, prec + 32);
        arb_log(out, out, prec + 32);
        arb_const_log2(two, prec + 32);
        arb_div(out, out, two, prec + 32);
        arb_div_si(out, out, 3, prec);
        arb_clear(two);
    }
    if (d < 0)
        arb_neg(out, out);
}

static bool coordinate_unit(void *ctx, slong prec)
{
    struct swinv2 *s = ctx;
    const int64_t i = s->pair / s->g.n_k, j = s->pair % s->g.n_k;
    coordinate(s->x, s, (int)s->axis, offset(s, (int)s->axis, i, j), prec);
    return oracle_judge(s->g.tally, s->g.c, s->coordinates, 2 * s->pair + s->axis, s->x, prec);
}

static void enclose(arb_t out, void *ctx, int64_t h, int64_t i, int64_t j, slong prec)
{
    struct swinv2 *s = ctx;
    for (int axis = 0; axis < 2; axis++)
        coordinate(s->x + axis, s, axis, offset(s, axis, i, j), prec + 64);
    oracle_network_head(out, &s->terms, &s->network, s->x, h, prec + 64);
    arb_neg(out, out);
    arb_exp(out, out, prec + 32);
    arb_add_ui(out, out, 1, prec + 32);
    arb_ui_div(out, 16, out, prec);
}

static double slack(const void *ctx)
{
    return ((const struct swinv2 *)ctx)->terms * 0x1p-60;
}

static int64_t entry(const void *ctx, int64_t i, int64_t j)
{
    const struct swinv2 *s = ctx;
    return (offset(s, 0, i, j) + s->window[0] - 1) * (2 * s->window[1] - 1) +
           offset(s, 1, i, j) + s->window[1] - 1;
}

static bool judge_all(struct swinv2 *s)
{
    struct oracle_case *c = s->g.c;
    const int64_t pairs = s->g.n_q * s->g.n_k;
    if (!oracle_judge_entries(&s->g, "index", entry, s))
        return false;
    s->coordinates = oracle_output(c, "coordinates");
    if (s->coordinates &&
        !oracle_shaped(c, s->coordinates, 3, (const int64_t[]){s->g.n_q, s->g.n_k, 2}))
        return false;
    for (s->pair = 0; s->coordinates && s->pair < pairs; s->pair++)
        for (s->axis = 0; s->axis < 2; s->axis++)
            oracle_raise(coordinate_unit, s);
    if (!oracle_output(c, "bias"))
        return true;
    const int64_t heads = oracle_int(c, "num_heads");
    return oracle_network_read(&s->network, c, 2, heads, false) &&
           oracle_judge_bias(&s->g, heads, enclose, slack, s);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct swinv2 s = {.terms = 0};
    if (!oracle_grid_read(&s.g, t, c, 2) || !oracle_window(s.window, c, "window_size") ||
        !oracle_window(s.trained, c, oracle_has(c, "pretrained_window_size")
                                         ? "pretrained_window_size" : "window_size"))
        return;
    s.x = _arb_vec_init(2);
    judge_all(&s);
    _arb_vec_clear(s.x, 2);
}

const struct oracle_scheme oracle_swinv2 = {"swinv2", judge};
