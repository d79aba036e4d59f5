/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts whose rotation is fused with an RMS norm of each head: what is handed in beside x, and
 * the golden output, which the reference computes on the spot. */
#include "layout_build.h"

#include "trial.h"

#include <stdio.h>

#define EPS 0.125 /* not small beside mean(x^2): where it stands shows in every dtype */

/* Of 8 bits at most: 1/2 to 5/2, or -1/2 to 1/2 where one is added. The periods are primes: where
 * the channels of every pair had one weight, a norm before and one after would be the same. */
static double weight_of(int64_t channel, bool plus_one)
{
    return (double)(plus_one ? 29 * channel % 61 - 30 : 33 + 37 * channel % 131) / 64;
}

/* Puts the norm's inputs beside the judged ones, and its output in their output's place. */
static enum posref_status golden(struct posref_layout_case *out, bool plus_one, bool after,
                                 const struct posref_arena *arena, struct posref_error *err)
{
    const struct posref_tensors turned = out->judged.inputs;
    const int64_t dim = out->dim;
    double *weight = arena->alloc(arena->ctx, (size_t)(2 * dim + 1) * sizeof *weight);
    if (!weight)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    double *gain = weight + dim, *eps = gain + dim;
    *eps = EPS;
    for (int64_t k = 0; k < dim; k++) {
        weight[k] = weight_of(k, plus_one);
        gain[k] = plus_one ? 1 + weight[k] : weight[k];
    }
    const char *name = after ? "post_norm_weight" : "norm_weight";
    posref_layout_add(&out->judged.inputs, name, POSREF_F64, 1, &dim)->data = weight;
    posref_layout_add(&out->judged.inputs, "eps", POSREF_F64, 0, NULL)->data = eps;
    const struct posref_norm norm = {.gain = gain, .eps = EPS, .after = after};
    return posref_rotate_normed(out->judged.outputs.item[0].data, &norm, &out->judged.spec, &turned,
                                arena, err);
}

enum posref_status posref_golden_norm(struct posref_layout_case *out,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    return golden(out, false, false, arena, err);
}

enum posref_status posref_golden_norm_plus_one(struct posref_layout_case *out,
                                               const struct posref_arena *arena,
                                               struct posref_error *err)
{
    return golden(out, true, false, arena, err);
}

enum posref_status posref_golden_norm_after(struct posref_layout_case *out,
                                            const struct posref_arena *arena,
                                            struct posref_error *err)
{
    return golden(out, false, true, arena, err);
}

void posref_lay_norm(struct posref_layout_build *b)
{
    const struct posref_layout_case *of = b->of;
    posref_layout_positions(b, 1, &of->n, posref_layout_count(b, of->n));
    posref_layout_both(b, 3, (const int64_t[]){of->n, of->heads, of->dim},
                       posref_layout_count(b, of->n * of->heads));
    for (int k = 0; k < b->rows.n; k++) {
        const struct posref_tensor *tensor = &b->rows.item[k];
        if (tensor->rank < 2 && !posref_trial_is_positions(tensor))
            b->trial->in.item[b->trial->in.n++] = *tensor;
    }
}
