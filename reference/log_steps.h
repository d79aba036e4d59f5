/* SPDX-License-Identifier: Apache-2.0 */
/* Logarithmic buckets, exactly: the number of steps from `low` to n on a scale that reaches `high`
 * in `steps` steps, x(n) = steps ln(n / low) / ln(high / low). Private to reference/. */
#ifndef POSREF_LOG_STEPS_H
#define POSREF_LOG_STEPS_H

#include "ball.h"
#include "scheme.h"

#define POSREF_MAX_DISTANCE (INT64_C(1) << 32) /* of two positions, and more */

struct posref_log_steps {
    int64_t low, high, steps; /* 0 < low < high <= POSREF_MAX_DISTANCE, steps > 0 */
    bool up;                  /* ceiling instead of floor */
    bool nearest;             /* half a step is added first */
    /* What was worked out before: n and its steps at n modulo size (a power of two). */
    struct posref_log_memo {
        int64_t n, steps;
    } *memo;
    int64_t size;
};

/* A memo for about n_distances of them in the job's arena. */
POSREF_MUST_USE enum posref_status posref_log_steps_init(struct posref_log_steps *out,
                                                         const struct posref_job *job,
                                                         int64_t n_distances);
/* floor(x(n)), its ceiling or floor(x(n) + 1/2), for low <= n <= POSREF_MAX_DISTANCE. */
POSREF_MUST_USE enum posref_status posref_log_steps_at(int64_t *out, struct posref_log_steps *s,
                                                       int64_t n);

#endif
