/* SPDX-License-Identifier: Apache-2.0 */
/* Rope with faults: see faulty.h. */
#include "faulty.h"

#define TAU 6.283185307179586
#define MAX_PAIRS 8192

struct rope {
    const struct faulty_call *c;
    int dim, pairs, half, inverse, given_pairs, trailing;
    double base, magnitude;
    double freq[MAX_PAIRS];
    double chain; /* of a recurrence: base^(-2/r) */
};

static double step(const struct rope *r, double x)
{
    return faulty_step(r->c, x);
}

static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static double factor_of(const struct rope *r)
{
    double factor = faulty_number(r->c, "factor", 1), value;
    if (faulty_with(r->c, "factor_inverted"))
        factor = 1 / factor;
    return faulty_has(r->c, "factor", 8, &value) ? value : factor;
}

static double length_of(const struct rope *r)
{
    double value, length = faulty_number(r->c, "original_max_position_embeddings", 8192);
    if (faulty_has(r->c, "original_length", 2048, &value))
        length = value;
    return faulty_with(r->c, "length_extended") ? length * factor_of(r) : length;
}

/* ---- yarn ---- */

static double attention_factor(const struct rope *r)
{
    const struct faulty_call *c = r->c;
    double factor = factor_of(r), usual = factor > 1 ? 0.1 * log(factor) : 0;
    double one = faulty_number(c, "mscale", 0), all = faulty_number(c, "mscale_all_dim", 0);
    double ratio = one != 0 && all != 0 ? (1 + one * usual) / (1 + all * usual) : 1 + usual;
    if (faulty_with(c, "attention_factor_ratio"))
        ratio = (1 + faulty_number(c, "mscale", 1) * usual) / (1 + all * usual);
    double given = faulty_number(c, "attention_factor", 0), right = given != 0 ? given : ratio;
    if (faulty_with(c, "attention_factor_multiplied") && given != 0)
        right = given * ratio;
    if (faulty_with(c, "attention_factor_missing"))
        return 1;
    if (faulty_with(c, "attention_factor_telechat"))
        return 1 + 0.7 * usual;
    if (faulty_with(c, "attention_factor_default"))
        return 1 + usual;
    if (faulty_with(c, "attention_factor_nested"))
        return 1 + usual * right;
    if (faulty_with(c, "attention_factor_tenth"))
        return 1 + 0.1 * usual;
    return faulty_with(c, "attention_factor_twice") || faulty_with(c, "rotated_twice")
               ? right * right : right;
}

static void yarn(struct rope *r)
{
    const struct faulty_call *c = r->c;
    const int width = 2 * r->pairs, swap = faulty_with(c, "betas_exchanged");
    double ends[2], factor = factor_of(r);
    for (int end = 0; end < 2; end++) {
        const int fast = end == swap;
        double beta = faulty_number(c, fast ? "beta_fast" : "beta_slow", fast ? 32 : 1);
        ends[end] = width * log(length_of(r) / (TAU * beta)) / (2 * log(r->base));
    }
    int whole = !faulty_is(c, "truncate", "false");
    if (whole != faulty_with(c, "range_rounding")) {
        ends[0] = floor(ends[0]);
        ends[1] = ceil(ends[1]);
    }
    const int last = faulty_with(c, "range_half") ? width / 2 - 1 : width - 1;
    if (!faulty_with(c, "range_unclamped")) {
        ends[0] = ends[0] < 0 ? 0 : ends[0];
        ends[1] = ends[1] > last ? last : ends[1];
    }
    double span = ends[1] == ends[0] ? 0.001 : ends[1] - ends[0];
    if (faulty_with(c, "range_at_least") && span < 0.001)
        span = 0.001;
    for (int i = 0; i < r->pairs; i++) {
        double t = step(r, clamp01((i - ends[0]) / span)), keep = r->freq[i];
        if (faulty_with(c, "yarn_ramp_flat"))
            t = 0;
        if (faulty_with(c, "yarn_ntk_base"))
            keep = pow(r->base * pow(factor, width / (width - 2.0)), -2.0 * i / width);
        if (faulty_with(c, "yarn_periods_blended"))
            r->freq[i] = step(r, 1 / ((1 - t) / keep + t * factor / r->freq[i]));
        else
            r->freq[i] = step(r, step(r, r->freq[i] / factor) * t + keep * (1 - t));
    }
    r->magnitude = step(r, attention_factor(r));
}

