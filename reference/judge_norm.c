/* SPDX-License-Identifier: Apache-2.0 */
/* Rotations that are fused with an RMS norm as judged units: docs/tolerance.md, "One pair". */
#include "judge_impl.h"
#include "layout.h"

#include <math.h>

bool posref_judge_is_normed(const struct judge_case *c)
{
    return posref_tensors_find(c->inputs, "norm_weight") ||
           posref_tensors_find(c->inputs, "post_norm_weight");
}

/* The factor 1 / sqrt(mean(x^2) + eps) is common to a row. Squares and their sum in any order: dim
 * units at most, all of one sign; the root halves what mean and sum have, 2 for an approximate one,
 * 1 each for it and for the eps that it was given. */
static double common_error(const struct judge_case *c)
{
    return c->spec->dim / 2.0 + 4;
}

/* Before: pairs of gain x turn. After: each element of the turned pair has its own gain, so that
 * the errors of the turn, which are those of the whole pair, are as large as the larger gain makes
 * them, and the output is no turned pair. */
void posref_judge_normed(const struct judge_case *c, struct judge_unit *unit,
                         const struct posref_layout_pair *at)
{
    const double *gain = posref_judge_input(c, "post_norm_weight");
    unit->common = common_error(c);
    unit->extra += 2; /* the product with the factor, and that with the weight */
    if (!gain)
        return;
    /* |want| = factor |gain (R x)|: the factor follows where a gain of 1 is put in. */
    const double g0 = fabs(gain[at->out[0]]), g1 = fabs(gain[at->out[1]]);
    const double a = g0 > 0 ? unit->want[0] / g0 : 0, b = g1 > 0 ? unit->want[1] / g1 : 0;
    unit->scale = hypot(a, b) * fmax(g0, g1);
    unit->out_scale[0] = fabs(unit->want[0]);
    unit->out_scale[1] = fabs(unit->want[1]);
    unit->is_pair = false;
}

enum posref_status posref_judge_normed_rest(struct judge_case *c, int y, int64_t n_rows)
{
    const int dim = c->spec->dim;
    bool *copied = c->arena->alloc(c->arena->ctx, (size_t)dim * sizeof *copied);
    if (!copied)
        return posref_fail(c->err, POSREF_NO_MEMORY, "", "out of memory");
    posref_layout_copied(copied, c->spec);
    for (int64_t k = 0; k < n_rows * dim; k++) {
        if (!copied[k % dim])
            continue;
        struct judge_unit *unit = posref_judge_one(c, y, k);
        unit->common = common_error(c);
        unit->moves = unit->scale != 0;
    }
    return POSREF_OK;
}
