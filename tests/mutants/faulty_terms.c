/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of several terms with faults: tables that are added to the content (sinusoidal and
 * learned), shaw, and transformer_xl with sinusoids. See faulty_scores.h. */
#include "faulty_scores.h"

#define WIDTH 256

/* ---- tables that are added ---- */

static void table_row(double *out, const struct scores *s, int64_t h, double p)
{
    const int concat = faulty_is(s->c, "order", "concat");
    const int64_t half = s->dim / 2;
    p += faulty_number(s->c, "offset", 0);
    if (faulty_is(s->c, "scheme", "learned")) {
        read_row(out, s, "weights", h, (int64_t)p);
        return;
    }
    for (int64_t i = 0; i < half; i++) {
        const double power = -2.0 * (double)i / (double)s->dim;
        const double theta = step(s, pow(faulty_number(s->c, "base", 10000), power));
        const double angle = step(s, p * theta);
        out[concat ? i : 2 * i] = step(s, sin(angle));
        out[concat ? half + i : 2 * i + 1] = step(s, cos(angle));
    }
}

static int added_terms(struct faulty_term *out, const struct scores *s, int64_t h, int64_t i,
                       int64_t j)
{
    const double *q = query_row(s, h, i), *k = key_row(s, h, j);
    double at_q[WIDTH], at_k[WIDTH];
    const int own = has(s, "own_positions");
    const int bare_q = has(s, "table_on_keys_only"), bare_k = has(s, "table_on_queries_only");
    const int apart = bare_q || bare_k || has(s, "position_position_missing");
    table_row(at_q, s, h, position(s, s->at_q, i));
    table_row(at_k, s, h, position(s, s->at_k, j));
    const double term[] = {product(s, q, k), bare_k ? 0 : product(s, q, own ? at_q : at_k),
                           bare_q ? 0 : product(s, k, own ? at_k : at_q),
                           apart ? 0 : product(s, at_q, at_k)};
    static const char *const name[] = {"content_content", "content_position", "position_content",
                                       "position_position"};
    for (int n = 0; n < 4; n++)
        out[n] = (struct faulty_term){name[n], step(s, term[n] * s->scale)};
    return 4;
}

/* ---- shaw ---- */

static int shaw_terms(struct faulty_term *out, const struct scores *s, int64_t h, int64_t i,
                      int64_t j)
{
    const double most = faulty_number(s->c, "max_relative_position", 1);
    const double d = position(s, s->at_k, j) - position(s, s->at_q, i);
    const int clipped = faulty_is(s->c, "position_embedding_type", "shaw");
    const int both = faulty_is(s->c, "position_embedding_type", "relative_key_query");
    double row[WIDTH], sign = has(s, "relative_sign") ? -1 : 1;
    read_row(row, s, "key_weights", h,
             (int64_t)((clipped ? fmax(-most, fmin(most, sign * d)) : -sign * d) + most));
    const double factor = faulty_term_factor(s->c);
    const double term[] = {product(s, query_row(s, h, i), key_row(s, h, j)),
                           factor * product(s, query_row(s, h, i), row),
                           both && !has(s, "key_product_missing")
                               ? factor * product(s, key_row(s, h, j), row) : 0};
    static const char *const name[] = {"content_content", "content_position", "position_content"};
    for (int n = 0; n < 3; n++)
        out[n] = (struct faulty_term){name[n], step(s, term[n] * s->scale)};
    return both ? 3 : 2;
}

/* ---- transformer_xl ---- */

/* W s_d of one head. */
static void relative_row(double *out, const struct scores *s, int64_t h, double d)
{
    const struct posref_plugin_tensor *w = posref_plugin_find(s->c->call, "key_weights");
    const int64_t width = w->shape[1], half = width / 2;
    const int concat = faulty_is(s->c, "order", "concat");
    const double most = has(s, "clamp_ignored") ? 0 : faulty_number(s->c, "clamp_len", 0);
    if (most > 0)
        d = fmax(-most, fmin(most, d));
    for (int64_t c = 0; c < s->dim; c++) {
        double sum = 0;
        for (int64_t i = 0; i < half; i++) {
            const double power = -2.0 * (double)i / (double)width;
            const double angle = step(s, d * pow(faulty_number(s->c, "base", 10000), power));
            const int64_t sine = concat ? i : 2 * i, cosine = concat ? half + i : 2 * i + 1;
            sum = step(s, sum + faulty_get(w, (h * s->dim + c) * width + sine) * sin(angle));
            sum = step(s, sum + faulty_get(w, (h * s->dim + c) * width + cosine) * cos(angle));
        }
        out[c] = sum;
    }
}

