/* SPDX-License-Identifier: Apache-2.0 */
/* What the faulty plugins share: faulty_SCHEME.c computes its scheme in plain float32 (an f64 call
 * in double) and goes wrong as --config says. They see neither reference/ nor the registry of
 * faults: each fault is written once more, from its description.
 *
 *   --config KEY=VALUE          takes this value of a spec key, whatever the call says
 *   --config fault=NAME         the first fault; value=NUMBER its parameter
 *   --config fault2=NAME        one more; value2=NUMBER */
#ifndef POSREF_FAULTY_H
#define POSREF_FAULTY_H

#include "harness/posref_plugin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct faulty {
    char config[1024];
    const char *fault[2], *value[2]; /* in it, or NULL: they are asked for at every element */
};

struct faulty_call {
    const struct faulty *faulty;
    const struct posref_plugin_call *call;
    int wide; /* in double */
};

static inline const char *faulty_text(const struct faulty_call *c, const char *key)
{
    const char *own = posref_plugin_value(c->faulty->config, key, NULL);
    return own ? own : posref_plugin_value(c->call->spec, key, NULL);
}

static inline double faulty_number(const struct faulty_call *c, const char *key, double missing)
{
    const char *text = faulty_text(c, key);
    return text ? strtod(text, NULL) : missing;
}

static inline int faulty_is(const struct faulty_call *c, const char *key, const char *value)
{
    const char *text = faulty_text(c, key);
    return text && posref_plugin_word_is(text, value);
}

/* Whether the plugin has this fault; *value is its parameter, or `missing`. */
static inline int faulty_has(const struct faulty_call *c, const char *name, double missing,
                             double *value)
{
    for (int k = 0; k < 2; k++) {
        const char *fault = c->faulty->fault[k], *text = c->faulty->value[k];
        if (!fault || !posref_plugin_word_is(fault, name))
            continue;
        if (value)
            *value = text ? strtod(text, NULL) : missing;
        return 1;
    }
    return 0;
}

static inline int faulty_with(const struct faulty_call *c, const char *name)
{
    return faulty_has(c, name, 0, NULL);
}

/* One step of arithmetic, rounded to float32 unless the call is in double. */
static inline double faulty_step(const struct faulty_call *c, double x)
{
    return c->wide ? x : (double)(float)x;
}

/* What the term of the position is multiplied by. */
static inline double faulty_term_factor(const struct faulty_call *c)
{
    return faulty_with(c, "position_term_missing")   ? 0
           : faulty_with(c, "position_term_doubled") ? 2
           : faulty_with(c, "position_term_negated") ? -1 : 1;
}

/* Whose table head h reads. */
static inline int64_t faulty_table_head(const struct faulty_call *c, int64_t h)
{
    return faulty_with(c, "first_head_table") ? 0 : h;
}

/* ---- 16 bits ---- */

static inline double faulty_bf16(double x)
{
    float narrow = (float)x;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
    memcpy(&narrow, &bits, sizeof narrow);
    return (double)narrow;
}

static inline double faulty_f16(double x)
{
    double size = fabs(x);
    int exponent;
    if (size >= 65520)
        return copysign(HUGE_VAL, x);
    if (size == 0)
        return x;
    (void)frexp(size, &exponent);
    exponent = exponent - 11 < -24 ? -24 : exponent - 11;
    return copysign(ldexp(nearbyint(ldexp(size, -exponent)), exponent), x);
}

/* ---- 8 bits: far below the largest value, which inputs of 8 bits are ---- */

static inline int faulty_is_float8(uint32_t dtype)
{
    return dtype == POSREF_PLUGIN_F8E4M3 || dtype == POSREF_PLUGIN_F8E5M2;
}

/* Significand bits, and the exponent of the smallest value. */
static inline int faulty_float8_bits(uint32_t dtype)
{
    return dtype == POSREF_PLUGIN_F8E4M3 ? 4 : 3;
}

static inline int faulty_float8_least(uint32_t dtype)
{
    return dtype == POSREF_PLUGIN_F8E4M3 ? -9 : -16;
}

/* Rounded to the dtype, or cut towards zero. */
static inline double faulty_float8(double x, uint32_t dtype, int cut)
{
    const int least = faulty_float8_least(dtype);
    int e;
    (void)frexp(x, &e);
    e -= faulty_float8_bits(dtype);
    e = e < least ? least : e;
    const double n = ldexp(fabs(x), -e);
    return copysign(ldexp(cut ? floor(n) : nearbyint(n), e), x);
}

