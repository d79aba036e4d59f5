/* SPDX-License-Identifier: Apache-2.0 */
/* Rope with faults: see faulty.h. */
#include "faulty.h"

#define TAU 6.283185307179586
#define MAX_PAIRS 8192

struct rope {
    const struct faulty_call *c;
    int dim, pairs, half, inverse;
    double base, magnitude;
    double freq[MAX_PAIRS];
};

static double step(const struct rope *r, double x)
{
    return faulty_step(r->c, x);
}

static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static void yarn(struct rope *r, double factor)
{
    const struct faulty_call *c = r->c;
    double length = faulty_number(c, "original_max_position_embeddings", 4096), ends[2];
    const int width = 2 * r->pairs;
    for (int end = 0; end < 2; end++)
        ends[end] = width * log(length / (TAU * faulty_number(c, end ? "beta_slow" : "beta_fast",
                                                               end ? 1 : 32))) / (2 * log(r->base));
    if (!faulty_is(c, "truncate", "false")) {
        ends[0] = floor(ends[0]);
        ends[1] = ceil(ends[1]);
    }
    ends[0] = ends[0] < 0 ? 0 : ends[0];
    ends[1] = ends[1] > width - 1 ? width - 1 : ends[1];
    double span = ends[1] == ends[0] ? 0.001 : ends[1] - ends[0];
    for (int i = 0; i < r->pairs; i++) {
        double t = step(r, clamp01((i - ends[0]) / span));
        r->freq[i] = step(r, step(r, r->freq[i] / factor) * t + r->freq[i] * (1 - t));
    }
    double usual = factor > 1 ? 0.1 * log(factor) : 0;
    double one = faulty_number(c, "mscale", 0), all = faulty_number(c, "mscale_all_dim", 0);
    double ratio = one != 0 && all != 0 ? (1 + one * usual) / (1 + all * usual) : 1 + usual;
    r->magnitude = step(r, faulty_number(c, "attention_factor", ratio));
}

static void llama3(struct rope *r, double factor)
{
    const struct faulty_call *c = r->c;
    double length = faulty_number(c, "original_max_position_embeddings", 8192);
    double low = faulty_number(c, "low_freq_factor", 1);
    double high = faulty_number(c, "high_freq_factor", 4);
    for (int i = 0; i < r->pairs; i++) {
        double wavelength = TAU / r->freq[i];
        if (wavelength < length / high)
            continue;
        double smooth = (length / wavelength - low) / (high - low);
        if (wavelength > length / low)
            r->freq[i] = step(r, r->freq[i] / factor);
        else
            r->freq[i] = step(r, (1 - smooth) * r->freq[i] / factor + smooth * r->freq[i]);
    }
}

static int frequencies(struct rope *r)
{
    const struct faulty_call *c = r->c;
    double factor = faulty_number(c, "factor", 1), base = r->base;
    const int width = 2 * r->pairs;
    if (faulty_is(c, "scaling", "ntk"))
        base *= pow(factor, width / (width - 2.0));
    for (int i = 0; i < r->pairs; i++)
        r->freq[i] = step(r, 1 / step(r, pow(base, step(r, 2.0 * i / width))));
    r->magnitude = 1;
    if (faulty_is(c, "scaling", "linear"))
        for (int i = 0; i < r->pairs; i++)
            r->freq[i] = step(r, r->freq[i] / factor);
    else if (faulty_is(c, "scaling", "yarn"))
        yarn(r, factor);
    else if (faulty_is(c, "scaling", "llama3"))
        llama3(r, factor);
    else
        return faulty_is(c, "scaling", "none") || faulty_is(c, "scaling", "ntk");
    return 1;
}

static void give_frequencies(const struct rope *r)
{
    const struct posref_plugin_tensor *f = posref_plugin_find(r->c->call, "inv_freq");
    const struct posref_plugin_tensor *a = posref_plugin_find(r->c->call, "attention_factor");
    for (int i = 0; i < r->pairs; i++)
        faulty_put(f, i, r->freq[i]);
    faulty_put(a, 0, r->magnitude);
}

static void trig(const struct rope *r, double *cosine, double *sine, double position, int i)
{
    double angle = step(r, step(r, position) * r->freq[i]);
    *cosine = step(r, r->magnitude * step(r, cos(angle)));
    *sine = step(r, r->magnitude * step(r, sin(angle)));
}

static void give_table(const struct rope *r)
{
    const struct posref_plugin_tensor *c = posref_plugin_find(r->c->call, "cos");
    const struct posref_plugin_tensor *s = posref_plugin_find(r->c->call, "sin");
    const struct posref_plugin_tensor *p = posref_plugin_find(r->c->call, "positions");
    for (int64_t n = 0; n < p->shape[0]; n++)
        for (int i = 0; i < r->pairs; i++) {
            double cosine, sine;
            trig(r, &cosine, &sine, posref_plugin_position(p, 0, n), i);
            faulty_put(c, n * r->pairs + i, cosine);
            faulty_put(s, n * r->pairs + i, sine);
        }
}

static void rotate(const struct rope *r)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(r->c->call, "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(r->c->call, "y");
    const struct posref_plugin_tensor *p = posref_plugin_find(r->c->call, "positions");
    const int64_t rows = faulty_count(x) / r->dim, heads = rows / p->shape[0];
    for (int64_t row = 0; row < rows; row++) {
        const int64_t at = row * r->dim;
        memcpy((char *)y->data + (size_t)at * posref_plugin_dtype_size(y->dtype),
               (const char *)x->data + (size_t)at * posref_plugin_dtype_size(x->dtype),
               (size_t)r->dim * posref_plugin_dtype_size(x->dtype));
        for (int i = 0; i < r->pairs; i++) {
            int64_t a = at + (r->half ? i : 2 * i), b = at + (r->half ? i + r->pairs : 2 * i + 1);
            double cosine, sine, u = faulty_get(x, a), v = faulty_get(x, b);
            trig(r, &cosine, &sine, posref_plugin_position(p, 0, row / heads), i);
            if (r->inverse)
                sine = -sine;
            faulty_put(y, a, step(r, step(r, u * cosine) - step(r, v * sine)));
            faulty_put(y, b, step(r, step(r, u * sine) + step(r, v * cosine)));
        }
    }
}

static int32_t faulty_run(const struct faulty_call *c, char *why, size_t why_size)
{
    static struct rope r;
    memset(&r, 0, sizeof r);
    r.c = c;
    if (!posref_plugin_is(c->call->spec, "scheme", "rope")) {
        snprintf(why, why_size, "only rope");
        return POSREF_PLUGIN_UNSUPPORTED;
    }
    r.dim = (int)strtol(posref_plugin_value(c->call->spec, "dim", "0"), NULL, 10);
    r.pairs = (int)faulty_number(c, "rotary_dim", r.dim) / 2;
    r.half = faulty_is(c, "pairing", "half");
    r.inverse = faulty_is(c, "direction", "inverse");
    r.base = faulty_number(c, "base", 10000);
    if (r.pairs > MAX_PAIRS || !frequencies(&r)) {
        snprintf(why, why_size, "this scaling is not implemented");
        return POSREF_PLUGIN_UNSUPPORTED;
    }
    if (posref_plugin_word_is(c->call->op, "frequencies"))
        give_frequencies(&r);
    else if (posref_plugin_word_is(c->call->op, "table"))
        give_table(&r);
    else if (posref_plugin_word_is(c->call->op, "rotate"))
        rotate(&r);
    else
        return POSREF_PLUGIN_UNSUPPORTED;
    return POSREF_PLUGIN_OK;
}
