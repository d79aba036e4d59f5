/* SPDX-License-Identifier: Apache-2.0 */
/* Judges rope over several axes, column by column: pair j of a block of n columns (first channel
 * o) turns channels o + j, o + n + j (half) or o + 2j, o + 2j + 1 (interleaved);
 *
 *   y1 = x1 c - x2 s,  y2 = x2 c + x1 s,  inverse: s negated
 *
 * The gradient is the transpose: dx1 = dy1 c + dy2 s, dx2 = dy2 c - dy1 s, inverse: s negated.
 * interleaved_to_half reads the latter and writes the former; mismatched: channel o + k takes c and
 * s of column k mod n. Angles counted in turns may be whole eighths, where two terms can cancel:
 * then both are a multiple of sqrt(1/2), and the sum is formed before the root. */
#include "rope_axes.h"
#include "rope_table.h"

#include <math.h>
#include <stdlib.h>

struct judging {
    struct oracle_tally *tally;
    struct oracle_case *c;
    struct axes a;
    struct axes_layout l;
    int64_t n_positions, n_heads;
    bool *written, *reached; /* [dim]: of y, of dx */
    struct oracle_tensor *positions, *x, *inv_freq, *factor, *y, *dy, *dx;
    struct rope_table table;
    int64_t position, column;
    const struct axes_block *block;
    int part;
    arb_t c_arb, s_arb, one, two;
};

static bool frequency_unit(void *ctx, slong prec)
{
    struct judging *g = ctx;
    axes_frequency(g->one, &g->a, g->column, prec);
    return oracle_judge(g->tally, g->c, g->inv_freq, g->column, g->one, prec);
}

static void magnitude(arb_t out, const struct judging *g, slong prec)
{
    if (g->a.scaled)
        rope_attention_factor(out, &g->a.f, prec);
    else
        arb_one(out);
}

static bool factor_unit(void *ctx, slong prec)
{
    struct judging *g = ctx;
    magnitude(g->one, g, prec);
    return oracle_judge(g->tally, g->c, g->factor, 0, g->one, prec);
}

/* Sign of a cosine or sine; an exact 0 counts as +0. 0: not known yet. */
static int sign_of(const arb_t x)
{
    return arb_is_nonnegative(x) ? 1 : arb_is_negative(x) ? -1 : 0;
}

static void set_eighth(struct judging *g, double u, double v, slong prec)
{
    arb_set_d(g->one, u * sign_of(g->c_arb));
    arb_set_d(g->two, v * sign_of(g->s_arb));
    arb_add(g->one, g->one, g->two, ARF_PREC_EXACT);
    arb_set_d(g->two, 0.5);
    arb_sqrt(g->two, g->two, prec);
    arb_mul(g->one, g->one, g->two, prec);
}

/* Output number `at` of y is u cos + v sin. */
static bool judge_sum(struct judging *g, struct oracle_tensor *y, int64_t at, double u, double v,
                      slong prec)
{
    if (g->part == 8) {
        set_eighth(g, u, v, prec);
    } else {
        arb_set_d(g->one, u);
        arb_mul(g->one, g->one, g->c_arb, prec);
        arb_set_d(g->two, v);
        arb_mul(g->two, g->two, g->s_arb, prec);
        arb_add(g->one, g->one, g->two, prec);
    }
    if (!arb_is_zero(g->one))
        return oracle_judge(g->tally, g->c, y, at, g->one, prec);
    int c = sign_of(g->c_arb), s = sign_of(g->s_arb);
    if (c == 0 || s == 0)
        return false;
    /* -0 when both terms are -0; terms that cancel are no zeros */
    bool both_zero = (u == 0 || arb_is_zero(g->c_arb)) && (v == 0 || arb_is_zero(g->s_arb));
    bool negative = both_zero && (signbit(u) != 0) != (c < 0) && (signbit(v) != 0) != (s < 0);
    oracle_judge_zero(g->tally, g->c, y, at, negative);
    return true;
}

int64_t axes_channel(const struct axes_layout *l, const struct axes_block *block, bool half,
                     int64_t j, int which)
{
    return l->first + 2 * block->first + (half ? j + which * block->n : 2 * j + which);
}

