/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention with faults: see faulty.h. Of none, alibi, t5_bias, relative_bias and plain
 * rope of one axis; queries may share key heads. */
#include "faulty_bias.h"

struct scores {
    const struct faulty_call *c;
    const struct posref_plugin_tensor *q, *k, *v, *mask, *at_q, *at_k;
    int64_t n_q, n_k, heads, key_heads, dim;
    double scale;
    double *q_turned, *k_turned; /* [n, heads, dim] */
};

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

/* ---- rope ---- */

static void turn(double *out, const struct scores *s, const struct posref_plugin_tensor *x,
                 const struct posref_plugin_tensor *at, int bare)
{
    const int64_t rows = faulty_count(x) / s->dim, n = x->shape[0], half = s->dim / 2;
    const int rope = faulty_is(s->c, "scheme", "rope");
    const int halves = faulty_is(s->c, "pairing", "half") != has(s, "pairing");
    const double base = faulty_number(s->c, "base", 10000);
    for (int64_t e = 0; e < rows * s->dim; e++)
        out[e] = faulty_get(x, e);
    for (int64_t r = 0; rope && r < rows; r++)
        for (int64_t i = 0; i < half; i++) {
            double *a = out + r * s->dim + (halves ? i : 2 * i), *b = a + (halves ? half : 1);
            const double p = bare ? 0 : position(s, at, r / (rows / n)), u = *a, v = *b;
            const double angle = step(s, p * step(s, pow(base, -2.0 * (double)i / (double)s->dim)));
            *a = step(s, u * cos(angle) - v * sin(angle));
            *b = step(s, u * sin(angle) + v * cos(angle));
        }
}

/* ---- biases ---- */

static double alibi(const struct scores *s, int64_t h, double d, double key)
{
    const int heads = (int)faulty_number(s->c, "num_heads", 1);
    int power = 1;
    while (power * 2 <= heads)
        power *= 2;
    const double number = h < power ? (double)(h + 1) / power
                                    : (2.0 * (double)(h - power) + 1) / (2 * power);
    const double m = exp2(-faulty_number(s->c, "alibi_bias_max", 8) * number);
    return faulty_is(s->c, "form", "row") ? m * key
           : faulty_is(s->c, "form", "symmetric") ? -m * fabs(d) : -m * d;
}

static double bias(const struct scores *s, int64_t h, int64_t i, int64_t j)
{
    const double q = s->at_q ? position(s, s->at_q, i) : (double)(i + s->n_k - s->n_q);
    const double k = s->at_k ? position(s, s->at_k, j) : (double)j;
    double value = 0;
    if (faulty_is(s->c, "scheme", "alibi"))
        value = alibi(s, h, q - k, k);
    else if (faulty_is(s->c, "scheme", "t5_bias") || faulty_is(s->c, "scheme", "relative_bias"))
        value = faulty_weight(s->c, faulty_entry(s->c, &q, &k), h, s->heads);
    return step(s, has(s, "bias_scaled") ? value * s->scale : value);
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
    if (s->mask && !has(s, "mask_ignored"))
        open = (faulty_get(s->mask, i * s->n_k + j) != 0) != has(s, "mask_inverted");
    if (causal == has(s, "causal"))
        return open;
    if (corner == 2)
        return open &&
               posref_plugin_position(s->at_k, 0, j) <= posref_plugin_position(s->at_q, 0, i);
    return open && j <= i + (corner == 0 ? s->n_k - s->n_q : 0);
}

/* ---- scores and their softmax ---- */

static int64_t key_head(const struct scores *s, int64_t h, int64_t heads)
{
    return has(s, "heads_dealt") ? h % heads : h * heads / s->heads;
}

static double score(const struct scores *s, int64_t h, int64_t i, int64_t j)
{
    const double *q = s->q_turned + (i * s->heads + h) * s->dim;
    const double *k = s->k_turned + (j * s->key_heads + key_head(s, h, s->key_heads)) * s->dim;
    double sum = 0, scale = has(s, "softmax_scale_missing") ? 1 : s->scale;
    scale *= has(s, "softmax_scale_twice") ? s->scale : 1;
    if (!sees(s, i, j))
        return -HUGE_VAL;
    for (int64_t c = 0; c < s->dim; c++)
        sum = step(s, sum + q[c] * k[c]);
    return step(s, step(s, sum * scale) + bias(s, h, i, j));
}

