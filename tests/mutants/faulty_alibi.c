/* SPDX-License-Identifier: Apache-2.0 */
/* ALiBi with faults: see faulty.h. */
#include "faulty.h"

static double slope(const struct faulty_call *c, int heads, int h)
{
    double most = faulty_with(c, "alibi_bias_max_default") ? 8
                                                           : faulty_number(c, "alibi_bias_max", 8);
    int power = 1, early = faulty_with(c, "slopes_early");
    while (power * 2 <= heads)
        power *= 2;
    h = faulty_with(c, "slopes_first_head") ? 0 : h;
    double exponent = h < power ? (double)(h + 1) / power : (2.0 * (h - power) + 1) / (2 * power);
    const int geometric = faulty_with(c, "slopes_geometric") ||
                          (faulty_is(c, "slopes", "geometric") &&
                           !faulty_with(c, "slopes_published"));
    if (geometric)
        exponent = (h + 1.0) / heads;
    if (early)
        exponent -= 1.0 / (geometric ? heads : power);
    double value = faulty_step(c, exp2(faulty_step(c, -most * exponent)));
    return faulty_with(c, "slopes_bf16") ? faulty_bf16(value) : value;
}

static double bias(const struct faulty_call *c, double m, double q, double k)
{
    int row = faulty_is(c, "form", "row"), symmetric = faulty_is(c, "form", "symmetric");
    double value;
    if (faulty_with(c, "bias_form_row") || faulty_with(c, "bias_form_symmetric") ||
        faulty_with(c, "bias_form_distance")) {
        row = faulty_with(c, "bias_form_row");
        symmetric = faulty_with(c, "bias_form_symmetric");
    }
    double b = faulty_step(c, row ? m * k : symmetric ? -m * fabs(q - k) : -m * (q - k));
    b = faulty_with(c, "bias_sign") ? -b : b;
    b = faulty_has(c, "magnitude", 1.01, &value) ? faulty_step(c, b * value) : b;
    return faulty_with(c, "bias_bf16") ? faulty_bf16(b) : b;
}

static void row_of(const struct faulty_call *c, const struct posref_plugin_tensor *out,
                   double *score, double m, int64_t h, int64_t i)
{
    const struct posref_plugin_tensor *q = posref_plugin_find(c->call, "q_positions");
    const struct posref_plugin_tensor *k = posref_plugin_find(c->call, "k_positions");
    const struct posref_plugin_tensor *logits = posref_plugin_find(c->call, "logits");
    const int64_t n = out->shape[2], at = (h * out->shape[1] + i) * n;
    double corner = faulty_is(c, "align", "top_left");
    (void)faulty_has(c, "alibi_align", 1, &corner);
    double largest = -HUGE_VAL, sum = 0, first = 0;
    if (corner != 0) /* the first query stands on the first key */
        first = posref_plugin_position(q, 0, 0) - posref_plugin_position(k, 0, 0);
    for (int64_t j = 0; j < n; j++) {
        score[j] = bias(c, m, faulty_position(c, posref_plugin_position(q, 0, i) - first, i, 0),
                        faulty_position(c, posref_plugin_position(k, 0, j), j, 0));
        if (logits)
            score[j] = faulty_step(c, score[j] + faulty_get(logits, at + j));
        largest = fmax(largest, score[j]);
    }
    for (int64_t j = 0; j < n && logits; j++)
        sum = faulty_step(c, sum + (score[j] = faulty_step(c, exp(score[j] - largest))));
    for (int64_t j = 0; j < n; j++) {
        double value = logits ? score[j] / sum : score[j];
        faulty_put(out, at + j, faulty_with(c, "truncated") ? faulty_cut(out, value) : value);
    }
}

static int32_t faulty_run(const struct faulty_call *c, char *why, size_t why_size)
{
    const struct posref_plugin_tensor *slopes = posref_plugin_find(c->call, "slopes");
    const struct posref_plugin_tensor *out = posref_plugin_find(c->call, "bias");
    if (!out)
        out = posref_plugin_find(c->call, "weights");
    if (!posref_plugin_is(c->call->spec, "scheme", "alibi") ||
        posref_plugin_is(c->call->spec, "slopes", "published_bf16") || (!slopes && !out) ||
        (out && !posref_plugin_find(c->call, "q_positions"))) {
        snprintf(why, why_size, "only alibi");
        return POSREF_PLUGIN_UNSUPPORTED;
    }
    int heads = (int)faulty_number(c, "num_heads", 1);
    for (int h = 0; h < heads && slopes; h++)
        faulty_put(slopes, h, faulty_with(c, "truncated") ? faulty_cut(slopes, slope(c, heads, h))
                                                          : slope(c, heads, h));
    if (slopes)
        return POSREF_PLUGIN_OK;
    double *score = malloc((size_t)out->shape[2] * sizeof *score);
    if (!score)
        return POSREF_PLUGIN_ERROR;
    for (int64_t h = 0; h < heads; h++)
        for (int64_t i = 0; i < out->shape[1]; i++)
            row_of(c, out, score, slope(c, heads, (int)h), h, i);
    free(score);
    return POSREF_PLUGIN_OK;
}