static int64_t channel(const struct judging *g, bool half, int64_t j, int which)
{
    return axes_channel(&g->l, g->block, half, j, which);
}

static bool judge_output(struct judging *g, int64_t j, int which, slong prec)
{
    bool done = true;
    int64_t out = channel(g, g->l.writes_half, j, which);
    g->written[out] = true;
    for (int64_t h = 0; h < g->n_heads; h++) {
        int64_t row = (g->position * g->n_heads + h) * g->l.dim;
        double x1 = g->x->data[row + channel(g, g->l.reads_half, j, 0)];
        double x2 = g->x->data[row + channel(g, g->l.reads_half, j, 1)];
        double v = which ? x1 : -x2;
        done &= judge_sum(g, g->y, row + out, which ? x2 : x1, g->l.inverse ? -v : v, prec);
    }
    return done;
}

static bool judge_gradient(struct judging *g, int64_t j, slong prec)
{
    bool done = true;
    const double sign = g->l.inverse ? -1 : 1;
    int64_t to1 = channel(g, g->l.reads_half, j, 0), to2 = channel(g, g->l.reads_half, j, 1);
    g->reached[to1] = g->reached[to2] = true;
    for (int64_t h = 0; h < g->n_heads; h++) {
        int64_t row = (g->position * g->n_heads + h) * g->l.dim;
        double g1 = g->dy->data[row + channel(g, g->l.writes_half, j, 0)];
        double g2 = g->dy->data[row + channel(g, g->l.writes_half, j, 1)];
        done &= judge_sum(g, g->dx, row + to1, g1, sign * g2, prec);
        done &= judge_sum(g, g->dx, row + to2, g2, -sign * g1, prec);
    }
    return done;
}

static bool column_unit(void *ctx, slong prec)
{
    struct judging *g = ctx;
    const int64_t j = g->column - g->block->first;
    const double *row = g->positions->data + g->a.column[g->column].axis * g->n_positions;
    bool done = true;
    axes_cos_sin(g->c_arb, g->s_arb, &g->part, &g->a, g->column, row[g->position], prec);
    magnitude(g->one, g, prec);
    arb_mul(g->c_arb, g->c_arb, g->one, prec);
    arb_mul(g->s_arb, g->s_arb, g->one, prec);
    done &= rope_table_judge(&g->table, g->tally, g->c, g->position, g->column, g->c_arb, g->s_arb,
                             prec);
    if (g->table.angles) {
        axes_frequency(g->one, &g->a, g->column, prec);
        arb_set_d(g->two, row[g->position]);
        arb_mul(g->one, g->one, g->two, prec + 64);
        done &= rope_table_angle(&g->table, g->tally, g->c, g->position, g->column, g->one, prec);
    }
    if (g->dx)
        done &= judge_gradient(g, j, prec);
    if (!g->y)
        return done;
    for (int which = 0; which < 2 && !g->l.mismatched; which++)
        done &= judge_output(g, j, which, prec);
    for (int64_t k = j; k < 2 * g->block->n && g->l.mismatched; k += g->block->n)
        done &= judge_output(g, k / 2, (int)(k % 2), prec);
    return done;
}

static bool check_shapes(struct judging *g)
{
    struct oracle_case *c = g->c;
    const struct oracle_tensor *rows = g->x ? g->x : g->dy;
    g->n_heads = rows && rows->rank == 3 ? rows->shape[1] : 1;
    int64_t x2[2] = {g->n_positions, g->l.dim}, x3[3] = {g->n_positions, g->n_heads, g->l.dim};
    int rank = rows && rows->rank == 3 ? 3 : 2;
    const int64_t *shape = rank == 3 ? x3 : x2;
    if ((g->y && !g->x) || (g->dx && !g->dy))
        return oracle_fail(c, "y without x, or dx without dy");
    if (g->dx && g->l.mismatched)
        return oracle_fail(c, "the gradient of mismatched tables is not offered");
    return (!g->inv_freq || oracle_shaped(c, g->inv_freq, 1, &g->a.n_columns)) &&
           (!g->factor || oracle_shaped(c, g->factor, 0, NULL)) &&
           rope_table_shaped(&g->table, c, g->n_positions, g->a.n_columns) &&
           (!g->dx || (oracle_shaped(c, g->dy, rank, shape) &&
                       oracle_shaped(c, g->dx, rank, shape))) &&
           (!g->y || (oracle_shaped(c, g->x, rank, shape) && oracle_shaped(c, g->y, rank, shape)));
}

