/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention with faults: what is seen, the softmax, the outputs. A plugin defines the
 * terms of a score and what it knows: see faulty.h. Queries may share key heads. */
#ifndef POSREF_FAULTY_SCORES_H
#define POSREF_FAULTY_SCORES_H

#include "faulty_bias.h"

struct scores {
    const struct faulty_call *c;
    const struct posref_plugin_tensor *q, *k, *v, *mask, *at_q, *at_k;
    int64_t n_q, n_k, heads, key_heads, dim;
    double scale;
    double *q_own, *k_own; /* copies [n, heads, dim] that the plugin may change */
};

struct faulty_term {
    const char *name; /* of the output that has it alone; NULL: none */
    double value;     /* scaled, where it is */
};

/* The terms of one score, whose sum it is: how many. */
static int faulty_terms(struct faulty_term *out, const struct scores *s, int64_t h, int64_t i,
                        int64_t j);
static int faulty_knows(const struct faulty_call *c);
static void faulty_begin(struct scores *s); /* fills q_own and k_own otherwise than with q and k */

static double step(const struct scores *s, double x)
{
    return faulty_step(s->c, x);
}

static int has(const struct scores *s, const char *fault)
{
    return faulty_with(s->c, fault);
}

static double position(const struct scores *s, const struct posref_plugin_tensor *t, int64_t i)
{
    return faulty_position(s->c, posref_plugin_position(t, 0, i), i, 0);
}

static int64_t key_head(const struct scores *s, int64_t h, int64_t heads)
{
    return has(s, "heads_dealt") ? h % heads : h * heads / s->heads;
}

static const double *query_row(const struct scores *s, int64_t h, int64_t i)
{
    return s->q_own + (i * s->heads + h) * s->dim;
}

static const double *key_row(const struct scores *s, int64_t h, int64_t j)
{
    return s->k_own + (j * s->key_heads + key_head(s, h, s->key_heads)) * s->dim;
}

static double product(const struct scores *s, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t c = 0; c < s->dim; c++)
        sum = step(s, sum + x[c] * y[c]);
    return sum;
}

/* Row `row` of head h of a table [rows, dim], or [heads, rows, dim]. */
static void read_row(double *out, const struct scores *s, const char *name, int64_t h, int64_t row)
{
    const struct posref_plugin_tensor *t = posref_plugin_find(s->c->call, name);
    const int64_t rows = t->shape[t->rank - 2];
    const int64_t from = (t->rank == 3 ? faulty_table_head(s->c, h) * rows : 0) + row;
    for (int64_t c = 0; c < s->dim; c++)
        out[c] = faulty_get(t, from * s->dim + c);
}

/* ---- what is seen ---- */

static int choose_corner(const struct scores *s)
{
    static const char *const corners[] = {"bottom_right", "top_left", "position"};
    double value;
    if (faulty_has(s->c, "causal_align", 1, &value))
        return (int)value;
    for (int k = 0; k < 3; k++)
        if (faulty_is(s->c, "causal_align", corners[k]))
            return k;
    return 0;
}

static int sees(const struct scores *s, int64_t i, int64_t j)
{
    const int causal = faulty_is(s->c, "causal", "true"), corner = causal ? choose_corner(s) : 0;
    int open = 1;
    if (s->mask && !has(s, "mask_ignored") && !has(s, "mask_added"))
        open = (faulty_get(s->mask, i * s->n_k + j) != 0) != has(s, "mask_inverted");
    if (causal == has(s, "causal"))
        return open;
    if (corner == 2)
        return open &&
               posref_plugin_position(s->at_k, 0, j) <= posref_plugin_position(s->at_q, 0, i);
    return open && j <= i + (corner == 0 ? s->n_k - s->n_q : 0);
}

/* ---- scores and their softmax ---- */

static double score(const struct scores *s, int64_t h, int64_t i, int64_t j)
{
    struct faulty_term term[4] = {{NULL, 0}};
    double sum = 0;
    if (!sees(s, i, j))
        return -HUGE_VAL;
    for (int n = 0, count = faulty_terms(term, s, h, i, j); n < count; n++)
        sum = step(s, sum + term[n].value);
    /* Faults of no registry: what is said of them must not be a name. */
    if (has(s, "exotic_soft_cap"))
        sum = step(s, 2 * tanh(sum / 2));
    if (has(s, "exotic_even_keys") && j % 2 == 0)
        sum = step(s, sum + 0.5);
    if (has(s, "exotic_echo") && j > 0 && sees(s, i, j - 1)) {
        faulty_terms(term, s, h, i, j - 1);
        sum = step(s, sum + term[0].value / 8);
    }
    return s->mask && has(s, "mask_added") ? step(s, sum + faulty_get(s->mask, i * s->n_k + j))
                                           : sum;
}