static void attend(const struct scores *s, const struct posref_plugin_tensor *out, double *row)
{
    const int64_t width = out->shape[out->rank - 1];
    const int64_t value_heads = s->v->rank == 3 ? s->v->shape[1] : 1;
    for (int64_t i = 0; i < s->n_q; i++)
        for (int64_t h = 0; h < s->heads; h++) {
            double largest = -HUGE_VAL, sum = 0;
            for (int64_t j = 0; j < s->n_k; j++)
                largest = fmax(largest, row[j] = score(s, h, i, j));
            for (int64_t j = 0; j < s->n_k; j++)
                sum = step(s, sum + (row[j] = step(s, exp(row[j] - largest))));
            for (int64_t c = 0; c < width; c++) {
                double y = 0;
                for (int64_t j = 0; j < s->n_k; j++) {
                    const int64_t from = j * value_heads + key_head(s, h, value_heads);
                    y = step(s, y + row[j] / sum * faulty_get(s->v, from * width + c));
                }
                faulty_put(out, (i * s->heads + h) * width + c, y);
            }
        }
}

/* ---- the call ---- */

static int is_plain(const struct faulty_call *c)
{
    static const char *const schemes[] = {"none", "alibi", "t5_bias", "relative_bias", "rope"};
    int known = 0;
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++)
        known = known || faulty_is(c, "scheme", schemes[k]);
    const int rope = faulty_is(c, "scheme", "rope");
    const char *width = faulty_text(c, "rotary_dim");
    return known && !faulty_text(c, "temperature") && !faulty_text(c, "attention_kind") &&
           (!rope || (faulty_is(c, "scaling", "none") && faulty_is(c, "partial", "leading") &&
                      (faulty_is(c, "pairing", "half") || faulty_is(c, "pairing", "interleaved")) &&
                      faulty_is(c, "direction", "forward") && !faulty_text(c, "mrope_section") &&
                      !faulty_text(c, "axes_dims") && width &&
                      strtod(width, NULL) == faulty_number(c, "dim", 0))) &&
           !faulty_is(c, "align", "top_left") && !faulty_is(c, "slopes", "geometric") &&
           !faulty_is(c, "slopes", "published_bf16");
}

static int32_t compute(struct scores *s, const struct posref_plugin_tensor *out, int attention)
{
    const size_t rows = (size_t)faulty_count(s->q) + (size_t)faulty_count(s->k) + (size_t)s->n_k;
    s->q_turned = malloc(rows * sizeof(double));
    if (!s->q_turned)
        return POSREF_PLUGIN_ERROR;
    s->k_turned = s->q_turned + faulty_count(s->q);
    turn(s->q_turned, s, s->q, s->at_q, has(s, "queries_not_encoded"));
    turn(s->k_turned, s, s->k, s->at_k, has(s, "keys_not_encoded"));
    if (attention)
        attend(s, out, s->k_turned + faulty_count(s->k));
    for (int64_t e = 0; !attention && e < faulty_count(out); e++)
        faulty_put(out, e, score(s, e / s->n_k / s->n_q, e / s->n_k % s->n_q, e % s->n_k));
    free(s->q_turned);
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
    const struct posref_plugin_tensor *out = posref_plugin_find(c->call,
                                                                attention ? "attention" : "scores");
    snprintf(why, why_size, "only scores and attention of a few schemes");
    if (!s.q || !s.k || !out || (attention && !s.v) || !is_plain(c))
        return POSREF_PLUGIN_UNSUPPORTED;
    s.n_q = s.q->shape[0];
    s.n_k = s.k->shape[0];
    s.heads = s.q->rank == 3 ? s.q->shape[1] : 1;
    s.key_heads = s.k->rank == 3 ? s.k->shape[1] : 1;
    s.dim = s.q->shape[s.q->rank - 1];
    s.scale = has(&s, "softmax_scale_default") ? 0 : faulty_number(c, "softmax_scale", 0);
    s.scale = s.scale != 0 ? s.scale : 1 / sqrt((double)s.dim);
    return compute(&s, out, attention);
}