/* [n_axes, n], or [n] for one axis. */
static bool read_positions(struct judging *g)
{
    struct oracle_tensor *p = g->positions = oracle_input(g->c, "positions");
    if (!p)
        return !(rope_table_any(&g->table) || g->y || g->dx) || oracle_fail(g->c, "no positions");
    if (p->rank < 1 || p->rank > 2 || (p->rank == 2 ? p->shape[0] : 1) != g->a.n_axes)
        return oracle_fail(g->c, "positions: another number of axes than the spec has");
    g->n_positions = p->shape[p->rank - 1];
    return true;
}

static bool read_case(struct judging *g)
{
    struct oracle_case *c = g->c;
    bool to_half = oracle_is(c, "pairing", "interleaved_to_half");
    bool trailing = oracle_is(c, "partial", "trailing");
    g->l.dim = oracle_int(c, "dim");
    g->l.reads_half = oracle_is(c, "pairing", "half");
    g->l.writes_half = g->l.reads_half || to_half;
    g->l.mismatched = oracle_is(c, "pairing", "mismatched");
    g->l.inverse = oracle_is(c, "direction", "inverse");
    if (!g->l.writes_half && !g->l.mismatched && !oracle_is(c, "pairing", "interleaved"))
        return oracle_fail(c, "pairing: the oracle has no formula for it");
    if ((!g->l.inverse && !oracle_is(c, "direction", "forward")) ||
        (!trailing && !oracle_is(c, "partial", "leading")))
        return oracle_fail(c, "direction or partial: the oracle has no formula for it");
    g->l.first = trailing ? g->l.dim - g->a.r : 0;
    if (g->l.dim < g->a.r || g->l.dim > 1 << 20)
        return oracle_fail(c, "dim out of range");
    g->written = calloc((size_t)g->l.dim, sizeof *g->written);
    g->reached = calloc((size_t)g->l.dim, sizeof *g->reached);
    g->x = oracle_input(c, "x");
    g->inv_freq = oracle_output(c, "inv_freq");
    g->factor = oracle_output(c, "attention_factor");
    g->y = oracle_output(c, "y");
    g->dy = oracle_input(c, "dy");
    g->dx = oracle_output(c, "dx");
    return g->written && g->reached && rope_table_read(&g->table, c) && read_positions(g) &&
           check_shapes(g);
}

static void judge_all(struct judging *g)
{
    for (g->column = 0; g->inv_freq && g->column < g->a.n_columns; g->column++)
        oracle_raise(frequency_unit, g);
    if (g->factor)
        oracle_raise(factor_unit, g);
    if (!rope_table_any(&g->table) && !g->y && !g->dx)
        return;
    for (g->position = 0; g->position < g->n_positions; g->position++)
        for (int64_t b = 0; b < g->a.n_blocks; b++) {
            g->block = &g->a.block[b];
            for (int64_t j = 0; j < g->block->n; j++) {
                g->column = g->block->first + j;
                oracle_raise(column_unit, g);
            }
        }
    const int64_t n = g->n_positions * g->n_heads * g->l.dim;
    for (int64_t k = 0; g->y && k < n; k++)
        if (!g->written[k % g->l.dim])
            oracle_judge_copy(g->tally, g->c, g->y, k, g->x->data[k]);
    for (int64_t k = 0; g->dx && k < n; k++)
        if (!g->reached[k % g->l.dim])
            oracle_judge_copy(g->tally, g->c, g->dx, k, g->dy->data[k]);
}

void axes_judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct judging g = {.tally = t, .c = c};
    arb_init(g.c_arb);
    arb_init(g.s_arb);
    arb_init(g.one);
    arb_init(g.two);
    if (axes_init(&g.a, c) && read_case(&g)) {
        judge_all(&g);
        axes_attention_judge(t, c, &g.a, &g.l);
    }
    axes_clear(&g.a);
    free(g.written);
    free(g.reached);
    arb_clear(g.c_arb);
    arb_clear(g.s_arb);
    arb_clear(g.one);
    arb_clear(g.two);
}
