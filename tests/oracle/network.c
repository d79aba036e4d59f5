/* SPDX-License-Identifier: Apache-2.0 */
/* The networks of FIRE and SwinV2, in intervals. */
#include "network.h"

#include <math.h>

bool oracle_network_read(struct oracle_network *n, struct oracle_case *c, int64_t n_in,
                         int64_t heads, bool with_b2)
{
    *n = (struct oracle_network){.w1 = oracle_input(c, "w1"), .b1 = oracle_input(c, "b1"),
                                 .w2 = oracle_input(c, "w2"),
                                 .b2 = with_b2 ? oracle_input(c, "b2") : NULL,
                                 .n_in = n_in, .heads = heads};
    if (!n->w1 || !n->b1 || !n->w2 || (with_b2 && !n->b2))
        return oracle_fail(c, "a part of the network is not given");
    n->width = n->b1->count;
    return oracle_shaped(c, n->w1, 2, (const int64_t[]){n->width, n_in}) &&
           oracle_shaped(c, n->b1, 1, &n->width) &&
           oracle_shaped(c, n->w2, 2, (const int64_t[]){heads, n->width}) &&
           (!with_b2 || oracle_shaped(c, n->b2, 1, &heads));
}

void oracle_network_head(arb_t out, double *terms, const struct oracle_network *n, arb_srcptr x,
                         int64_t h, slong prec)
{
    arb_t hidden, weight, zero;
    arb_init(hidden);
    arb_init(weight);
    arb_init(zero);
    arb_set_d(out, n->b2 ? n->b2->data[h] : 0);
    *terms = n->b2 ? fabs(n->b2->data[h]) : 0;
    for (int64_t m = 0; m < n->width; m++) {
        double size = fabs(n->b1->data[m]);
        arb_set_d(hidden, n->b1->data[m]);
        for (int64_t i = 0; i < n->n_in; i++) {
            const double w = n->w1->data[m * n->n_in + i];
            arb_set_d(weight, w);
            arb_addmul(hidden, weight, x + i, prec);
            size += fabs(w * arf_get_d(arb_midref(x + i), ARF_RND_NEAR));
        }
        arb_max(hidden, hidden, zero, prec);
        const double w = n->w2->data[h * n->width + m];
        arb_set_d(weight, w);
        arb_addmul(out, weight, hidden, prec);
        *terms += fabs(w) * size;
    }
    arb_clear(hidden);
    arb_clear(weight);
    arb_clear(zero);
}