/* ---- llama3 ---- */

static void llama3(struct rope *r)
{
    const struct faulty_call *c = r->c;
    const int swap = faulty_with(c, "bands_exchanged");
    double length = length_of(r), factor = factor_of(r);
    double low = faulty_number(c, swap ? "high_freq_factor" : "low_freq_factor", 1);
    double high = faulty_number(c, swap ? "low_freq_factor" : "high_freq_factor", 4);
    for (int i = 0; i < r->pairs; i++) {
        double wavelength = TAU / r->freq[i], turns = length / wavelength;
        double smooth = (turns - low) / (high - low);
        if (turns > high)
            continue;
        if (turns < low)
            r->freq[i] = step(r, r->freq[i] / factor);
        else if (faulty_with(c, "llama3_periods_blended"))
            r->freq[i] = step(r, TAU / ((1 - smooth) * wavelength + smooth * wavelength * factor));
        else
            r->freq[i] = step(r, (1 - smooth) * r->freq[i] / factor + smooth * r->freq[i]);
    }
}

/* ---- longrope ---- */

static void longrope(struct rope *r)
{
    const struct faulty_call *c = r->c;
    const double length = faulty_number(c, "original_max_position_embeddings", 4096);
    int is_long = faulty_number(c, "seq_len", 1) > length;
    is_long = faulty_with(c, "longrope_long_always") ||
              (is_long && !faulty_with(c, "longrope_short_always"));
    const char *at = faulty_text(c, is_long ? "long_factor" : "short_factor");
    for (int i = 0; i < r->pairs && at; i++) {
        char *end;
        r->freq[i] = step(r, r->freq[i] / strtod(at, &end));
        at = *end == ',' ? end + 1 : NULL;
    }
    const double right = sqrt(1 + log(faulty_number(c, "factor", 1)) / log(length));
    const int twice = faulty_with(c, "attention_factor_twice") || faulty_with(c, "rotated_twice");
    r->magnitude = step(r, faulty_with(c, "attention_factor_missing") ? 1
                           : twice ? right * right : right);
}

/* Its lists, and the magnitude of the paper's authors. */
static int is_longrope(const struct faulty_call *c)
{
    return faulty_is(c, "scaling", "longrope") && faulty_is(c, "magnitude", "su") &&
           !faulty_text(c, "short_mscale") && !faulty_text(c, "attention_factor") &&
           faulty_number(c, "factor", 1) > 1;
}

/* ---- frequencies ---- */

static double exponent(const struct rope *r, int i)
{
    const struct faulty_call *c = r->c;
    const int width = 2 * r->pairs;
    if (faulty_with(c, "theta_one"))
        return 0;
    if (faulty_with(c, "exponent_half_step"))
        return (2.0 * i + 1) / width;
    if (faulty_with(c, "exponent_over_dim"))
        return 2.0 * i / r->dim;
    return faulty_with(c, "exponent_short") && width > 2 ? 2.0 * i / (width - 2) : 2.0 * i / width;
}

/* Of the two rules of dynamic NTK, what the other one multiplies the base by (to a power). */
static double other_dynamic(const struct faulty_call *c)
{
    const double length = faulty_number(c, "original_max_position_embeddings", 1);
    const double times = fmax(faulty_number(c, "seq_len", 0) / length, 1);
    return faulty_is(c, "scaling", "dynamic") ? pow(2, ceil(log2(times)) + 1) - 1 : times;
}

static void ladder(struct rope *r, int ntk)
{
    double base = r->base, value;
    const int width = 2 * r->pairs;
    if (faulty_has(r->c, "base_multiplied", 1.001, &value))
        base *= value;
    if (ntk)
        base *= faulty_with(r->c, "ntk_plain_factor") ? factor_of(r)
                                                      : pow(factor_of(r), width / (width - 2.0));
    if (faulty_with(r->c, "dynamic_rule"))
        base *= pow(other_dynamic(r->c), width / (width - 2.0));
    for (int i = 0; i < r->pairs; i++)
        r->freq[i] = step(r, 1 / step(r, pow(base, step(r, exponent(r, i)))));
    r->chain = step(r, pow(base, step(r, -2.0 / width)));
}

