/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of test_judge. */
#include "judge_kernels.h"

#include <math.h>

const char *const kernel_fault_names[N_FAULTS] = {
    "none", "inv_freq bf16", "inv_freq fp16", "positions bf16", "positions fp16",
    "cos/sin table bf16", "base +0.01 %", "base +0.1 %", "exponent over d-2", "position +1",
    "rotation reversed", "layout swapped", "theta *= s recurrence", "one-step 2 pi reduction",
    "last element unrotated", "last pair unrotated", "table clamps at 4096", "wraps at 32768",
    "position in int16", "|pos| for negatives", "fast-math trig", "truncate, not round",
    "output x 1.001", "2 pi as f32 with fma", "last two rows swapped", "one NaN",
    "one zero element"};

static double as(double x, enum posref_dtype dtype)
{
    return dtype == POSREF_F64 ? x : posref_widen(posref_narrow(x, dtype), dtype);
}

static double truncated(double x, enum posref_dtype dtype)
{
    double y = as(x, dtype);
    if (fabs(y) > fabs(x)) {
        uint32_t bits = posref_narrow(x, dtype);
        y = posref_widen(bits - 1, dtype);
    }
    return y;
}

/* yarn's range, float where the float32 recipe has it as Python does: in double. */
static void yarn_range(double *lo, double *hi, const struct posref_spec *s)
{
    double scale = s->rotary_dim / (2 * log(s->base));
    *lo = scale * log(s->original_max_position_embeddings / (s->beta_fast * 2 * M_PI));
    *hi = scale * log(s->original_max_position_embeddings / (s->beta_slow * 2 * M_PI));
    if (s->truncate) {
        *lo = floor(*lo);
        *hi = ceil(*hi);
    }
    if (s->range_rule != POSREF_RANGE_UNCLAMPED) {
        *lo = fmax(*lo, 0);
        *hi = fmin(*hi, s->range_rule == POSREF_RANGE_HALF ? s->rotary_dim / 2 - 1
                                                           : s->rotary_dim - 1);
    }
    if (*lo == *hi || (s->range_rule == POSREF_RANGE_AT_LEAST && *hi - *lo < 0.001))
        *hi = *lo + 0.001;
}

static double yarn_magnitude(const struct posref_spec *s)
{
    double top = s->mscale, under = s->mscale_all_dim, of = 0.1 * log(s->factor);
    if (s->mscale_rule == POSREF_MSCALE_RATIO)
        top = s->given[POSREF_FIELD_MSCALE] ? top : 1;
    else if (s->mscale_rule != POSREF_MSCALE_BOTH || top == 0 || under == 0)
        top = 1, under = 0;
    if (s->mscale_rule == POSREF_MSCALE_TELECHAT)
        of = 0.07 * log(s->factor);
    if ((s->factor <= 1 && s->mscale_rule != POSREF_MSCALE_GGML) ||
        s->mscale_rule == POSREF_MSCALE_NONE)
        of = 0;
    double m = (top * of + 1) / (under * of + 1);
    if (!s->given[POSREF_FIELD_ATTENTION_FACTOR])
        return m;
    return s->attention_factor_rule == POSREF_ATTENTION_FACTOR_REPLACES ? s->attention_factor
           : s->attention_factor_rule == POSREF_ATTENTION_FACTOR_MULTIPLIES
               ? m * s->attention_factor : m;
}

static double magnitude(const struct posref_spec *s)
{
    if (s->scaling == POSREF_SCALING_LONGROPE)
        return sqrt(1 + log(s->factor) / log(s->original_max_position_embeddings));
    return s->scaling == POSREF_SCALING_YARN ? yarn_magnitude(s) : 1;
}

static double divisor(const struct posref_spec *s, int i)
{
    const double original = s->original_max_position_embeddings;
    if (s->scaling == POSREF_SCALING_LONGROPE)
        return (s->seq_len > original ? &s->long_factor : &s->short_factor)->item[i];
    if (s->scaling == POSREF_SCALING_DYNAMIC_LINEAR)
        return fmax(s->seq_len / original, s->factor);
    if (s->scaling == POSREF_SCALING_NTK_MIXED) {
        double a = log(s->factor) / pow(s->rotary_dim / 2.0, s->mixed_b);
        return exp(a * pow(i + 1, s->mixed_b));
    }
    return s->scaling == POSREF_SCALING_NTK_FIXED ? pow(s->factor, 2.0 / s->rotary_dim) : 1;
}

