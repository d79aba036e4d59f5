/* SPDX-License-Identifier: Apache-2.0 */
/* Two layers with a ReLU between them, as papers write them: W2 max(0, W1 x + b1) + b2. */
#ifndef ORACLE_NETWORK_H
#define ORACLE_NETWORK_H

#include "oracle.h"

struct oracle_network {
    struct oracle_tensor *w1, *b1, *w2, *b2; /* b2 NULL: none */
    int64_t n_in, width, heads;
};

bool oracle_network_read(struct oracle_network *n, struct oracle_case *c, int64_t n_in,
                         int64_t heads, bool with_b2);
/* Output h for x[n_in], and the sum of the sizes of the terms that make it. */
void oracle_network_head(arb_t out, double *terms, const struct oracle_network *n, arb_srcptr x,
                         int64_t h, slong prec);

#endif