static void spoil(struct rope *r)
{
    double value;
    for (int i = 0; i < r->pairs; i++) {
        double *f = &r->freq[i];
        *f = faulty_with(r->c, "theta_inverse") ? 1 / *f : *f;
        *f = faulty_has(r->c, "theta_scaled", 1.5, &value) ? step(r, *f * value) : *f;
        *f = faulty_with(r->c, "theta_bf16") ? faulty_bf16(*f) : *f;
        *f = faulty_with(r->c, "theta_f16") ? faulty_f16(*f) : *f;
    }
    if (faulty_has(r->c, "magnitude", 1.01, &value))
        r->magnitude = step(r, r->magnitude * value);
}

static int frequencies(struct rope *r)
{
    const struct faulty_call *c = r->c;
    int none = faulty_is(c, "scaling", "none") || faulty_is(c, "scaling", "none+xpos_scale_base");
    int ntk = faulty_is(c, "scaling", "ntk");
    int linear = faulty_is(c, "scaling", "linear"), is_yarn = faulty_is(c, "scaling", "yarn");
    int is_llama3 = faulty_is(c, "scaling", "llama3");
    int lists = is_longrope(c);
    int dynamic = faulty_is(c, "scaling", "dynamic") || faulty_is(c, "scaling", "dynamic_alpha");
    if (faulty_with(c, "dynamic_rule") && (!dynamic || !faulty_text(c, "seq_len")))
        return 0;
    dynamic = dynamic && faulty_with(c, "dynamic_rule");
    if (none + ntk + linear + is_yarn + is_llama3 + lists + dynamic == 0)
        return 0;
    /* Libraries scale the angles of a recurrence in ways of their own. */
    if (faulty_with(c, "recurrence") && linear + is_yarn + is_llama3 + lists > 0)
        return 0;
    if (faulty_with(c, "scaling_ignored"))
        linear = is_yarn = is_llama3 = ntk = lists = 0;
    if (faulty_with(c, "scaling_as_linear") && !none) {
        linear = 1;
        is_yarn = is_llama3 = ntk = lists = 0;
    }
    r->magnitude = 1;
    ladder(r, ntk);
    for (int i = 0; i < r->pairs && linear; i++)
        r->freq[i] = step(r, r->freq[i] / factor_of(r));
    if (lists)
        longrope(r);
    if (is_yarn)
        yarn(r);
    if (is_llama3)
        llama3(r);
    spoil(r);
    return 1;
}

/* ---- tables and rotations ---- */

static void put(const struct rope *r, const struct posref_plugin_tensor *t, int64_t k, double value)
{
    faulty_put(t, k, faulty_with(r->c, "truncated") ? faulty_cut(t, value) : value);
}

/* Position times frequency, or times the ratio of the ladder again and again. */
static double angle_at(const struct rope *r, double position, int i)
{
    double angle = step(r, position);
    if (!faulty_with(r->c, "recurrence"))
        return step(r, angle * r->freq[i]);
    for (int k = 0; k < i; k++)
        angle = step(r, angle * r->chain);
    return angle;
}

/* Reductions that lose digits, each a way to be fast. */
static double reduced(const struct rope *r, double angle)
{
    const float tau = (float)TAU, a = (float)angle, turns = rintf(a / tau);
    if (faulty_with(r->c, "one_step_reduction"))
        return (double)(a - tau * turns);
    if (faulty_with(r->c, "fused_reduction"))
        return (double)fmaf(-tau, turns, a);
    if (!faulty_with(r->c, "fast_trigonometry"))
        return angle;
    const float in_turns = a * (float)(1 / TAU);
    return (double)((in_turns - rintf(in_turns)) * tau);
}

/* As exact as a hardware sine: 21 bits behind the point. */
static double hardware(const struct rope *r, double x)
{
    return faulty_with(r->c, "fast_trigonometry") ? rint(x * 0x1p21) * 0x1p-21 : x;
}

/* xPos: 1 without it. */
static double xpos(const struct rope *r, double position, int i)
{
    const double base = faulty_number(r->c, "xpos_scale_base", 0), width = 2.0 * r->pairs;
    if (base == 0 || faulty_with(r->c, "xpos_missing"))
        return 1;
    const double from = faulty_with(r->c, "xpos_center") ? 0
                                                          : faulty_number(r->c, "xpos_center", 0);
    const int key = faulty_is(r->c, "xpos_side", "key") != faulty_with(r->c, "xpos_side");
    const double power = step(r, (position - from) / base);
    const double scale = step(r, pow((2 * i + 0.4 * width) / (1.4 * width), power));
    return key ? step(r, 1 / scale) : scale;
}