static inline uint8_t faulty_float8_code(double x, uint32_t dtype)
{
    const int bits = faulty_float8_bits(dtype), least = faulty_float8_least(dtype);
    const double size = fabs(faulty_float8(x, dtype, 0));
    const int sign = signbit(x) ? 128 : 0, e = size > 0 ? ilogb(size) - least - bits + 1 : -1;
    if (isnan(x))
        return 0x7F;
    return (uint8_t)(sign | (e < 0 ? (int)ldexp(size, -least)
                                   : (e << (bits - 1)) + (int)ldexp(size, -least - e)));
}

static inline double faulty_float8_value(uint8_t code, uint32_t dtype)
{
    const int bits = faulty_float8_bits(dtype), hidden = 1 << (bits - 1);
    const int e = (code & 127) / hidden, fraction = code % hidden;
    const double size = ldexp(e ? hidden + fraction : fraction,
                              faulty_float8_least(dtype) + (e ? e - 1 : 0));
    return code & 128 ? -size : size;
}

static inline double faulty_get(const struct posref_plugin_tensor *t, int64_t k)
{
    if (t->dtype == POSREF_PLUGIN_F64)
        return ((const double *)t->data)[k];
    if (t->dtype == POSREF_PLUGIN_F32)
        return (double)((const float *)t->data)[k];
    if (faulty_is_float8(t->dtype))
        return faulty_float8_value(((const uint8_t *)t->data)[k], t->dtype);
    uint16_t bits = ((const uint16_t *)t->data)[k];
    if (t->dtype == POSREF_PLUGIN_BF16) {
        uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        return (double)value;
    }
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -size : size;
}

static inline uint16_t faulty_half_bits(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x))
        return 0x7E00;
    double size = fabs(faulty_f16(x));
    if (isinf(size))
        return (uint16_t)(sign | 0x7C00);
    if (size < 0x1p-14)
        return (uint16_t)(sign | (uint16_t)ldexp(size, 24));
    int exponent = ilogb(size);
    return (uint16_t)(sign | ((exponent + 14) * 1024 + (int)ldexp(size, 10 - exponent)));
}

static inline void faulty_put(const struct posref_plugin_tensor *t, int64_t k, double value)
{
    if (t->dtype == POSREF_PLUGIN_F64) {
        ((double *)t->data)[k] = value;
    } else if (t->dtype == POSREF_PLUGIN_F32) {
        ((float *)t->data)[k] = (float)value;
    } else if (t->dtype == POSREF_PLUGIN_BF16) {
        float narrow = (float)faulty_bf16((double)(float)value);
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        ((uint16_t *)t->data)[k] = (uint16_t)(bits >> 16);
    } else if (faulty_is_float8(t->dtype)) {
        ((uint8_t *)t->data)[k] = faulty_float8_code((double)(float)value, t->dtype);
    } else {
        ((uint16_t *)t->data)[k] = faulty_half_bits((double)(float)value);
    }
}

static inline int64_t faulty_count(const struct posref_plugin_tensor *t)
{
    int64_t n = 1;
    for (uint32_t axis = 0; axis < t->rank; axis++)
        n *= t->shape[axis];
    return n;
}

/* The value cut to the tensor's dtype, towards zero. */
static inline double faulty_cut(const struct posref_plugin_tensor *t, double value)
{
    if (t->dtype == POSREF_PLUGIN_F64 || value == 0)
        return value;
    if (faulty_is_float8(t->dtype))
        return faulty_float8(value, t->dtype, 1);
    double near = t->dtype == POSREF_PLUGIN_F32    ? (double)(float)value
                  : t->dtype == POSREF_PLUGIN_BF16 ? faulty_bf16(value) : faulty_f16(value);
    if (t->dtype == POSREF_PLUGIN_F16 && fabs(value) > 65504)
        return copysign(65504, value);
    int exponent, digits = t->dtype == POSREF_PLUGIN_F32 ? 24 : t->dtype == POSREF_PLUGIN_BF16 ? 8
                                                                                               : 11;
    if (fabs(near) <= fabs(value))
        return near;
    (void)frexp(value, &exponent);
    if (t->dtype == POSREF_PLUGIN_F16 && exponent < -13)
        exponent = -13;
    return copysign(floor(ldexp(fabs(value), digits - exponent)), value) *
           ldexp(1, exponent - digits);
}

static inline void faulty_exchange(const struct posref_plugin_tensor *t, int64_t n, int64_t width)
{
    for (int64_t k = 0; k < width && n >= 2; k++) {
        double last = faulty_get(t, (n - 1) * width + k);
        faulty_put(t, (n - 1) * width + k, faulty_get(t, (n - 2) * width + k));
        faulty_put(t, (n - 2) * width + k, last);
    }
}

/* ---- positions ---- */