/* What the weights of query i and key j are divided by. */
static double normaliser(const struct scores *s, int64_t h, const double *row, int64_t n, int64_t j)
{
    double sum = 0;
    if (!has(s, "softmax_over_queries")) {
        for (int64_t k = 0; k < n; k++)
            sum = step(s, sum + row[k]);
        return sum;
    }
    for (int64_t i = 0; i < s->n_q; i++)
        sum = step(s, sum + step(s, exp(score(s, h, i, j))));
    return sum;
}

static void attend(const struct scores *s, const struct posref_plugin_tensor *out, double *row)
{
    const int64_t width = out->shape[out->rank - 1];
    const int64_t value_heads = s->v->rank == 3 ? s->v->shape[1] : 1;
    const int64_t n = s->n_k - has(s, "last_key_skipped");
    for (int64_t i = 0; i < s->n_q; i++)
        for (int64_t h = 0; h < s->heads; h++) {
            double largest = -HUGE_VAL;
            for (int64_t j = 0; j < n; j++)
                largest = fmax(largest, row[j] = score(s, h, i, j));
            if (has(s, "softmax_over_queries"))
                largest = 0;
            for (int64_t j = 0; j < n; j++)
                row[j] = step(s, exp(row[j] - largest));
            for (int64_t j = 0; j < n; j++)
                row[s->n_k + j] = row[j] == 0 ? 0 : row[j] / normaliser(s, h, row, n, j);
            for (int64_t c = 0; c < width; c++) {
                double y = 0;
                for (int64_t j = 0; j < n; j++) {
                    const int64_t key = has(s, "exotic_next_value") ? (j + 1) % n : j;
                    const int64_t from = key * value_heads + key_head(s, h, value_heads);
                    y = step(s, y + row[s->n_k + j] * faulty_get(s->v, from * width + c));
                }
                faulty_put(out, (i * s->heads + h) * width + c, y);
            }
        }
}

/* The scores, or one of their terms. */
static void list(const struct scores *s, const struct posref_plugin_tensor *out)
{
    for (int64_t e = 0; e < faulty_count(out); e++) {
        const int64_t h = e / s->n_k / s->n_q, i = e / s->n_k % s->n_q, j = e % s->n_k;
        struct faulty_term term[4] = {{NULL, 0}};
        double value = score(s, h, i, j);
        for (int n = 0, count = faulty_terms(term, s, h, i, j); n < count; n++)
            if (term[n].name && strcmp(term[n].name, out->name) == 0)
                value = term[n].value;
        faulty_put(out, e, value);
    }
}

/* ---- the call ---- */

static int32_t compute(struct scores *s, const struct posref_plugin_tensor *out)
{
    const int64_t n_q = faulty_count(s->q), n_k = faulty_count(s->k);
    s->q_own = malloc((size_t)(n_q + n_k + 2 * s->n_k) * sizeof(double));
    if (!s->q_own)
        return POSREF_PLUGIN_ERROR;
    s->k_own = s->q_own + n_q;
    for (int64_t e = 0; e < n_q; e++)
        s->q_own[e] = faulty_get(s->q, e);
    for (int64_t e = 0; e < n_k; e++)
        s->k_own[e] = faulty_get(s->k, e);
    faulty_begin(s);
    if (out)
        attend(s, out, s->k_own + n_k);
    for (uint32_t t = 0; !out && t < s->c->call->n_tensors; t++)
        if (s->c->call->tensors[t]->access == POSREF_PLUGIN_OUT)
            list(s, s->c->call->tensors[t]);
    free(s->q_own);
    return POSREF_PLUGIN_OK;
}

static int32_t faulty_run(const struct faulty_call *c, char *why, size_t why_size)
{
    const int attention = posref_plugin_word_is(c->call->op, "attention");
    struct scores s = {.c = c, .q = posref_plugin_find(c->call, "q"),
                       .k = posref_plugin_find(c->call, "k"), .v = posref_plugin_find(c->call, "v"),
                       .mask = posref_plugin_find(c->call, "mask"),
                       .at_q = faulty_side(c, "q_positions"),
                       .at_k = faulty_side(c, "k_positions")};
    const struct posref_plugin_tensor *out = posref_plugin_find(c->call, "attention");
    snprintf(why, why_size, "only scores and attention of a few schemes");
    if (!s.q || !s.k || (!attention && !posref_plugin_word_is(c->call->op, "scores")) ||
        (attention && (!s.v || !out)) || !faulty_knows(c))
        return POSREF_PLUGIN_UNSUPPORTED;
    s.n_q = s.q->shape[0];
    s.n_k = s.k->shape[0];
    s.heads = s.q->rank == 3 ? s.q->shape[1] : 1;
    s.key_heads = s.k->rank == 3 ? s.k->shape[1] : 1;
    s.dim = s.q->shape[s.q->rank - 1];
    s.scale = has(&s, "softmax_scale_default") ? 0 : faulty_number(c, "softmax_scale", 0);
    s.scale = s.scale != 0 ? s.scale : 1 / sqrt((double)s.dim);
    return compute(&s, attention ? out : NULL);
}

#endif
