/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal tables with faults: see faulty.h. Even widths; the paper's and tensor2tensor's
 * tables. */
#include "faulty.h"

static double exponent(const struct faulty_call *c, int j, int dim, int is_d)
{
    int i = j / 2;
    if (faulty_with(c, "exponent_per_channel"))
        return 2.0 * j / dim;
    if (faulty_with(c, "cosine_half_step"))
        return (double)j / (is_d ? dim : dim - 2);
    if (faulty_with(c, "theta_one"))
        return 0;
    if (faulty_with(c, "exponent_half_step"))
        return (2.0 * i + 1) / (is_d ? dim : dim - 2);
    if (faulty_with(c, "exponent_short"))
        return 2.0 * i / (is_d ? dim - 2 : dim - 4);
    return 2.0 * i / (is_d ? dim : dim - 2);
}

/* Channel j counts sines and cosines in turn, whatever the order of the table. */
static double wave(const struct faulty_call *c, double position, int j, int dim)
{
    double value, base = faulty_number(c, "base", 10000);
    int is_d = faulty_is(c, "exponent", "d") != faulty_with(c, "exponent");
    if (faulty_has(c, "base", 20000, &value))
        base = value;
    const double from = faulty_with(c, "min_timescale_ignored")
                            ? 1 : faulty_number(c, "min_timescale", 1);
    const double e = faulty_step(c, exponent(c, j, dim, is_d));
    double theta = faulty_step(c, from * faulty_step(c, pow(base / from, -e)));
    if (faulty_with(c, "exponent_and_base_exchanged"))
        theta = faulty_step(c, pow(e, faulty_step(c, 1 / base)));
    theta = faulty_with(c, "theta_inverse") ? faulty_step(c, 1 / theta) : theta;
    theta = faulty_has(c, "theta_scaled", 1.5, &value) ? faulty_step(c, theta * value) : theta;
    theta = faulty_with(c, "theta_bf16") ? faulty_bf16(theta) : theta;
    theta = faulty_with(c, "theta_f16") ? faulty_f16(theta) : theta;
    double angle = faulty_step(c, faulty_step(c, position) * theta);
    angle = faulty_with(c, "angle_f16") ? faulty_f16(angle) : angle;
    angle = faulty_with(c, "angle_bf16") ? faulty_bf16(angle) : angle;
    int cosine = (j % 2) != faulty_with(c, "sine_cosine_exchanged");
    double result = faulty_step(c, cosine ? cos(angle) : sin(angle));
    if (faulty_has(c, "magnitude", 1.01, &value))
        result = faulty_step(c, result * value);
    result = faulty_with(c, "table_bf16") ? faulty_bf16(result) : result;
    return faulty_with(c, "table_f16") ? faulty_f16(result) : result;
}

static int place(const struct faulty_call *c, int j, int dim)
{
    int concat = faulty_is(c, "order", "concat"), flipped = faulty_is(c, "order", "flipped");
    if (faulty_with(c, "order")) {
        concat = !concat && !flipped;
        flipped = 0;
    }
    if (!concat && !flipped)
        return j;
    return (j % 2 != flipped ? dim / 2 : 0) + j / 2;
}

static int is_plain(const struct faulty_call *c)
{
    const char *spec = c->call->spec;
    int dim = (int)strtol(posref_plugin_value(spec, "dim", "1"), NULL, 10);
    return posref_plugin_is(spec, "scheme", "sinusoidal") && dim % 2 == 0 && dim > 4 &&
           !posref_plugin_value(spec, "axes_dims", NULL) &&
           strtod(posref_plugin_value(spec, "table_scale", "1"), NULL) == 1 &&
           !posref_plugin_is(spec, "x_scale", "sqrt_dim") &&
           !posref_plugin_find(c->call, "mask");
}

static int32_t faulty_run(const struct faulty_call *c, char *why, size_t why_size)
{
    const struct posref_plugin_tensor *p = posref_plugin_find(c->call, "positions");
    const struct posref_plugin_tensor *x = posref_plugin_find(c->call, "x");
    const struct posref_plugin_tensor *out = posref_plugin_find(c->call, x ? "y" : "table");
    if (!is_plain(c) || !p || !out) {
        snprintf(why, why_size, "only plain sinusoidal tables");
        return POSREF_PLUGIN_UNSUPPORTED;
    }
    int dim = (int)strtol(posref_plugin_value(c->call->spec, "dim", "0"), NULL, 10);
    int64_t n = p->shape[0], heads = faulty_count(out) / n / dim;
    for (int64_t row = 0; row < n * heads; row++)
        for (int j = 0; j < dim; j++) {
            int64_t k = row * dim + place(c, j, dim);
            double at = posref_plugin_position(p, 0, row / heads);
            if (!faulty_with(c, "offset_ignored"))
                at += faulty_number(c, "offset", 0);
            double value = wave(c, faulty_position(c, at, row / heads, 0), j, dim);
            value = x ? faulty_step(c, faulty_get(x, k) + value) : value;
            faulty_put(out, k, faulty_with(c, "truncated") ? faulty_cut(out, value) : value);
        }
    if (faulty_with(c, "last_rows_exchanged"))
        faulty_exchange(out, n, heads * dim);
    return POSREF_PLUGIN_OK;
}