static float divisor_float(const struct posref_spec *s, int i)
{
    if (s->scaling == POSREF_SCALING_NTK_MIXED) {
        float a = logf((float)s->factor) / powf((float)s->rotary_dim / 2, (float)s->mixed_b);
        return expf(a * powf((float)(i + 1), (float)s->mixed_b));
    }
    return (float)divisor(s, i);
}

static double scaled_double(double theta, const struct posref_spec *s, int i)
{
    double t = 0;
    if (s->scaling > POSREF_SCALING_LLAMA3)
        return theta / divisor(s, i);
    if (s->scaling == POSREF_SCALING_LINEAR)
        return theta / s->factor;
    if (s->scaling == POSREF_SCALING_YARN) {
        double lo, hi;
        yarn_range(&lo, &hi, s);
        t = fmin(fmax((i - lo) / (hi - lo), 0), 1);
    } else if (s->scaling == POSREF_SCALING_LLAMA3) {
        double rot = s->original_max_position_embeddings * theta / (2 * M_PI);
        double lf = s->low_freq_factor, hf = s->high_freq_factor;
        t = rot > hf ? 0 : rot < lf ? 1 : (hf - rot) / (hf - lf);
    }
    return t == 0 ? theta : theta / s->factor * t + theta * (1 - t);
}

static float scaled_float(float theta, const struct posref_spec *s, int i)
{
    const float factor = (float)s->factor;
    if (s->scaling > POSREF_SCALING_LLAMA3)
        return theta / divisor_float(s, i);
    if (s->scaling == POSREF_SCALING_LINEAR)
        return theta / factor;
    if (s->scaling == POSREF_SCALING_YARN) {
        double lo, hi;
        yarn_range(&lo, &hi, s);
        float t = ((float)i - (float)lo) / (float)(hi - lo);
        t = fminf(fmaxf(t, 0), 1);
        return theta / factor * t + theta * (1 - t);
    }
    if (s->scaling == POSREF_SCALING_LLAMA3) {
        float lambda = (float)(2 * M_PI) / theta, lf = (float)s->low_freq_factor;
        float hf = (float)s->high_freq_factor, l = (float)s->original_max_position_embeddings;
        if (lambda < l / hf)
            return theta;
        if (lambda > l / lf)
            return theta / factor;
        float smooth = (l / lambda - lf) / (hf - lf);
        return (1 - smooth) * theta / factor + smooth * theta;
    }
    return theta;
}

static double stretch(const struct posref_spec *s)
{
    double times = fmax(s->seq_len / s->original_max_position_embeddings, 1);
    if (s->scaling == POSREF_SCALING_DYNAMIC_CONSTANT)
        return s->factor * s->factor - s->factor + 1;
    if (s->scaling == POSREF_SCALING_DYNAMIC_ALPHA)
        return fmax(1, exp2(ceil(log2(times)) + 1) - 1);
    return s->factor * times - (s->factor - 1);
}

static double base_of(const struct posref_spec *s, enum kernel_fault fault)
{
    double base = s->base;
    if (s->scaling == POSREF_SCALING_NTK)
        base *= pow(s->factor, s->rotary_dim / (s->rotary_dim - 2.0));
    if (s->scaling == POSREF_SCALING_NTK_FIXED)
        base *= s->factor;
    if (s->scaling == POSREF_SCALING_DYNAMIC || s->scaling == POSREF_SCALING_DYNAMIC_ALPHA ||
        s->scaling == POSREF_SCALING_DYNAMIC_CONSTANT)
        base *= pow(stretch(s), s->rotary_dim / (s->rotary_dim - 2.0));
    return fault == FAULT_BASE_1E4 ? base * 1.0001 : fault == FAULT_BASE_1E3 ? base * 1.001 : base;
}

static double position_of(double p, enum kernel_fault fault)
{
    switch (fault) {
    case FAULT_POSITION_BF16: return as(p, POSREF_BF16);
    case FAULT_POSITION_F16: return as(p, POSREF_F16);
    case FAULT_POSITION_PLUS_1: return p + 1;
    case FAULT_CLAMP_4096: return fmin(p, 4095);
    case FAULT_WRAP_32768: return p < 0 ? p : fmod(p, 32768);
    case FAULT_INT16: return (double)(int16_t)(uint16_t)(int64_t)p;
    case FAULT_ABS_POSITION: return fabs(p);
    default: return p;
    }
}

