/* SPDX-License-Identifier: Apache-2.0 */
/* Contextual positions with faults: see faulty_scores.h. Scores and attention. */
#include "faulty_scores.h"

static double scale_of(const struct scores *s)
{
    return has(s, "softmax_scale_missing") ? 1 : s->scale;
}

static double gate(const struct scores *s, int64_t h, int64_t i, int64_t k)
{
    const int scaled = faulty_is(s->c, "gate_logits", "scaled") != has(s, "gate_logits");
    double z = product(s, query_row(s, h, i), key_row(s, h, k));
    z = scaled ? step(s, z * scale_of(s)) : z;
    return sees(s, i, k) || has(s, "gates_unmasked") ? step(s, 1 / (1 + exp(-z))) : 0;
}

/* The position of key j, summed from one end of the row. */
static double place(const struct scores *s, int64_t h, int64_t i, int64_t j)
{
    const int64_t first = has(s, "gates_from_start") ? 0 : s->n_k - 1, by = first ? -1 : 1;
    const double rows = faulty_number(s->c, "npos_max", 1) - has(s, "npos_max_less_one");
    double sum = 0;
    for (int64_t k = first; k != j; k += by)
        sum = step(s, sum + gate(s, h, i, k));
    if (!has(s, "gates_exclusive"))
        sum = step(s, sum + gate(s, h, i, j));
    return has(s, "position_unclamped") ? sum : fmin(sum, rows - 1);
}

static double logit(const struct scores *s, int64_t h, int64_t i, int64_t row)
{
    double entry[256];
    if (row >= (int64_t)faulty_number(s->c, "npos_max", 1))
        return 0;
    read_row(entry, s, "weights", h, row);
    return product(s, query_row(s, h, i), entry);
}

static double look_up(const struct scores *s, int64_t h, int64_t i, double p)
{
    const int64_t low = (int64_t)floor(p), high = (int64_t)ceil(p);
    if (has(s, "position_floored"))
        return logit(s, h, i, low);
    if (has(s, "position_rounded"))
        return logit(s, h, i, (int64_t)floor(p + 0.5));
    const double weight = p - (double)low;
    return step(s, weight * logit(s, h, i, high) + (1 - weight) * logit(s, h, i, low));
}

static int faulty_terms(struct faulty_term *out, const struct scores *s, int64_t h, int64_t i,
                        int64_t j)
{
    const int scaled = faulty_is(s->c, "position_logits", "scaled") != has(s, "position_logits");
    const double content = product(s, query_row(s, h, i), key_row(s, h, j));
    const double of_position = faulty_term_factor(s->c) * look_up(s, h, i, place(s, h, i, j));
    out[0] = (struct faulty_term){"content_content", step(s, content * scale_of(s))};
    out[1] = (struct faulty_term){"content_position",
                                  scaled ? step(s, of_position * scale_of(s)) : of_position};
    return 2;
}

static int faulty_knows(const struct faulty_call *c)
{
    const struct posref_plugin_tensor *q = posref_plugin_find(c->call, "q");
    return faulty_is(c, "scheme", "cope") && posref_plugin_find(c->call, "weights") &&
           q->shape[q->rank - 1] <= 256;
}

static void faulty_begin(struct scores *s)
{
    (void)s;
}
