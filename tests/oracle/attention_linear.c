/* SPDX-License-Identifier: Apache-2.0 */
/* RoFormer's linear attention (arXiv 2104.09864, section 3.3, eq. 19): phi = elu + 1, and the
 * denominator, which nothing rotates. */
#include "attention.h"

void oracle_phi(arb_t out, double x, slong prec)
{
    arb_set_d(out, x);
    if (x > 0)
        arb_add_ui(out, out, 1, prec + 64);
    else
        arb_exp(out, out, prec + 64);
}

void oracle_plain_products(arb_t out, struct oracle_attention *a, int64_t head, int64_t i,
                           int64_t j, slong prec)
{
    const double *q = oracle_q(a, head, i), *k = oracle_k(a, head, j);
    arb_t x, y;
    arb_init(x);
    arb_init(y);
    arb_zero(out);
    for (int64_t c = 0; c < a->dim; c++) {
        oracle_phi(x, q[c], prec);
        oracle_phi(y, k[c], prec);
        arb_addmul(out, x, y, prec + 64);
    }
    arb_clear(x);
    arb_clear(y);
}