/* The angle, in the arithmetic; the position may be any double. */
static double angle_of(const struct posref_spec *s, double p, int i, enum arithmetic arithmetic,
                       enum kernel_fault fault)
{
    const double base = base_of(s, fault);
    const int over = fault == FAULT_EXPONENT_D_MINUS_2 ? s->rotary_dim - 2 : s->rotary_dim;
    if (arithmetic == ARITHMETIC_DOUBLE)
        return p * scaled_double(1 / pow(base, 2.0 * i / over), s, i);
    if (arithmetic == ARITHMETIC_RECURRENCE || fault == FAULT_RECURRENCE) {
        float step = powf((float)base, -2.0f / (float)over), angle = (float)p;
        for (int k = 0; k < i; k++)
            angle *= step;
        if (s->scaling == POSREF_SCALING_LINEAR)
            return (double)(angle / (float)s->factor);
        if (s->scaling > POSREF_SCALING_LLAMA3)
            return (double)(angle / divisor_float(s, i));
        if (s->scaling != POSREF_SCALING_YARN)
            return (double)angle;
        double lo, hi;
        yarn_range(&lo, &hi, s);
        float t = fminf(fmaxf(((float)i - (float)lo) / fmaxf(0.001f, (float)(hi - lo)), 0), 1);
        float scaled = angle * (1.0f / (float)s->factor);
        return (double)(scaled * t + angle * (1 - t));
    }
    float theta = arithmetic == ARITHMETIC_EXPF
                      ? expf(-logf((float)base) * (2.0f * (float)i / (float)over))
                      : 1.0f / powf((float)base, 2.0f * (float)i / (float)over);
    theta = scaled_float(theta, s, i);
    if (fault == FAULT_FREQ_BF16 || fault == FAULT_FREQ_F16)
        theta = (float)as((double)theta, fault == FAULT_FREQ_BF16 ? POSREF_BF16 : POSREF_F16);
    return (double)((float)p * theta);
}

static void cos_sin(double *c, double *s, double angle, enum arithmetic arithmetic,
                    enum kernel_fault fault)
{
    if (arithmetic == ARITHMETIC_DOUBLE) {
        *c = cos(angle);
        *s = sin(angle);
        return;
    }
    float a = (float)angle;
    const float two_pi = (float)(2 * M_PI);
    if (fault == FAULT_ONE_STEP_REDUCTION)
        a = a - two_pi * rintf(a / two_pi);
    else if (fault == FAULT_TWO_PI_FLOAT)
        a = fmaf(-two_pi, rintf(a / two_pi), a);
    else if (fault == FAULT_FAST_TRIG || arithmetic == ARITHMETIC_HARDWARE) {
        float turns = a * (float)(1 / (2 * M_PI)); /* the hardware's: turns in float32 */
        turns -= rintf(turns);
        a = turns * two_pi;
        *c = (double)(rintf(cosf(a) * 0x1p21f) * 0x1p-21f);
        *s = (double)(rintf(sinf(a) * 0x1p21f) * 0x1p-21f);
        return;
    }
    *c = (double)cosf(a);
    *s = (double)sinf(a);
}

static double output(double x, enum posref_dtype dtype, enum kernel_fault fault)
{
    if (fault == FAULT_SCALE_1001)
        x *= 1.001;
    return fault == FAULT_TRUNCATE ? truncated(x, dtype) : as(x, dtype);
}

static void rotate_pair(double *y1, double *y2, double x1, double x2, double c, double s,
                        enum posref_dtype dtype, enum arithmetic arithmetic,
                        enum kernel_fault fault)
{
    if (arithmetic == ARITHMETIC_DOUBLE) {
        *y1 = output(x1 * c - x2 * s, dtype, fault);
        *y2 = output(x2 * c + x1 * s, dtype, fault);
    } else if (arithmetic == ARITHMETIC_LOW) {
        c = as(c, dtype);
        s = as(s, dtype);
        *y1 = output(as(x1 * c, dtype) - as(x2 * s, dtype), dtype, fault);
        *y2 = output(as(x2 * c, dtype) + as(x1 * s, dtype), dtype, fault);
    } else {
        float a = (float)x1, b = (float)x2, fc = (float)c, fs = (float)s;
        *y1 = output((double)(a * fc - b * fs), dtype, fault);
        *y2 = output((double)(b * fc + a * fs), dtype, fault);
    }
}

static void spoil(double *y, const double *x, const struct posref_spec *spec, int64_t n,
                  int64_t heads, enum kernel_fault fault)
{
    const int64_t row = heads * spec->dim;
    const int r = spec->rotary_dim;
    if (fault == FAULT_ROWS_SWAPPED && n > 1)
        for (int64_t k = 0; k < row; k++) {
            double other = y[(n - 1) * row + k];
            y[(n - 1) * row + k] = y[(n - 2) * row + k];
            y[(n - 2) * row + k] = other;
        }
    for (int64_t k = 0; k < n * heads; k++) {
        double *out = y + k * spec->dim;
        const double *in = x + k * spec->dim;
        if (fault == FAULT_LAST_ELEMENT || fault == FAULT_LAST_PAIR)
            out[r - 1] = in[r - 1];
        if (fault == FAULT_LAST_PAIR)
            out[spec->pairing == POSREF_PAIRING_HALF ? r / 2 - 1 : r - 2] =
                in[spec->pairing == POSREF_PAIRING_HALF ? r / 2 - 1 : r - 2];
    }
    if (fault == FAULT_NAN)
        y[n * row / 2] = (double)NAN;
    if (fault == FAULT_ZERO)
        y[n * row / 2] = 0;
}

