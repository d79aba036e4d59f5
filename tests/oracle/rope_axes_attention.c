/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention of rope over several axes (arXiv 2104.09864 with an axis for each pair). */
#include "rope_axes.h"
#include "rope_heads.h"

struct axes_heads {
    const struct axes *a;
    const struct axes_layout *l;
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

static void rotate(arb_ptr y, void *ctx, arb_srcptr x, const double *position, bool key,
                   slong prec)
{
    struct axes_heads *g = ctx;
    const slong bits = prec + 128;
    int part; /* only sums of two terms ask for it */
    arb_t factor;
    (void)key;
    arb_init(factor);
    arb_one(factor);
    if (g->a->scaled)
        rope_attention_factor(factor, &g->a->f, bits);
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
}

void axes_attention_judge(struct oracle_tally *t, struct oracle_case *c, const struct axes *a,
                          const struct axes_layout *layout)
{
    struct axes_heads g = {.a = a, .l = layout};
    struct rope_heads heads = {.tally = t, .c = c, .dim = layout->dim, .n_axes = a->n_axes,
                               .ctx = &g, .rotate = rotate};
    arb_init(g.cosine);
    arb_init(g.sine);
    rope_heads_judge(&heads);
    arb_clear(g.cosine);
    arb_clear(g.sine);
}