static void trig(const struct rope *r, double *cosine, double *sine, double position, int i)
{
    const struct faulty_call *c = r->c;
    double angle = reduced(r, angle_at(r, position, i));
    if (faulty_with(c, "angle_f16"))
        angle = faulty_f16(angle);
    if (faulty_with(c, "angle_bf16"))
        angle = faulty_bf16(angle);
    int other = faulty_with(c, "sine_cosine_exchanged");
    const double magnitude = r->magnitude * xpos(r, position, i);
    *cosine = step(r, magnitude * step(r, hardware(r, other ? sin(angle) : cos(angle))));
    *sine = step(r, magnitude * step(r, hardware(r, other ? cos(angle) : sin(angle))));
    for (int which = 0; which < 2; which++) {
        double *value = which ? sine : cosine;
        *value = faulty_with(c, "table_bf16") ? faulty_bf16(*value) : *value;
        *value = faulty_with(c, "table_f16") ? faulty_f16(*value) : *value;
    }
}

static void give_frequencies(const struct rope *r)
{
    const struct posref_plugin_tensor *f = posref_plugin_find(r->c->call, "inv_freq");
    const struct posref_plugin_tensor *a = posref_plugin_find(r->c->call, "attention_factor");
    for (int i = 0; i < r->given_pairs; i++)
        put(r, f, i, r->freq[i]);
    put(r, a, 0, r->magnitude);
}

static void give_table(const struct rope *r)
{
    const struct posref_plugin_tensor *c = posref_plugin_find(r->c->call, "cos");
    const struct posref_plugin_tensor *s = posref_plugin_find(r->c->call, "sin");
    const struct posref_plugin_tensor *p = posref_plugin_find(r->c->call, "positions");
    for (int64_t n = 0; n < p->shape[0]; n++)
        for (int i = 0; i < r->given_pairs; i++) {
            double cosine, sine, at = posref_plugin_position(p, 0, n);
            trig(r, &cosine, &sine, faulty_position(r->c, at, n, 0), i);
            put(r, c, n * r->given_pairs + i, cosine);
            put(r, s, n * r->given_pairs + i, sine);
        }
}

static void tail(const struct rope *r, const struct posref_plugin_tensor *y,
                 const struct posref_plugin_tensor *x, int64_t at)
{
    const size_t size = posref_plugin_dtype_size(x->dtype);
    memcpy((char *)y->data + (size_t)at * size, (const char *)x->data + (size_t)at * size,
           (size_t)r->dim * size);
    const int first = r->trailing ? 0 : 2 * r->given_pairs;
    for (int k = first; k < first + r->dim - 2 * r->given_pairs; k++) {
        if (faulty_with(r->c, "tail_zero"))
            faulty_put(y, at + k, 0);
        if (faulty_with(r->c, "tail_scaled") && r->magnitude != 1)
            faulty_put(y, at + k, step(r, faulty_get(x, at + k) * r->magnitude));
    }
}

/* Rounded once more than need be: to 8 bits, before the sum. */
static double product(const struct rope *r, const struct posref_plugin_tensor *y, double x)
{
    return faulty_with(r->c, "products_float8") ? faulty_float8(x, y->dtype, 0) : step(r, x);
}

static void rotate_pair(const struct rope *r, const struct posref_plugin_tensor *y,
                        const struct posref_plugin_tensor *x, int64_t at, double position, int i)
{
    const struct faulty_call *c = r->c;
    int a = r->half ? i : 2 * i, b = r->half ? i + r->pairs : 2 * i + 1, last = i == r->pairs - 1;
    int to_a = a, to_b = b, column[2] = {i, i};
    double u = faulty_get(x, at + a), v = faulty_get(x, at + b), cosine[2], sine[2];
    if (faulty_with(c, "evens_first") && !r->half) {
        to_a = i;
        to_b = i + r->pairs;
    }
    if (faulty_with(c, "table_layout")) {
        column[0] = r->half ? a / 2 : a % r->pairs;
        column[1] = r->half ? b / 2 : b % r->pairs;
    }
    for (int which = 0; which < 2; which++) {
        trig(r, &cosine[which], &sine[which], position, column[which]);
        if (r->inverse)
            sine[which] = -sine[which];
    }
    double first = faulty_with(c, "sine_sign") ? -sine[0] : sine[0];
    if (last && faulty_with(c, "last_pair_skipped"))
        return;
    put(r, y, at + to_a, step(r, product(r, y, u * cosine[0]) - product(r, y, v * first)));
    if (!(last && faulty_with(c, "last_channel_skipped")))
        put(r, y, at + to_b, step(r, product(r, y, u * sine[1]) + product(r, y, v * cosine[1])));
}