static inline double faulty_position(const struct faulty_call *c, double p, int64_t row,
                                     int64_t head)
{
    double value;
    if (faulty_has(c, "position_offset", 3, &value))
        p += value;
    if (faulty_has(c, "position_doubled", 2, &value))
        p *= value;
    if (faulty_with(c, "rotated_twice"))
        p *= 2;
    if (faulty_with(c, "no_position"))
        return 0;
    if (faulty_with(c, "position_is_row"))
        p = (double)row;
    if (faulty_with(c, "position_is_head") && posref_plugin_word_is(c->call->op, "rotate"))
        p = (double)head;
    if (faulty_with(c, "position_bf16"))
        p = faulty_bf16(p);
    if (faulty_with(c, "position_f16"))
        p = faulty_f16(p);
    if (faulty_has(c, "position_clamped", 4096, &value) && p > value)
        p = value;
    if (faulty_has(c, "position_wrapped", 32768, &value))
        p = fmod(p, value);
    if (faulty_with(c, "position_int16"))
        p = (double)(int16_t)(uint16_t)(int64_t)p;
    if (faulty_with(c, "position_abs"))
        p = fabs(p);
    return faulty_with(c, "position_cut") ? trunc(p) : p;
}

/* ---- what is left out ---- */

/* Sets the last entry of an axis to 0, or to what stands there in `from`. */
static inline void faulty_leave(const struct posref_plugin_tensor *t, uint32_t axis,
                                const struct posref_plugin_tensor *from)
{
    int64_t inner = 1, n = t->shape[axis];
    for (uint32_t a = axis + 1; a < t->rank; a++)
        inner *= t->shape[a];
    for (int64_t e = 0; e < faulty_count(t); e++) {
        if (e / inner % n != n - 1)
            continue;
        if (t->dtype == POSREF_PLUGIN_I64)
            ((int64_t *)t->data)[e] = 0;
        else
            faulty_put(t, e, from ? faulty_get(from, e) : 0);
    }
}

/* Loops that end one too early. */
static inline void faulty_skip(const struct faulty_call *c, const struct posref_plugin_tensor *t)
{
    static const char *const grids[] = {"scores", "bias", "weights", "index"};
    const struct posref_plugin_tensor *x = posref_plugin_find(c->call, "x");
    int grid = 0;
    for (int k = 0; k < 4; k++)
        grid = grid || posref_plugin_word_is(c->call->op, grids[k]);
    x = x && faulty_count(x) == faulty_count(t) ? x : NULL;
    if (faulty_with(c, "last_row_skipped") && t->rank >= 2)
        faulty_leave(t, grid ? t->rank - 2 : 0, x);
    if (faulty_with(c, "last_head_skipped") && t->rank >= 3)
        faulty_leave(t, grid ? 0 : 1, x);
    if (faulty_with(c, "last_key_skipped") && grid)
        faulty_leave(t, t->rank - 1, NULL);
}

/* ---- the plugin ---- */

static int32_t faulty_run(const struct faulty_call *c, char *why, size_t why_size);

static int32_t faulty_enter(void *state, const struct posref_plugin_call *call, char *why,
                            size_t why_size)
{
    struct faulty_call c = {.faulty = state, .call = call};
    for (uint32_t k = 0; k < call->n_tensors; k++)
        if (call->tensors[k]->access == POSREF_PLUGIN_OUT)
            c.wide = call->tensors[k]->dtype == POSREF_PLUGIN_F64;
    const int32_t status = faulty_run(&c, why, why_size);
    for (uint32_t k = 0; k < call->n_tensors && status == POSREF_PLUGIN_OK; k++)
        if (call->tensors[k]->access == POSREF_PLUGIN_OUT)
            faulty_skip(&c, call->tensors[k]);
    return status;
}

static int32_t faulty_open(void **state, const char *config, char *why, size_t why_size)
{
    struct faulty *faulty = calloc(1, sizeof *faulty);
    if (!faulty || strlen(config) >= sizeof faulty->config) {
        free(faulty);
        snprintf(why, why_size, "no memory, or a configuration that is too long");
        return POSREF_PLUGIN_ERROR;
    }
    snprintf(faulty->config, sizeof faulty->config, "%s", config);
    for (int k = 0; k < 2; k++) {
        faulty->fault[k] = posref_plugin_value(faulty->config, k ? "fault2" : "fault", NULL);
        faulty->value[k] = posref_plugin_value(faulty->config, k ? "value2" : "value", NULL);
    }
    *state = faulty;
    return POSREF_PLUGIN_OK;
}

static void faulty_close(void *state)
{
    free(state);
}

const struct posref_plugin *posref_plugin_entry(uint32_t host_abi)
{
    static const struct posref_plugin plugin = {
        .abi = POSREF_PLUGIN_ABI, .struct_size = sizeof plugin, .name = "faulty", .version = "1",
        .open = faulty_open, .run = faulty_enter, .close = faulty_close,
        .dtypes = "f8e4m3 f8e5m2"};
    (void)host_abi;
    return &plugin;
}

#endif
