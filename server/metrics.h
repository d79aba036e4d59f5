/* SPDX-License-Identifier: Apache-2.0 */
/* What /metrics tells: counters that every thread adds to without a lock. */
#ifndef POSREF_SERVER_METRICS_H
#define POSREF_SERVER_METRICS_H

#include "vectors/vectors.h"

#include <stdatomic.h>

#define POSREF_METRICS_ROUTES 32  /* rows of the table of routes, and one for no route */
#define POSREF_METRICS_STATUSES 20
#define POSREF_METRICS_BUCKETS 12

struct posref_metrics {
    atomic_uint_least64_t requests[POSREF_METRICS_ROUTES][POSREF_METRICS_STATUSES];
    /* Time from the complete request to its answer: not cumulative; the last has no bound. */
    atomic_uint_least64_t bucket[POSREF_METRICS_ROUTES][POSREF_METRICS_BUCKETS];
    atomic_uint_least64_t nanoseconds[POSREF_METRICS_ROUTES];
    atomic_uint_least64_t body_bytes, evaluations, connections_opened, turned_away;
    atomic_int_least64_t connections;
};

/* `route` is the row in posref_routes, or -1: none. */
void posref_metrics_count(struct posref_metrics *metrics, int route, unsigned status,
                          size_t body_bytes, uint64_t nanoseconds);

/* In Prometheus' text format, version 0.0.4. The suites are those of the database. */
void posref_metrics_text(struct posref_buffer *out, struct posref_metrics *metrics,
                         const struct posref_suite_info *suites, size_t n_suites);

#endif