static void rotate(const struct rope *r)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(r->c->call, "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(r->c->call, "y");
    const struct posref_plugin_tensor *p = posref_plugin_find(r->c->call, "positions");
    const int64_t n = p->shape[0], rows = faulty_count(x) / r->dim, heads = rows / n;
    const int64_t lead = r->trailing ? r->dim - 2 * r->pairs : 0;
    for (int64_t row = 0; row < rows; row++) {
        double at = posref_plugin_position(p, 0, row / heads);
        double position = faulty_position(r->c, at, row / heads, row % heads);
        tail(r, y, x, row * r->dim);
        for (int i = 0; i < r->pairs; i++)
            rotate_pair(r, y, x, row * r->dim + lead, position, i);
    }
    if (faulty_with(r->c, "last_rows_exchanged"))
        faulty_exchange(y, n, heads * r->dim);
    if (faulty_with(r->c, "one_nan"))
        faulty_put(y, rows / 2 * r->dim, (double)NAN);
    if (faulty_with(r->c, "one_zero"))
        faulty_put(y, rows / 2 * r->dim, 0);
}

static int is_plain(const struct faulty_call *c)
{
    const char *spec = c->call->spec;
    const struct posref_plugin_tensor *p = posref_plugin_find(c->call, "positions");
    return posref_plugin_is(spec, "scheme", "rope") &&
           !posref_plugin_is(spec, "partial", "proportional") && (!p || p->rank == 1) &&
           (posref_plugin_is(spec, "pairing", "half") ||
            posref_plugin_is(spec, "pairing", "interleaved")) &&
           !posref_plugin_value(spec, "axes_dims", NULL) &&
           !posref_plugin_value(spec, "mrope_section", NULL) &&
           !posref_plugin_value(spec, "table_layout", NULL) &&
           !posref_plugin_value(spec, "range_rule", NULL) &&
           !posref_plugin_value(spec, "mscale_rule", NULL) &&
           !posref_plugin_value(spec, "attention_factor_rule", NULL);
}

static int32_t faulty_run(const struct faulty_call *c, char *why, size_t why_size)
{
    double value;
    struct rope *r = calloc(1, sizeof *r);
    if (!r || !is_plain(c)) {
        free(r);
        snprintf(why, why_size, "only rope in one axis");
        return POSREF_PLUGIN_UNSUPPORTED;
    }
    r->c = c;
    r->dim = (int)strtol(posref_plugin_value(c->call->spec, "dim", "0"), NULL, 10);
    r->pairs = (int)faulty_number(c, "rotary_dim", r->dim) / 2;
    const char *width = posref_plugin_value(c->call->spec, "rotary_dim", "0");
    r->given_pairs = (int)strtol(width, NULL, 10) / 2;
    if (posref_plugin_word_is(c->call->op, "rotate")) {
        if (faulty_with(c, "rotary_dim_ignored"))
            r->pairs = r->dim / 2;
        if (faulty_with(c, "rotary_dim_halved") && r->pairs % 2 == 0)
            r->pairs /= 2;
    }
    r->trailing = faulty_is(c, "partial", "trailing") && !faulty_with(c, "partial_ignored");
    r->half = faulty_is(c, "pairing", "half") != faulty_with(c, "pairing");
    r->inverse = faulty_is(c, "direction", "inverse") != faulty_with(c, "direction");
    r->base = faulty_with(c, "base_default") ? 10000 : faulty_number(c, "base", 10000);
    if (faulty_has(c, "base", 20000, &value))
        r->base = value;
    int32_t status = POSREF_PLUGIN_OK;
    if (r->pairs > MAX_PAIRS || !frequencies(r))
        status = POSREF_PLUGIN_UNSUPPORTED;
    else if (posref_plugin_word_is(c->call->op, "frequencies"))
        give_frequencies(r);
    else if (posref_plugin_word_is(c->call->op, "table"))
        give_table(r);
    else if (posref_plugin_word_is(c->call->op, "rotate"))
        rotate(r);
    else
        status = POSREF_PLUGIN_UNSUPPORTED;
    free(r);
    return status;
}
