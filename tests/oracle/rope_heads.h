/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention of rope: rows of q and k are rotated as vectors, then multiplied. */
#ifndef ORACLE_ROPE_HEADS_H
#define ORACLE_ROPE_HEADS_H

#include "attention.h"

struct rope_heads {
    struct oracle_tally *tally;
    struct oracle_case *c;
    int64_t dim, n_axes; /* at most ROPE_HEADS_AXES */
    void *ctx;           /* rotate's */
    /* y = x rotated to a position [n_axes]; y is x on entry. key: x is a row of k. */
    void (*rotate)(arb_ptr y, void *ctx, arb_srcptr x, const double *position, bool key,
                   slong prec);
    bool linear;         /* attention_kind: from here on rope_heads_judge's own */
    struct rope_kept {
        arb_ptr y;
        slong prec; /* 0: none yet */
    } *kept[2];          /* rotated rows of q and k */
};

#define ROPE_HEADS_AXES 8

/* Judges both outputs, where the case has them. */
void rope_heads_judge(struct rope_heads *h);

#endif
