/* SPDX-License-Identifier: Apache-2.0 */
/* DeBERTa's disentangled scores with faults: see faulty_scores.h. Scores and attention. */
#include "faulty_scores.h"

static int is_logarithmic(const struct scores *s)
{
    return faulty_is(s->c, "log_buckets", "true");
}

static double bucket(const struct scores *s, double d)
{
    const double mid = floor(faulty_number(s->c, "num_buckets", 32) / 2), n = fabs(d);
    double most = faulty_number(s->c, "max_distance", 128) - 1;
    if (faulty_with(s->c, "max_distance_default"))
        most = 127;
    most += has(s, "max_distance_edge");
    if (!is_logarithmic(s) || n <= mid)
        return d;
    double x = (mid - 1) * log(n / mid) / log(most / mid);
    /* Steps that are whole numbers are so up to the last bits. */
    x = fabs(x - nearbyint(x)) < 1e-9 ? nearbyint(x) : x;
    if (has(s, "bucket_floor") || (has(s, "bucket_ceil_signed") && d < 0))
        x = floor(x);
    else
        x = has(s, "bucket_nearest") ? floor(x + 0.5) : ceil(x);
    return copysign(mid + x, d);
}

static int64_t row_of(const struct scores *s, double bucket_of, int64_t sign)
{
    const int64_t span = (int64_t)faulty_number(s->c, is_logarithmic(s) ? "num_buckets"
                                                                       : "max_distance", 1);
    int64_t row = sign * (int64_t)bucket_of + span;
    row += has(s, "span_and_one") - has(s, "span_less_one");
    return row < 0 ? 0 : row >= 2 * span ? 2 * span - 1 : row;
}

static double with_table(const struct scores *s, const double *content, const char *table,
                         int64_t h, int64_t row)
{
    double entry[256];
    read_row(entry, s, table, h, row);
    return product(s, content, entry);
}

static int faulty_terms(struct faulty_term *out, const struct scores *s, int64_t h, int64_t i,
                        int64_t j)
{
    const int c2p = !faulty_is(s->c, "pos_att_type", "p2c");
    const int p2c = !faulty_is(s->c, "pos_att_type", "c2p");
    const int swap = has(s, "tables_exchanged") && c2p && p2c;
    const int turned = !has(s, "p2c_untransposed");
    const double own = faulty_number(s->c, "softmax_scale", 0);
    const double count = has(s, "terms_not_counted") ? 1 : 1 + c2p + p2c;
    const double scale = has(s, "softmax_scale_missing") ? 1
                         : own > 0 ? own : 1 / sqrt((double)s->dim * count);
    const double factor = faulty_term_factor(s->c);
    const double d = bucket(s, position(s, s->at_q, i) - position(s, s->at_k, j));
    int64_t sign = faulty_is(s->c, "p2c_difference", "key_minus_query") ? -1 : 1;
    sign *= has(s, "p2c_difference") != !turned ? -1 : 1;
    double term = product(s, query_row(s, h, i), key_row(s, h, j));
    int n = 0;
    out[n++] = (struct faulty_term){"content_content", step(s, term * scale)};
    if (c2p) {
        term = with_table(s, query_row(s, h, i), swap ? "query_weights" : "key_weights", h,
                          row_of(s, d, 1));
        out[n++] = (struct faulty_term){"content_position",
                                        has(s, "c2p_missing") ? 0 : step(s, factor * term * scale)};
    }
    if (p2c) {
        term = with_table(s, key_row(s, h, turned ? j : i), swap ? "key_weights" : "query_weights",
                          h, row_of(s, d, sign));
        out[n++] = (struct faulty_term){"position_content",
                                        has(s, "p2c_missing") ? 0 : step(s, factor * term * scale)};
    }
    return n;
}

static int faulty_knows(const struct faulty_call *c)
{
    const struct posref_plugin_tensor *q = posref_plugin_find(c->call, "q");
    const struct posref_plugin_tensor *k = posref_plugin_find(c->call, "k");
    return faulty_is(c, "scheme", "deberta") && q->shape[q->rank - 1] <= 256 &&
           (!faulty_with(c, "max_distance_default") || faulty_number(c, "num_buckets", 0) < 250) &&
           (!faulty_with(c, "p2c_untransposed") || q->shape[0] == k->shape[0]);
}

static void faulty_begin(struct scores *s)
{
    (void)s;
}
