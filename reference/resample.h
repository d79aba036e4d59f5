/* SPDX-License-Identifier: Apache-2.0 */
/* Taps of resampling one axis of a learned table, half-pixel centres (align_corners off): entry t
 * of `target` entries lies at x = (t + 1/2) source / target - 1/2 of the source. Weights are
 * rational; they are given as whole numerators over one denominator. Private to reference/. */
#ifndef POSREF_RESAMPLE_H
#define POSREF_RESAMPLE_H

#include "reference.h"

#define POSREF_RESAMPLE_MAX 65536 /* entries of an axis, so that numerators fit 63 bits */

struct posref_taps {
    int n;
    int64_t index[4], numerator[4], denominator;
};

/* Linear: x clamped at 0, two neighbours, the last one repeated (PyTorch's upsample_linear). Cubic:
 * Keys (1981) with a = -3/4, four neighbours, ends repeated (PyTorch's upsample_bicubic). With
 * source = target: entry t itself, weight 1. 0 <= t < target. */
void posref_resample(struct posref_taps *out, int64_t source, int64_t target, int64_t t,
                     bool cubic);

#endif
