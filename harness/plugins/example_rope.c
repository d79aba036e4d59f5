/* SPDX-License-Identifier: Apache-2.0 */
/* An example of a plugin: every op, every dtype, in plain C that computes in double and rounds
 * once. It shares no code with posref. docs/plugin.md walks through a smaller one.
 *
 * --config pairing=swapped pairs the channels of rope the other way, to see a failure explained. */
#include "../posref_plugin.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.283185307179586476925

/* ---- elements of any dtype ---- */

static double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 0    ? ldexp(fraction, -24)
                  : exponent == 31 ? (fraction ? nan("") : HUGE_VAL)
                                   : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

static uint16_t double_to_half(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double size = fabs(x);
    if (isnan(x))
        return 0x7E00;
    if (size >= 65520) /* halfway from the largest half to the next power of two */
        return (uint16_t)(sign | 0x7C00);
    /* nearbyint rounds to nearest even; a carry out of the fraction lands in the exponent. */
    if (size < 0x1p-14)
        return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(size, 24)));
    int exponent = ilogb(size);
    int fraction = (int)nearbyint(ldexp(size, 10 - exponent)) - 1024;
    return (uint16_t)(sign | (((exponent + 15) << 10) + fraction));
}

static double bf16_to_double(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

static uint16_t double_to_bf16(double x)
{
    float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(x))
        return 0x7FC0;
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* The two of 8 bits: f8e4m3 has a fraction of 3 bits, bias 7 and no infinities, f8e5m2 2 and 15. */
static double float8_to_double(uint8_t bits, uint32_t dtype)
{
    if (dtype == POSREF_PLUGIN_F8E5M2)
        return half_to_double((uint16_t)(bits << 8));
    int exponent = bits >> 3 & 15, fraction = bits & 7;
    double size = (bits & 127) == 127 ? nan("")
                  : exponent == 0     ? ldexp(fraction, -9)
                                      : ldexp(8 + fraction, exponent - 10);
    return bits & 128 ? -size : size;
}

static uint8_t double_to_float8(double x, uint32_t dtype)
{
    const int is_e4m3 = dtype == POSREF_PLUGIN_F8E4M3;
    const int fraction_bits = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15, end = is_e4m3 ? 127 : 124;
    int sign = signbit(x) ? 128 : 0, exponent = x == 0 || isinf(x) ? 1 - bias : ilogb(x);
    if (isnan(x) || isinf(x))
        return (uint8_t)(sign | (isnan(x) ? 127 : end));
    if (exponent < 1 - bias)
        exponent = 1 - bias; /* subnormal */
    /* The carry of a fraction that rounds up goes into the exponent, as in double_to_half. */
    double code = nearbyint(ldexp(fabs(x), fraction_bits - exponent)) +
                  ldexp(exponent + bias - 1, fraction_bits);
    return (uint8_t)(sign | (code < end ? (int)code : end));
}

static double get(const void *at, uint32_t dtype)
{
    switch (dtype) {
    case POSREF_PLUGIN_F64: return *(const double *)at;
    case POSREF_PLUGIN_F32: return (double)*(const float *)at;
    case POSREF_PLUGIN_F16: return half_to_double(*(const uint16_t *)at);
    case POSREF_PLUGIN_F8E4M3:
    case POSREF_PLUGIN_F8E5M2: return float8_to_double(*(const uint8_t *)at, dtype);
    default: return bf16_to_double(*(const uint16_t *)at);
    }
}

static void put(void *at, uint32_t dtype, double x)
{
    switch (dtype) {
    case POSREF_PLUGIN_F64: *(double *)at = x; break;
    case POSREF_PLUGIN_F32: *(float *)at = (float)x; break;
    case POSREF_PLUGIN_F16: *(uint16_t *)at = double_to_half(x); break;
    case POSREF_PLUGIN_F8E4M3:
    case POSREF_PLUGIN_F8E5M2: *(uint8_t *)at = double_to_float8(x, dtype); break;
    default: *(uint16_t *)at = double_to_bf16(x); break;
    }
}

/* A channel that is not touched is copied bit for bit. */
static void copy(const struct posref_plugin_tensor *to, const struct posref_plugin_tensor *from,
                 int64_t i, int64_t j, int64_t k)
{
    memcpy(posref_plugin_at(to, i, j, k), posref_plugin_at(from, i, j, k),
           posref_plugin_dtype_size(to->dtype));
}

/* ---- the call ---- */

struct setting {
    bool swapped;
};

struct job {
    const struct posref_plugin_call *call;
    bool rope, half, inverse, concat;
    int dim, pairs;
    double base, attention_factor;
    double *inv_freq;
};

static double number(const struct job *job, const char *key, double missing)
{
    const char *text = posref_plugin_value(job->call->spec, key, NULL);
    return text ? strtod(text, NULL) : missing;
}

static bool is(const struct job *job, const char *key, const char *value)
{
    return posref_plugin_is(job->call->spec, key, value);
}

static void yarn(struct job *job, double factor)
{
    double length = number(job, "original_max_position_embeddings", 0), r = 2 * job->pairs;
    double range[2];
    for (int end = 0; end < 2; end++)
        range[end] = r * log(length / (TWO_PI * number(job, end ? "beta_slow" : "beta_fast", 1))) /
                     (2 * log(job->base));
    if (!is(job, "truncate", "false")) {
        range[0] = floor(range[0]);
        range[1] = ceil(range[1]);
    }
    range[0] = fmax(range[0], 0);
    range[1] = fmin(range[1], r - 1);
    if (range[0] == range[1])
        range[1] += 0.001;
    for (int i = 0; i < job->pairs; i++) {
        double t = fmin(fmax((i - range[0]) / (range[1] - range[0]), 0), 1);
        job->inv_freq[i] *= t / factor + (1 - t);
    }
    double mscale = number(job, "mscale", 0), all_dim = number(job, "mscale_all_dim", 0);
    double step = factor > 1 ? 0.1 * log(factor) : 0;
    bool both = mscale != 0 && all_dim != 0;
    job->attention_factor = number(job, "attention_factor",
                                   both ? (1 + mscale * step) / (1 + all_dim * step) : 1 + step);
}

static void llama3(struct job *job, double factor)
{
    double length = number(job, "original_max_position_embeddings", 0);
    double low = number(job, "low_freq_factor", 1), high = number(job, "high_freq_factor", 4);
    for (int i = 0; i < job->pairs; i++) {
        double turns = length * job->inv_freq[i] / TWO_PI;
        double keep = turns >= high ? 1 : turns <= low ? 0 : (turns - low) / (high - low);
        job->inv_freq[i] *= (1 - keep) / factor + keep;
    }
}

/* false: a scaling that is not known here. */
static bool fill_frequencies(struct job *job)
{
    double factor = number(job, "factor", 1), base = job->base, r = 2 * job->pairs;
    bool known = !job->rope || is(job, "scaling", "none");
    if (job->rope && is(job, "scaling", "ntk")) {
        base *= pow(factor, r / (r - 2));
        known = true;
    }
    double steps = is(job, "exponent", "half_minus_one") ? job->pairs - 1.0 : job->pairs;
    for (int i = 0; i < job->pairs; i++)
        job->inv_freq[i] = pow(base, -i / steps);
    if (known)
        return true;
    if (is(job, "scaling", "linear"))
        for (int i = 0; i < job->pairs; i++)
            job->inv_freq[i] /= factor;
    else if (is(job, "scaling", "yarn"))
        yarn(job, factor);
    else if (is(job, "scaling", "llama3"))
        llama3(job, factor);
    else
        return false;
    return true;
}

/* ---- ops of rope and sinusoidal ---- */

static void frequencies(const struct job *job)
{
    const struct posref_plugin_tensor *out = posref_plugin_find(job->call, "inv_freq");
    for (int i = 0; i < job->pairs; i++)
        put(posref_plugin_at(out, i, 0, 0), out->dtype, job->inv_freq[i]);
    out = posref_plugin_find(job->call, "attention_factor");
    put(out->data, out->dtype, job->attention_factor);
}

/* Where sinusoidal puts sine and cosine i. */
static int sine_at(const struct job *job, int i) { return job->concat ? i : 2 * i; }
static int cosine_at(const struct job *job, int i)
{
    return job->concat ? i + job->pairs : 2 * i + 1;
}

static void table(const struct job *job)
{
    const struct posref_plugin_tensor *positions = posref_plugin_find(job->call, "positions");
    const struct posref_plugin_tensor *both = posref_plugin_find(job->call, "table");
    const struct posref_plugin_tensor *cosines = both, *sines = both;
    if (job->rope) {
        cosines = posref_plugin_find(job->call, "cos");
        sines = posref_plugin_find(job->call, "sin");
    }
    for (int64_t n = 0; n < positions->shape[0]; n++)
        for (int i = 0; i < job->pairs; i++) {
            double angle = posref_plugin_position(positions, 0, n) * job->inv_freq[i];
            int64_t c = job->rope ? i : cosine_at(job, i), s = job->rope ? i : sine_at(job, i);
            put(posref_plugin_at(cosines, n, c, 0), cosines->dtype,
                job->attention_factor * cos(angle));
            put(posref_plugin_at(sines, n, s, 0), sines->dtype,
                job->attention_factor * sin(angle));
        }
}

static void rotate_row(const struct job *job, const struct posref_plugin_tensor *y,
                       const struct posref_plugin_tensor *x, double position, int64_t n, int64_t h)
{
    bool heads = x->rank == 3;
    for (int i = 0; i < job->pairs; i++) {
        int64_t a = job->half ? i : 2 * i, b = job->half ? i + job->pairs : 2 * i + 1;
        double angle = position * job->inv_freq[i] * (job->inverse ? -1 : 1);
        double c = job->attention_factor * cos(angle), s = job->attention_factor * sin(angle);
        double u = get(posref_plugin_at(x, n, heads ? h : a, heads ? a : 0), x->dtype);
        double v = get(posref_plugin_at(x, n, heads ? h : b, heads ? b : 0), x->dtype);
        put(posref_plugin_at(y, n, heads ? h : a, heads ? a : 0), y->dtype, u * c - v * s);
        put(posref_plugin_at(y, n, heads ? h : b, heads ? b : 0), y->dtype, u * s + v * c);
    }
    for (int64_t k = 2 * job->pairs; k < job->dim; k++)
        copy(y, x, n, heads ? h : k, heads ? k : 0);
}

static void embed_row(const struct job *job, const struct posref_plugin_tensor *y,
                      const struct posref_plugin_tensor *x, double position, int64_t n, int64_t h)
{
    bool heads = x->rank == 3;
    for (int i = 0; i < job->pairs; i++)
        for (int sine = 0; sine < 2; sine++) {
            int64_t k = sine ? sine_at(job, i) : cosine_at(job, i);
            double angle = position * job->inv_freq[i];
            int64_t j = heads ? h : k, last = heads ? k : 0;
            put(posref_plugin_at(y, n, j, last), y->dtype,
                get(posref_plugin_at(x, n, j, last), x->dtype) + (sine ? sin(angle) : cos(angle)));
        }
}

static bool is_backward(const struct job *job)
{
    return posref_plugin_word_is(job->call->op, "rotate_backward");
}

static void rows(const struct job *job)
{
    const bool back = is_backward(job);
    const struct posref_plugin_tensor *positions = posref_plugin_find(job->call, "positions");
    const struct posref_plugin_tensor *x = posref_plugin_find(job->call, back ? "dy" : "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(job->call, back ? "dx" : "y");
    for (int64_t n = 0; n < x->shape[0]; n++)
        for (int64_t h = 0; h < (x->rank == 3 ? x->shape[1] : 1); h++) {
            double position = posref_plugin_position(positions, 0, n);
            if (job->rope)
                rotate_row(job, y, x, position, n, h);
            else
                embed_row(job, y, x, position, n, h);
        }
}

/* ---- ALiBi ---- */

static double slope(const struct job *job, int heads, int h)
{
    double most = number(job, "alibi_bias_max", 8);
    int c = 1;
    while (c <= heads / 2)
        c *= 2;
    return exp2(h < c ? -most * (h + 1) / c : -most * (2 * (h - c) + 1) / (2 * c));
}

static double bias(const struct job *job, double m, double q, double k)
{
    if (is(job, "form", "row"))
        return m * k;
    return is(job, "form", "symmetric") ? -m * fabs(q - k) : -m * (q - k);
}

/* One row of biases, or of softmax weights when there are logits. score has room for the row. */
static void alibi_row(const struct job *job, const struct posref_plugin_tensor *out, double *score,
                      double m, int64_t h, int64_t q)
{
    const struct posref_plugin_tensor *q_at = posref_plugin_find(job->call, "q_positions");
    const struct posref_plugin_tensor *k_at = posref_plugin_find(job->call, "k_positions");
    const struct posref_plugin_tensor *logits = posref_plugin_find(job->call, "logits");
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t k = 0; k < out->shape[2]; k++) {
        score[k] = bias(job, m, posref_plugin_position(q_at, 0, q),
                        posref_plugin_position(k_at, 0, k));
        if (logits)
            score[k] += get(posref_plugin_at(logits, h, q, k), logits->dtype);
        largest = fmax(largest, score[k]);
    }
    for (int64_t k = 0; k < out->shape[2] && logits; k++)
        sum += score[k] = exp(score[k] - largest);
    for (int64_t k = 0; k < out->shape[2]; k++)
        put(posref_plugin_at(out, h, q, k), out->dtype, logits ? score[k] / sum : score[k]);
}

static int32_t alibi(const struct job *job)
{
    const struct posref_plugin_tensor *slopes = posref_plugin_find(job->call, "slopes");
    const struct posref_plugin_tensor *out = posref_plugin_find(job->call, "bias");
    int heads = (int)number(job, "num_heads", 0);
    for (int h = 0; h < heads && slopes; h++)
        put(posref_plugin_at(slopes, h, 0, 0), slopes->dtype, slope(job, heads, h));
    if (slopes)
        return POSREF_PLUGIN_OK;
    if (!out)
        out = posref_plugin_find(job->call, "weights");
    double *score = malloc((size_t)out->shape[2] * sizeof *score);
    if (!score)
        return POSREF_PLUGIN_ERROR;
    for (int64_t h = 0; h < out->shape[0]; h++)
        for (int64_t q = 0; q < out->shape[1]; q++)
            alibi_row(job, out, score, slope(job, heads, (int)h), h, q);
    free(score);
    return POSREF_PLUGIN_OK;
}

/* ---- the plugin ---- */

static int32_t run_ladder(struct job *job, char *why, size_t why_size)
{
    job->inv_freq = malloc((size_t)job->pairs * sizeof *job->inv_freq);
    if (!job->inv_freq)
        return POSREF_PLUGIN_ERROR;
    int32_t status = POSREF_PLUGIN_OK;
    if (!fill_frequencies(job)) {
        snprintf(why, why_size, "this scaling is not implemented");
        status = POSREF_PLUGIN_UNSUPPORTED;
    } else if (posref_plugin_word_is(job->call->op, "frequencies")) {
        frequencies(job);
    } else if (posref_plugin_word_is(job->call->op, "table")) {
        table(job);
    } else {
        rows(job);
    }
    free(job->inv_freq);
    return status;
}

/* The variants of sinusoidal that table() and rows() know: positions as they are, unscaled. */
static bool plain_sinusoidal(const struct posref_plugin_call *call)
{
    static const char *const plain[][2] = {{"offset", "0"}, {"min_timescale", "1"},
                                           {"table_scale", "1"}, {"x_scale", "one"}};
    bool variant = posref_plugin_is(call->spec, "order", "flipped") ||
                   posref_plugin_value(call->spec, "odd_dim", NULL) ||
                   posref_plugin_value(call->spec, "axes_dims", NULL) ||
                   posref_plugin_find(call, "mask");
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        variant = variant || !posref_plugin_is(call->spec, plain[k][0], plain[k][1]);
    return !variant;
}

/* The key whose value is not known here, or NULL. A key that the spec does not have is none. */
static const char *unknown_value(const char *spec)
{
    /* several position axes, tables in other layouts, other readings of yarn, xPos */
    static const char *const others[] = {"axes_dims", "mrope_section", "table_layout",
                                         "range_rule", "mscale_rule", "attention_factor_rule",
                                         "xpos_scale_base"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (posref_plugin_value(spec, others[k], NULL))
            return others[k];
    static const char *const known[][6] = {
        {"pairing", "half", "interleaved"},
        {"partial", "leading"},
        {"scaling", "none", "linear", "ntk", "yarn", "llama3"},
        {"align", "bottom_right"},
        {"slopes", "published"},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        bool found = !posref_plugin_value(spec, known[k][0], NULL);
        for (int v = 1; v < 6 && known[k][v]; v++)
            found = found || posref_plugin_is(spec, known[k][0], known[k][v]);
        if (!found)
            return known[k][0];
    }
    return NULL;
}

static int32_t supports(void *state, const struct posref_plugin_call *call, char *why,
                        size_t why_size)
{
    static const char *const ops[] = {"frequencies", "table", "rotate", "rotate_backward",
                                      "embed", "bias", "weights"};
    static const char *const schemes[] = {"rope", "sinusoidal", "alibi"};
    bool op = false, scheme = false;
    (void)state;
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        op = op || posref_plugin_word_is(call->op, ops[k]);
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++)
        scheme = scheme || posref_plugin_is(call->spec, "scheme", schemes[k]);
    if (posref_plugin_is(call->spec, "scheme", "sinusoidal") && !plain_sinusoidal(call)) {
        snprintf(why, why_size, "this variant of sinusoidal is not implemented");
        return POSREF_PLUGIN_UNSUPPORTED;
    }
    const char *unknown = op && scheme ? unknown_value(call->spec) : NULL;
    if (unknown) {
        snprintf(why, why_size, "this %s is not implemented", unknown);
        return POSREF_PLUGIN_UNSUPPORTED;
    }
    if (op && scheme)
        return POSREF_PLUGIN_OK;
    snprintf(why, why_size, "this %s is not implemented", scheme ? "op" : "scheme");
    return POSREF_PLUGIN_UNSUPPORTED;
}

static int32_t run(void *state, const struct posref_plugin_call *call, char *why, size_t why_size)
{
    const struct setting *setting = state;
    struct job job = {.call = call, .attention_factor = 1};
    if (is(&job, "scheme", "alibi"))
        return alibi(&job);
    job.rope = is(&job, "scheme", "rope");
    job.dim = (int)number(&job, "dim", 0);
    job.pairs = (int)number(&job, "rotary_dim", job.dim) / 2;
    job.base = number(&job, "base", 10000);
    job.half = is(&job, "pairing", "half") != setting->swapped;
    /* With these pairings the gradient is the rotation the other way. */
    job.inverse = is(&job, "direction", "inverse") != is_backward(&job);
    job.concat = is(&job, "order", "concat");
    return run_ladder(&job, why, why_size);
}

static int32_t open_plugin(void **state, const char *config, char *why, size_t why_size)
{
    struct setting *setting = calloc(1, sizeof *setting);
    if (!setting)
        return POSREF_PLUGIN_ERROR;
    setting->swapped = posref_plugin_word_is(config, "pairing=swapped");
    if (*config != '\0' && !setting->swapped) {
        free(setting);
        snprintf(why, why_size, "the only setting is pairing=swapped, not %s", config);
        return POSREF_PLUGIN_ERROR;
    }
    *state = setting;
    return POSREF_PLUGIN_OK;
}

static void close_plugin(void *state)
{
    free(state);
}

const struct posref_plugin *posref_plugin_entry(uint32_t host_abi)
{
    static const struct posref_plugin plugin = {.abi = POSREF_PLUGIN_ABI,
                                                .struct_size = sizeof plugin,
                                                .name = "example_rope",
                                                .version = "1",
                                                .open = open_plugin,
                                                .supports = supports,
                                                .run = run,
                                                .close = close_plugin,
                                                .dtypes = "f8e4m3 f8e5m2"};
    (void)host_abi;
    return &plugin;
}
