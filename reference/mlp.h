/* SPDX-License-Identifier: Apache-2.0 */
/* A network of one hidden layer, enclosed: out_h = b2[h] + sum_m w2[h, m] max(0, b1[m] + sum_c
 * w1[m, c] in[c]). Weights as torch.nn.Linear stores them. Private to reference/. */
#ifndef POSREF_MLP_H
#define POSREF_MLP_H

#include "ball.h"
#include "scheme.h"

#define POSREF_MLP_MAX_IN 2

struct posref_mlp {
    const double *w1, *b1, *w2, *b2; /* [width, n_in], [width], [heads, width], [heads] or NULL */
    int n_in, width, heads;
    struct posref_ball *hidden; /* scratch [width] */
};

/* Reads w1, b1, w2 and, with_b2, b2: heads = spec->num_heads, width = spec->mlp_width. */
POSREF_MUST_USE enum posref_status posref_mlp_read(struct posref_mlp *out, struct posref_job *job,
                                                   int n_in, bool with_b2);
/* The hidden layer of in[n_in], kept in mlp->hidden. */
void posref_mlp_hidden(const struct posref_mlp *mlp, const struct posref_ball *in,
                       unsigned prec_bits);
/* The output of one head from the hidden layer. */
void posref_mlp_head(struct posref_ball *out, const struct posref_mlp *mlp, int h,
                     unsigned prec_bits);

#endif
