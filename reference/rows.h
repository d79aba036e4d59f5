/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that an absolute encoding is asked for: positions as given, or counted from a mask.
 * Private to reference/. */
#ifndef POSREF_ROWS_H
#define POSREF_ROWS_H

#include "scheme.h"

struct posref_rows {
    int64_t n, n_axes;
    const double *position; /* [n_axes, n]; counted from a mask: whole numbers */
    const bool *masked;     /* [n], or NULL: no row is masked */
};

/* Reads positions [n] (or [n_axes, n]) and mask [n] of zeros and ones. With `counted`, positions
 * must not be given: token k of those not masked is at first + k, a masked one at first - 1. */
POSREF_MUST_USE enum posref_status posref_rows_read(struct posref_rows *out, struct posref_job *job,
                                                    int64_t n_axes, bool counted, double first);

#endif
