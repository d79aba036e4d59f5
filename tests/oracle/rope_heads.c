/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention of rotated rows; attention_kind linear takes phi first and divides by the
 * products of what is not rotated. */
#include "rope_heads.h"

#include <stdlib.h>

/* A rotated row of one side, kept for the precision that it was made for. */
static arb_ptr rotated(struct rope_heads *h, int side, int64_t at, const double *row,
                       const double *position, slong prec)
{
    struct rope_kept *kept = &h->kept[side][at];
    if (kept->prec == prec)
        return kept->y;
    if (!kept->y)
        kept->y = _arb_vec_init(h->dim);
    arb_ptr x = _arb_vec_init(h->dim);
    for (int64_t k = 0; k < h->dim; k++)
        if (h->linear)
            oracle_phi(x + k, row[k], prec + 128);
        else
            arb_set_d(x + k, row[k]);
    _arb_vec_set(kept->y, x, h->dim);
    h->rotate(kept->y, h->ctx, x, position, side == 1, prec);
    _arb_vec_clear(x, h->dim);
    kept->prec = prec;
    return kept->y;
}

static void term(arb_ptr out, struct oracle_attention *a, int64_t head, int64_t i, int64_t j,
                 slong prec)
{
    struct rope_heads *h = a->ctx;
    double at_q[ROPE_HEADS_AXES], at_k[ROPE_HEADS_AXES];
    for (int64_t axis = 0; axis < h->n_axes; axis++) {
        at_q[axis] = oracle_q_position(a, axis, i);
        at_k[axis] = oracle_k_position(a, axis, j);
    }
    const double *q = oracle_q(a, head, i), *k = oracle_k(a, head, j);
    arb_ptr x = rotated(h, 0, (q - a->q->data) / h->dim, q, at_q, prec);
    arb_ptr y = rotated(h, 1, (k - a->k->data) / h->dim, k, at_k, prec);
    arb_zero(out);
    for (int64_t c = 0; c < h->dim; c++)
        arb_addmul(out, x + c, y + c, prec + 64);
}

void rope_heads_judge(struct rope_heads *h)
{
    struct oracle_attention a = {.tally = h->tally, .c = h->c, .ctx = h, .term = term};
    if (!oracle_attention_wanted(h->c) || h->c->error[0])
        return;
    h->linear = oracle_is(h->c, "attention_kind", "linear");
    if (h->linear)
        a.denominator = oracle_plain_products;
    if (h->linear && oracle_output(h->c, "scores")) {
        oracle_fail(h->c, "attention_kind=linear has no scores");
        return;
    }
    const struct oracle_tensor *side[2] = {oracle_input(h->c, "q"), oracle_input(h->c, "k")};
    int64_t n[2] = {0, 0};
    for (int s = 0; s < 2 && side[s]; s++) {
        n[s] = side[s]->count / h->dim;
        h->kept[s] = calloc((size_t)n[s] + 1, sizeof *h->kept[s]);
    }
    if (h->kept[0] && h->kept[1])
        oracle_attention_judge(&a);
    for (int s = 0; s < 2 && h->kept[s]; s++) {
        for (int64_t row = 0; row < n[s]; row++)
            if (h->kept[s][row].y)
                _arb_vec_clear(h->kept[s][row].y, h->dim);
        free(h->kept[s]);
    }
}
