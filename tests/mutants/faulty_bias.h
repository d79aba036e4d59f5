/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of relative distances with faults, for the plugins that add them to scores and those that
 * hand them out: see faulty.h. */
#ifndef POSREF_FAULTY_BIAS_H
#define POSREF_FAULTY_BIAS_H

#include "faulty.h"

/* Where queries (keys) stand. */
static inline const struct posref_plugin_tensor *faulty_side(const struct faulty_call *c,
                                                             const char *name)
{
    const struct posref_plugin_tensor *own = posref_plugin_find(c->call, name);
    return own ? own : posref_plugin_find(c->call, "positions");
}

static inline int faulty_bucket(const struct faulty_call *c, double distance)
{
    const int both = faulty_is(c, "bidirectional", "true") != faulty_with(c, "bidirectional");
    int n = (int)faulty_number(c, "num_buckets", 32), base = 0;
    double most = faulty_number(c, "max_distance", 128);
    if (faulty_with(c, "max_distance_default"))
        most = 128;
    if (faulty_with(c, "num_buckets_halved") && n % 4 == 0 && n >= 8)
        n /= 2;
    if (both) {
        n /= 2;
        base = distance > 0 ? n : 0;
        distance = fabs(distance);
    } else {
        distance = distance < 0 ? -distance : 0;
    }
    const int near = n / 2;
    if (distance < near)
        return base + (int)distance;
    /* A little more than the quotient: steps that are whole numbers must not be missed. */
    most -= faulty_with(c, "max_distance_edge");
    double step = log(distance / near) / log(most / near) * (n - near) * (1 + 1e-12);
    if (faulty_with(c, "bucket_ceil"))
        step = ceil(step * (1 - 2e-12));
    if (faulty_with(c, "bucket_nearest"))
        step = floor(step + 0.5);
    return base + (step >= n - 1 - near ? n - 1 : near + (int)step);
}

/* The entry of the table for a query at q and a key at k, [axes] each. */
static inline int64_t faulty_entry(const struct faulty_call *c, const double *q, const double *k)
{
    const double sign = faulty_with(c, "relative_sign") ? -1 : 1, d = sign * (k[0] - q[0]);
    if (faulty_is(c, "scheme", "t5_bias"))
        return faulty_bucket(c, d);
    const double distance = faulty_is(c, "difference", "key_minus_query") ? d : -d;
    if (faulty_is(c, "table", "full"))
        return (int64_t)(distance + faulty_number(c, "max_position_embeddings", 1) - 1);
    const double most = faulty_number(c, "max_distance", 1);
    return (int64_t)(fmax(-most, fmin(most, distance)) + most);
}

/* weights[entry, head] in the layout that the spec says, or in the other one. */
static inline double faulty_weight(const struct faulty_call *c, int64_t entry, int64_t head,
                                   int64_t heads)
{
    const struct posref_plugin_tensor *w = posref_plugin_find(c->call, "weights");
    const int64_t entries = faulty_count(w) / heads;
    head = faulty_table_head(c, head);
    const int rows = faulty_is(c, "weights_layout", "entries_heads");
    return faulty_term_factor(c) *
           faulty_get(w, rows != faulty_with(c, "weights_layout") ? entry * heads + head
                                                                  : head * entries + entry);
}

#endif
