/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention with faults: see faulty_scores.h. Of none, alibi, t5_bias, relative_bias and
 * rope of one axis, plain or under yarn. */
#include "faulty_scores.h"

/* ---- yarn ---- */

static int is_yarn(const struct faulty_call *c)
{
    return faulty_is(c, "scheme", "rope") && faulty_is(c, "scaling", "yarn");
}

static double logarithmic(const struct faulty_call *c, double m)
{
    return 0.1 * m * log(faulty_number(c, "factor", 1)) + 1;
}

/* What cosines and sines are multiplied by. */
static double table_factor(const struct faulty_call *c)
{
    const double m = faulty_number(c, "mscale", 0), all = faulty_number(c, "mscale_all_dim", 0);
    if (!is_yarn(c) || faulty_is(c, "mscale_rule", "none"))
        return 1;
    return m != 0 && all != 0 ? logarithmic(c, m) / logarithmic(c, all) : logarithmic(c, 1);
}

/* What the softmax scale is multiplied by. */
static double softmax_factor(const struct faulty_call *c)
{
    const int own = faulty_is(c, "softmax_scale_from", "mla_mscale");
    if (!is_yarn(c) || (!own && !faulty_is(c, "softmax_scale_from", "mla")) ||
        faulty_with(c, "mla_scale_missing"))
        return 1;
    const double m = logarithmic(c, faulty_number(c, own ? "mscale" : "mscale_all_dim", 1));
    return m * m;
}

/* The pair that turns `turns` times within the original length. */
static double pair_of(const struct scores *s, double turns)
{
    const double length = faulty_number(s->c, "original_max_position_embeddings", 4096);
    return (double)s->dim * log(length / (turns * 6.283185307179586)) /
           (2 * log(faulty_number(s->c, "base", 10000)));
}

static double frequency(const struct scores *s, int64_t i)
{
    const double base = faulty_number(s->c, "base", 10000);
    const double theta = step(s, pow(base, -2.0 * (double)i / (double)s->dim));
    if (!is_yarn(s->c))
        return theta;
    const double low = fmax(floor(pair_of(s, faulty_number(s->c, "beta_fast", 32))), 0);
    const double high = fmin(ceil(pair_of(s, faulty_number(s->c, "beta_slow", 1))),
                             (double)s->dim - 1);
    const double divided = fmin(fmax(((double)i - low) / (high - low), 0), 1);
    return step(s, theta * (1 - divided) + theta / faulty_number(s->c, "factor", 1) * divided);
}

/* ---- rope ---- */

static void turn(double *out, const struct scores *s, const struct posref_plugin_tensor *x,
                 const struct posref_plugin_tensor *at, int bare)
{
    const int64_t rows = faulty_count(x) / s->dim, n = x->shape[0], half = s->dim / 2;
    const int rope = faulty_is(s->c, "scheme", "rope");
    const int halves = faulty_is(s->c, "pairing", "half") != has(s, "pairing");
    const double factor = table_factor(s->c);
    for (int64_t r = 0; rope && r < rows; r++)
        for (int64_t i = 0; i < half; i++) {
            double *a = out + r * s->dim + (halves ? i : 2 * i), *b = a + (halves ? half : 1);
            const double p = bare ? 0 : position(s, at, r / (rows / n)), u = *a, v = *b;
            const double angle = step(s, p * frequency(s, i));
            *a = step(s, factor * (u * cos(angle) - v * sin(angle)));
            *b = step(s, factor * (u * sin(angle) + v * cos(angle)));
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

static int faulty_terms(struct faulty_term *out, const struct scores *s, int64_t h, int64_t i,
                        int64_t j)
{
    double scale = has(s, "softmax_scale_missing") ? 1 : s->scale;
    scale *= has(s, "softmax_scale_twice") ? s->scale : 1;
    if (has(s, "softmax_scale_model_width") && !faulty_text(s->c, "softmax_scale"))
        scale /= sqrt((double)s->heads);
    out[0].value = step(s, product(s, query_row(s, h, i), key_row(s, h, j)) * scale);
    out[1].value = bias(s, h, i, j);
    return 2;
}

/* ---- the call ---- */

static int faulty_knows(const struct faulty_call *c)
{
    static const char *const schemes[] = {"none", "alibi", "t5_bias", "relative_bias", "rope"};
    int known = 0;
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++)
        known = known || faulty_is(c, "scheme", schemes[k]);
    const int rope = faulty_is(c, "scheme", "rope");
    const char *width = faulty_text(c, "rotary_dim");
    return known && !faulty_text(c, "temperature") && !faulty_text(c, "attention_kind") &&
           (!rope || ((faulty_is(c, "scaling", "none") || is_yarn(c)) &&
                      faulty_is(c, "partial", "leading") && !faulty_text(c, "range_rule") &&
                      (faulty_is(c, "pairing", "half") || faulty_is(c, "pairing", "interleaved")) &&
                      faulty_is(c, "direction", "forward") && !faulty_text(c, "mrope_section") &&
                      !faulty_text(c, "axes_dims") && width &&
                      strtod(width, NULL) == faulty_number(c, "dim", 0))) &&
           !faulty_is(c, "align", "top_left") && !faulty_is(c, "slopes", "geometric") &&
           !faulty_is(c, "slopes", "published_bf16");
}

static void faulty_begin(struct scores *s)
{
    s->scale *= softmax_factor(s->c);
    turn(s->q_own, s, s->q, s->at_q, has(s, "queries_not_encoded"));
    turn(s->k_own, s, s->k, s->at_k, has(s, "keys_not_encoded"));
}