/* Cosine and signed sine of pair i, with the factor. */
static void table_entry(double *c, double *s, const struct posref_spec *spec, double p, int i,
                        double factor, enum arithmetic arithmetic, enum kernel_fault fault)
{
    cos_sin(c, s, angle_of(spec, p, i, arithmetic, fault), arithmetic, fault);
    if (arithmetic == ARITHMETIC_DOUBLE) {
        *c *= factor;
        *s *= factor;
    } else {
        *c = (double)((float)*c * (float)factor);
        *s = (double)((float)*s * (float)factor);
    }
    if (fault == FAULT_TABLE_BF16) {
        *c = as(*c, POSREF_BF16);
        *s = as(*s, POSREF_BF16);
    }
    if ((spec->direction == POSREF_DIRECTION_INVERSE) != (fault == FAULT_REVERSED))
        *s = -*s;
}

static double xpos_scale(const struct posref_spec *s, double p, int i, enum arithmetic arithmetic)
{
    const int r = s->rotary_dim;
    if (!s->given[POSREF_FIELD_XPOS_SCALE_BASE])
        return 1;
    const double sign = s->xpos_side == POSREF_XPOS_KEY ? -1 : 1;
    if (arithmetic == ARITHMETIC_DOUBLE)
        return pow((2 * i + 0.4 * r) / (1.4 * r), sign * (p - s->xpos_center) / s->xpos_scale_base);
    const float zeta = ((float)(2 * i) + 0.4f * (float)r) / (1.4f * (float)r);
    const float power = ((float)p - (float)s->xpos_center) / (float)s->xpos_scale_base;
    const float scale = powf(zeta, power);
    return (double)(sign < 0 ? 1 / scale : scale);
}

void kernel_rotate(double *y, const struct posref_spec *spec, const double *x,
                   const double *positions, int64_t n, int64_t heads, enum posref_dtype dtype,
                   enum arithmetic arithmetic, enum kernel_fault fault)
{
    const int r = spec->rotary_dim;
    const int first = spec->partial == POSREF_PARTIAL_TRAILING ? spec->dim - r : 0;
    const int turning = spec->partial == POSREF_PARTIAL_PROPORTIONAL
                            ? (int)floor(spec->partial_rotary_factor * spec->dim / 2) : r / 2;
    bool half = (spec->pairing == POSREF_PAIRING_HALF) != (fault == FAULT_SWAPPED_LAYOUT);
    bool to_half = half || spec->pairing == POSREF_PAIRING_INTERLEAVED_TO_HALF;
    double factor = magnitude(spec);
    if (arithmetic != ARITHMETIC_DOUBLE)
        factor = (double)(float)factor;
    for (int64_t k = 0; k < n * heads; k++) {
        const double *in = x + k * spec->dim;
        double *out = y + k * spec->dim, p = position_of(positions[k / heads], fault);
        for (int channel = 0; channel < spec->dim; channel++)
            out[channel] = in[channel];
        for (int i = 0; i < turning; i++) {
            double c, s, y1, y2, other;
            int a = first + (half ? i : 2 * i), b = first + (half ? i + r / 2 : 2 * i + 1);
            const bool mismatched = spec->pairing == POSREF_PAIRING_MISMATCHED;
            table_entry(&c, &s, spec, p, mismatched ? 2 * i % (r / 2) : i,
                        factor * xpos_scale(spec, p, i, arithmetic), arithmetic, fault);
            rotate_pair(&y1, &y2, in[a], in[b], c, s, dtype, arithmetic, fault);
            if (mismatched) {
                table_entry(&c, &s, spec, p, (2 * i + 1) % (r / 2), factor, arithmetic, fault);
                rotate_pair(&other, &y2, in[a], in[b], c, s, dtype, arithmetic, fault);
            }
            out[first + (to_half ? i : 2 * i)] = y1;
            out[first + (to_half ? i + r / 2 : 2 * i + 1)] = y2;
        }
    }
    spoil(y, x, spec, n, heads, fault);
}
