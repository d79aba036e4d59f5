/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention of rope over several axes (arXiv 2104.09864 with an axis for each pair):
 * queries and keys are rotated as vectors, then multiplied; attention_kind linear takes phi first
 * and divides by the products of what is not rotated. */
#include "attention.h"
#include "rope_axes.h"

#include <stdlib.h>

struct kept {
    arb_ptr y;
    slong prec; /* 0: none yet */
};

struct axes_heads {
    const struct axes *a;
    const struct axes_layout *l;
    bool linear;
    struct kept *kept[2]; /* rotated rows of q and k */
    arb_t cosine, sine;
};

/* Output `which` of pair j: x1 c - x2 s or x2 c + x1 s. */
static void turn(arb_ptr y, const struct axes_heads *g, const struct axes_block *block, int64_t j,
                 int which, arb_srcptr x, slong prec)
{
    const struct axes_layout *l = g->l;
    arb_ptr out = y + axes_channel(l, block, l->writes_half, j, which);
    arb_srcptr own = x + axes_channel(l, block, l->reads_half, j, which);
    arb_srcptr other = x + axes_channel(l, block, l->reads_half, j, 1 - which);
    arb_mul(out, own, g->cosine, prec);
    if ((which == 1) != l->inverse)
        arb_addmul(out, other, g->sine, prec);
    else
        arb_submul(out, other, g->sine, prec);
}

static void rotate(arb_ptr y, struct axes_heads *g, const double *row, const double *position,
                   slong prec)
{
    const slong bits = prec + 128;
    int part; /* only sums of two terms ask for it */
    arb_ptr x = _arb_vec_init(g->l->dim);
    arb_t factor;
    arb_init(factor);
    arb_one(factor);
    if (g->a->scaled)
        rope_attention_factor(factor, &g->a->f, bits);
    for (int64_t k = 0; k < g->l->dim; k++)
        if (g->linear)
            oracle_phi(x + k, row[k], bits);
        else
            arb_set_d(x + k, row[k]);
    _arb_vec_set(y, x, g->l->dim);
    for (int64_t b = 0; b < g->a->n_blocks; b++)
        for (int64_t k = 0; k < 2 * g->a->block[b].n; k++) {
            const struct axes_block *block = &g->a->block[b];
            const int64_t at = block->first + (g->l->mismatched ? k % block->n : k / 2);
            axes_cos_sin(g->cosine, g->sine, &part, g->a, at, position[g->a->column[at].axis],
                         bits);
            arb_mul(g->cosine, g->cosine, factor, bits);
            arb_mul(g->sine, g->sine, factor, bits);
            turn(y, g, block, k / 2, (int)(k % 2), x, bits);
        }
    arb_clear(factor);
    _arb_vec_clear(x, g->l->dim);
}

static arb_ptr rotated(struct axes_heads *g, int side, int64_t at, const double *row,
                       const double *position, slong prec)
{
    struct kept *kept = &g->kept[side][at];
    if (kept->prec == prec)
        return kept->y;
    if (!kept->y)
        kept->y = _arb_vec_init(g->l->dim);
    rotate(kept->y, g, row, position, prec);
    kept->prec = prec;
    return kept->y;
}

static void score_term(arb_ptr out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                       slong prec)
{
    struct axes_heads *g = a->ctx;
    double at_q[AXES_MAX], at_k[AXES_MAX];
    for (int64_t axis = 0; axis < g->a->n_axes; axis++) {
        at_q[axis] = oracle_q_position(a, axis, i);
        at_k[axis] = oracle_k_position(a, axis, j);
    }
    const double *q = oracle_q(a, head, i), *k = oracle_k(a, head, j);
    arb_ptr x = rotated(g, 0, (q - a->q->data) / g->l->dim, q, at_q, prec);
    arb_ptr y = rotated(g, 1, (k - a->k->data) / g->l->dim, k, at_k, prec);
    arb_zero(out);
    for (int64_t c = 0; c < g->l->dim; c++)
        arb_addmul(out, x + c, y + c, prec + 64);
}

static void clear_kept(struct kept *kept, int64_t n, int64_t dim)
{
    for (int64_t row = 0; kept && row < n; row++)
        if (kept[row].y)
            _arb_vec_clear(kept[row].y, dim);
    free(kept);
}

void axes_attention_judge(struct oracle_tally *t, struct oracle_case *c, const struct axes *a,
                          const struct axes_layout *layout)
{
    struct axes_heads g = {.a = a, .l = layout};
    struct oracle_attention attention = {.tally = t, .c = c, .ctx = &g, .term = score_term};
    if (!oracle_attention_wanted(c) || c->error[0])
        return;
    g.linear = oracle_is(c, "attention_kind", "linear");
    if (g.linear)
        attention.denominator = oracle_plain_products;
    if (g.linear && oracle_output(c, "scores")) {
        oracle_fail(c, "attention_kind=linear has no scores");
        return;
    }
    const struct oracle_tensor *side[2] = {oracle_input(c, "q"), oracle_input(c, "k")};
    int64_t n[2] = {0, 0};
    arb_init(g.cosine);
    arb_init(g.sine);
    for (int s = 0; s < 2 && side[s]; s++) {
        n[s] = side[s]->count / layout->dim;
        g.kept[s] = calloc((size_t)n[s] + 1, sizeof *g.kept[s]);
    }
    if (g.kept[0] && g.kept[1])
        oracle_attention_judge(&attention);
    for (int s = 0; s < 2; s++)
        clear_kept(g.kept[s], n[s], layout->dim);
    arb_clear(g.cosine);
    arb_clear(g.sine);
}