static void parameter(double *out, const struct scores *s, const char *name, int64_t h)
{
    const struct posref_plugin_tensor *t = posref_plugin_find(s->c->call, name);
    for (int64_t c = 0; c < s->dim; c++)
        out[c] = faulty_get(t, (t->rank == 2 ? h * s->dim : 0) + c);
}

/* Rows of distances n_k - 1 ... 0 behind a column of zeros, read again: which query and which
 * distance stand at (i, j); 0: the zeros. */
static int shifted(int64_t *query, double *d, const struct scores *s, int64_t i, int64_t j)
{
    const int64_t skipped = has(s, "shift_drops_last") ? 0 : s->n_q;
    const int64_t at = skipped + i * s->n_k + j;
    *query = at / (s->n_k + 1);
    *d = (double)(s->n_k - at % (s->n_k + 1));
    return at % (s->n_k + 1) != 0;
}

static int txl_terms(struct faulty_term *out, const struct scores *s, int64_t h, int64_t i,
                     int64_t j)
{
    const int swap = has(s, "parameters_exchanged");
    const double factor = faulty_term_factor(s->c);
    double r[WIDTH], u[WIDTH], v[WIDTH], d = position(s, s->at_q, i) - position(s, s->at_k, j);
    int64_t query = i;
    int there = 1;
    if (has(s, "shift_without_mask") || has(s, "shift_drops_last"))
        there = shifted(&query, &d, s, i, j);
    relative_row(r, s, h, has(s, "relative_sign") ? -d : d);
    parameter(u, s, swap ? "v_bias" : "u", h);
    parameter(v, s, swap ? "u" : "v_bias", h);
    const double term[] = {product(s, query_row(s, h, i), key_row(s, h, j)),
                           there ? factor * product(s, query_row(s, h, query), r) : 0,
                           has(s, "u_missing") ? 0 : product(s, u, key_row(s, h, j)),
                           has(s, "v_missing") || !there ? 0 : factor * product(s, v, r)};
    static const char *const name[] = {"content_content", "content_position", "u_content",
                                       "v_position"};
    for (int n = 0; n < 4; n++)
        out[n] = (struct faulty_term){name[n], step(s, term[n] * s->scale)};
    return 4;
}

/* ---- the plugin ---- */

static int faulty_terms(struct faulty_term *out, const struct scores *s, int64_t h, int64_t i,
                        int64_t j)
{
    return faulty_is(s->c, "scheme", "shaw")             ? shaw_terms(out, s, h, i, j)
           : faulty_is(s->c, "scheme", "transformer_xl") ? txl_terms(out, s, h, i, j)
                                                         : added_terms(out, s, h, i, j);
}

/* Whether the last query stands at the last of keys 0, 1, 2, ... and the others before it. */
static int is_sequence(const struct faulty_call *c)
{
    const struct posref_plugin_tensor *q = faulty_side(c, "q_positions");
    const struct posref_plugin_tensor *k = faulty_side(c, "k_positions");
    const int64_t n_q = q->shape[q->rank - 1], n_k = k->shape[k->rank - 1];
    for (int64_t j = 0; j < n_k; j++)
        if (posref_plugin_position(k, 0, j) != (double)j)
            return 0;
    for (int64_t i = 0; i < n_q; i++)
        if (posref_plugin_position(q, 0, i) != (double)(n_k - n_q + i))
            return 0;
    return 1;
}

static int faulty_knows(const struct faulty_call *c)
{
    const int attention = posref_plugin_word_is(c->call->op, "attention");
    const struct posref_plugin_tensor *q = posref_plugin_find(c->call, "q");
    const int shifts = faulty_with(c, "shift_without_mask") || faulty_with(c, "shift_drops_last");
    if (q->shape[q->rank - 1] > WIDTH || !faulty_side(c, "q_positions") ||
        !faulty_side(c, "k_positions"))
        return 0;
    if (faulty_is(c, "scheme", "shaw"))
        return !attention || !posref_plugin_find(c->call, "value_weights");
    if (faulty_is(c, "scheme", "transformer_xl"))
        return faulty_is(c, "relative_keys", "sinusoid") && (!shifts || is_sequence(c));
    if (faulty_is(c, "scheme", "learned"))
        return faulty_is(c, "beyond", "error") && faulty_number(c, "table_scale", 1) == 1;
    return faulty_is(c, "scheme", "sinusoidal") && faulty_is(c, "exponent", "d") &&
           !faulty_is(c, "order", "flipped") && faulty_number(c, "table_scale", 1) == 1 &&
           faulty_number(c, "min_timescale", 1) == 1 && !faulty_text(c, "odd_dim");
}

static void faulty_begin(struct scores *s)
{
    (void)s;
}
