/* SPDX-License-Identifier: Apache-2.0 */
/* Biases with faults: see faulty.h. Ops index and bias of t5_bias, relative_bias, swin,
 * kerple, fire and sandwich. */
#include "faulty_bias.h"

struct site {
    const struct faulty_call *c;
    double q[2], k[2];
    int64_t h, heads;
};

static int64_t window_entry(const struct site *s)
{
    const struct faulty_call *c = s->c;
    const char *text = faulty_text(c, "window_size");
    char *end;
    int64_t size[2] = {strtol(text, &end, 10), 0};
    size[1] = *end == ',' ? strtol(end + 1, NULL, 10) : size[0];
    const int64_t y = (int64_t)(s->q[0] - s->k[0]) + size[0] - 1;
    const int64_t x = (int64_t)(s->q[1] - s->k[1]) + size[1] - 1;
    return faulty_with(c, "window_exchanged") ? x * (2 * size[0] - 1) + y
                                              : y * (2 * size[1] - 1) + x;
}

static int64_t entry_of(const struct site *s)
{
    return faulty_is(s->c, "scheme", "swin") ? window_entry(s) : faulty_entry(s->c, s->q, s->k);
}

static double step(const struct site *s, double x)
{
    return faulty_step(s->c, x);
}

/* ---- functions of the distance ---- */

static double kerple(const struct site *s)
{
    const int swap = faulty_with(s->c, "parameters_exchanged");
    const int64_t h = faulty_table_head(s->c, s->h);
    const double r1 = faulty_get(posref_plugin_find(s->c->call, swap ? "r2" : "r1"), h);
    const double r2 = faulty_get(posref_plugin_find(s->c->call, swap ? "r1" : "r2"), h);
    const double n = step(s, fabs(s->q[0] - s->k[0]));
    const int power = faulty_is(s->c, "kernel", "power") && !faulty_with(s->c, "kernel");
    return -faulty_term_factor(s->c) *
           step(s, r1 * step(s, power ? pow(n, r2) : log1p(step(s, r2 * n))));
}

static double psi(const struct site *s, double x)
{
    return step(s, log1p(step(s, faulty_number(s->c, "log_scale", 1) * x)));
}

static double fire(const struct site *s)
{
    const struct posref_plugin_call *call = s->c->call;
    const struct posref_plugin_tensor *w1 = posref_plugin_find(call, "w1");
    const struct posref_plugin_tensor *b1 = posref_plugin_find(call, "b1");
    const struct posref_plugin_tensor *w2 = posref_plugin_find(call, "w2");
    const double threshold = faulty_number(s->c, "threshold", 1);
    const int64_t n = faulty_count(b1);
    const double from = faulty_with(s->c, "threshold_ignored") ? fmax(1, s->q[0])
                                                               : fmax(threshold, s->q[0]);
    const double by = psi(s, from) + faulty_number(s->c, "epsilon", 0);
    const double x = step(s, psi(s, fabs(s->q[0] - s->k[0])) / by);
    const int64_t h = faulty_table_head(s->c, s->h);
    double sum = faulty_get(posref_plugin_find(call, "b2"), h);
    for (int64_t j = 0; j < n; j++) {
        const double y = step(s, faulty_get(w1, j) * x + faulty_get(b1, j));
        sum = step(s, sum + faulty_get(w2, h * n + j) * fmax(y, 0));
    }
    return faulty_term_factor(s->c) * sum;
}

static double sandwich(const struct site *s)
{
    const int dim = (int)faulty_number(s->c, "dim", 2);
    const double base = faulty_number(s->c, "base", 10000);
    double sum = 0;
    for (int i = 1; i <= dim / 2; i++)
        sum += cos((s->q[0] - s->k[0]) * pow(base, -2.0 * i / dim)) - 1;
    return step(s, sum / (8.0 * (double)(s->h + 1) / (double)s->heads));
}

static double bias_of(const struct site *s)
{
    const double value = faulty_is(s->c, "scheme", "kerple")     ? kerple(s)
                         : faulty_is(s->c, "scheme", "fire")     ? fire(s)
                         : faulty_is(s->c, "scheme", "sandwich") ? sandwich(s)
                                                                 : faulty_weight(s->c, entry_of(s),
                                                                                 s->h, s->heads);
    /* A fault of no registry: a quarter of what the next head has. */
    if (faulty_with(s->c, "exotic_next_head") && s->heads > 1 && faulty_text(s->c, "num_buckets"))
        return value + faulty_weight(s->c, entry_of(s), (s->h + 1) % s->heads, s->heads) / 4;
    return faulty_with(s->c, "bias_negated") ? -value : value;
}

/* ---- outputs ---- */

static void fill(const struct faulty_call *c, const struct posref_plugin_tensor *out,
                 const struct posref_plugin_tensor *q, const struct posref_plugin_tensor *k)
{
    const int64_t n_q = q->shape[q->rank - 1], n_k = k->shape[k->rank - 1];
    const int transposed = faulty_with(c, "index_transposed") && n_q == n_k;
    struct site s = {.c = c, .heads = out->rank > 2 ? out->shape[0] : 1};
    for (int64_t e = 0; e < faulty_count(out); e++) {
        const int64_t row = e / n_k % n_q, column = e % n_k;
        const int64_t i = transposed ? column : row, j = transposed ? row : column;
        s.h = e / n_k / n_q;
        for (uint32_t axis = 0; axis < (q->rank > 1 ? 2 : 1); axis++) {
            s.q[axis] = faulty_position(c, posref_plugin_position(q, axis, i), i, 0);
            s.k[axis] = faulty_position(c, posref_plugin_position(k, axis, j), j, 0);
        }
        if (out->rank == 2)
            ((int64_t *)out->data)[e] = entry_of(&s);
        else
            faulty_put(out, e, bias_of(&s));
    }
}

static int32_t faulty_run(const struct faulty_call *c, char *why, size_t why_size)
{
    static const char *const schemes[] = {"t5_bias", "relative_bias", "swin", "kerple", "fire",
                                          "sandwich"};
    const struct posref_plugin_tensor *q = faulty_side(c, "q_positions");
    const struct posref_plugin_tensor *k = faulty_side(c, "k_positions");
    int known = 0;
    for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++)
        known = known || faulty_is(c, "scheme", schemes[s]);
    const char *name = posref_plugin_word_is(c->call->op, "bias")      ? "bias"
                       : !posref_plugin_word_is(c->call->op, "index")  ? ""
                       : faulty_is(c, "scheme", "t5_bias") ? "buckets" : "index";
    const struct posref_plugin_tensor *out = posref_plugin_find(c->call, name);
    if (!known || !out || !q || !k) {
        snprintf(why, why_size, "only index and bias");
        return POSREF_PLUGIN_UNSUPPORTED;
    }
    fill(c, out, q, k);
    return POSREF_PLUGIN_OK;
}
