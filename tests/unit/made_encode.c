/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders of stored types for tests: plain rounding of each block, packed from the formats'
 * descriptions, element by element (the decoders go sub-block by sub-block). */
#include "tests/unit/made_model.h"

#include <math.h>
#include <string.h>

static void put_u16(unsigned char *out, uint32_t bits)
{
    out[0] = (unsigned char)bits;
    out[1] = (unsigned char)(bits >> 8);
}

/* Stores a scale as float16 and returns what was stored. */
static double put_scale(unsigned char *out, double scale)
{
    uint32_t bits = posref_narrow(scale, POSREF_F16);
    put_u16(out, bits);
    return posref_widen(bits, POSREF_F16);
}

static int nearest(double value, double step, int low, int high)
{
    double q = step != 0 ? rint(value / step) : 0;
    return q < low ? low : q > high ? high : (int)q;
}

static void range(double *low, double *high, const float *value, int n)
{
    *low = *high = (double)value[0];
    for (int i = 1; i < n; i++) {
        *low = fmin(*low, (double)value[i]);
        *high = fmax(*high, (double)value[i]);
    }
}

/* Q8_0, Q4_0 and Q5_0: a scale and signed integers of `bits` bits around 0. */
static void encode_symmetric(unsigned char *out, const float *value, int bits)
{
    double low, high;
    range(&low, &high, value, 32);
    int limit = 1 << (bits - 1);
    double step = put_scale(out, fmax(fabs(low), fabs(high)) / (limit - 1));
    for (int j = 0; j < 32; j++) {
        int q = nearest((double)value[j], step, -limit, limit - 1);
        if (bits == 8) {
            out[2 + j] = (unsigned char)q;
            continue;
        }
        int stored = q + limit, at = bits == 5 ? 6 : 2;
        out[at + j % 16] |= (unsigned char)((stored & 15) << (j / 16 * 4));
        if (bits == 5)
            out[2 + j / 8] |= (unsigned char)((stored >> 4) << (j % 8));
    }
}

/* Q4_1 and Q5_1: a scale, an offset, and integers from 0. */
static void encode_offset(unsigned char *out, const float *value, int bits)
{
    double low, high;
    range(&low, &high, value, 32);
    double step = put_scale(out, (high - low) / ((1 << bits) - 1));
    double offset = put_scale(out + 2, low);
    for (int j = 0; j < 32; j++) {
        int q = nearest((double)value[j] - offset, step, 0, (1 << bits) - 1);
        int at = bits == 5 ? 8 : 4;
        out[at + j % 16] |= (unsigned char)((q & 15) << (j / 16 * 4));
        if (bits == 5)
            out[4 + j / 8] |= (unsigned char)((q >> 4) << (j % 8));
    }
}

/* Sub-blocks' scales and minima, as small integers under two float16 numbers. */
struct subscales { double step[16], least[16]; int scale[16], minimum[16]; };

static void fit_subscales(struct subscales *s, unsigned char *at_scale, unsigned char *at_minimum,
                          const float *value, int n_sub, int levels, int limit)
{
    double steps[16], minima[16], most_step = 0, most_minimum = 0;
    int n = 256 / n_sub;
    for (int sub = 0; sub < n_sub; sub++) {
        double low, high;
        range(&low, &high, value + sub * n, n);
        low = fmin(low, 0);
        steps[sub] = (high - low) / (levels - 1);
        minima[sub] = -low;
        most_step = fmax(most_step, steps[sub]);
        most_minimum = fmax(most_minimum, minima[sub]);
    }
    double d = put_scale(at_scale, most_step / limit);
    double m = put_scale(at_minimum, most_minimum / limit);
    for (int sub = 0; sub < n_sub; sub++) {
        s->scale[sub] = nearest(steps[sub], d, 0, limit);
        s->minimum[sub] = nearest(minima[sub], m, 0, limit);
        s->step[sub] = d * s->scale[sub];
        s->least[sub] = m * s->minimum[sub];
    }
}

static void encode_q2_k(unsigned char *out, const float *value)
{
    struct subscales s;
    fit_subscales(&s, out + 80, out + 82, value, 16, 4, 15);
    for (int sub = 0; sub < 16; sub++)
        out[sub] = (unsigned char)(s.scale[sub] | s.minimum[sub] << 4);
    for (int e = 0; e < 256; e++) {
        int q = nearest((double)value[e] + s.least[e / 16], s.step[e / 16], 0, 3);
        out[16 + e / 128 * 32 + e % 32] |= (unsigned char)(q << (e % 128 / 32 * 2));
    }
}

/* The 12 bytes of eight 6-bit scales and minima that Q4_K and Q5_K share. */
static void pack_subscales(unsigned char *out, const struct subscales *s)
{
    for (int sub = 0; sub < 8; sub++) {
        if (sub < 4) {
            out[sub] |= (unsigned char)s->scale[sub];
            out[sub + 4] |= (unsigned char)s->minimum[sub];
        } else {
            out[sub + 4] = (unsigned char)((s->scale[sub] & 15) | (s->minimum[sub] & 15) << 4);
            out[sub - 4] |= (unsigned char)(s->scale[sub] >> 4 << 6);
            out[sub] |= (unsigned char)(s->minimum[sub] >> 4 << 6);
        }
    }
}

static void encode_q45_k(unsigned char *out, const float *value, int bits)
{
    struct subscales s;
    fit_subscales(&s, out, out + 2, value, 8, 1 << bits, 63);
    pack_subscales(out + 4, &s);
    for (int e = 0; e < 256; e++) {
        int q = nearest((double)value[e] + s.least[e / 32], s.step[e / 32], 0, (1 << bits) - 1);
        unsigned char *low = out + (bits == 5 ? 48 : 16) + e / 64 * 32 + e % 32;
        *low |= (unsigned char)((q & 15) << (e % 64 / 32 * 4));
        if (bits == 5)
            out[16 + e % 32] |= (unsigned char)((q >> 4) << (e / 32));
    }
}

/* Symmetric K types: 16 signed scales under one float16. */
static double fit_signed(double step[16], int scale[16], unsigned char *at, const float *value,
                         int limit, int scale_limit)
{
    double steps[16], most = 0;
    for (int sub = 0; sub < 16; sub++) {
        double low, high;
        range(&low, &high, value + 16 * sub, 16);
        steps[sub] = fmax(fabs(low), fabs(high)) / (limit - 0.5);
        most = fmax(most, steps[sub]);
    }
    double d = put_scale(at, most / scale_limit);
    for (int sub = 0; sub < 16; sub++) {
        scale[sub] = nearest(steps[sub], d, 0, scale_limit);
        step[sub] = d * scale[sub];
    }
    return d;
}

static void encode_q3_k(unsigned char *out, const float *value)
{
    double step[16];
    int scale[16];
    fit_signed(step, scale, out + 108, value, 4, 31);
    for (int sub = 0; sub < 16; sub++) {
        int stored = scale[sub] + 32;
        out[96 + sub % 8] |= (unsigned char)((stored & 15) << (sub / 8 * 4));
        out[104 + sub % 4] |= (unsigned char)((stored >> 4) << (sub / 4 * 2));
    }
    for (int e = 0; e < 256; e++) {
        int q = nearest((double)value[e], step[e / 16], -4, 3) + 4;
        out[32 + e / 128 * 32 + e % 32] |= (unsigned char)((q & 3) << (e % 128 / 32 * 2));
        out[e % 32] |= (unsigned char)((q >> 2) << (e / 32));
    }
}

static void encode_q6_k(unsigned char *out, const float *value)
{
    double step[16];
    int scale[16];
    fit_signed(step, scale, out + 208, value, 32, 127);
    for (int sub = 0; sub < 16; sub++)
        out[192 + sub] = (unsigned char)scale[sub];
    for (int e = 0; e < 256; e++) {
        int q = nearest((double)value[e], step[e / 16], -32, 31) + 32;
        int half = e / 128, quarter = e % 128 / 32, lane = e % 32;
        unsigned char *low = out + 64 * half + quarter % 2 * 32 + lane;
        *low |= (unsigned char)((q & 15) << (quarter / 2 * 4));
        out[128 + 32 * half + lane] |= (unsigned char)((q >> 4) << (2 * quarter));
    }
}

static void encode_block(unsigned char *out, enum posref_stored_type type, const float *value)
{
    memset(out, 0, (size_t)posref_stored_def(type)->block_bytes);
    switch (type) {
    case POSREF_STORED_Q8_0: encode_symmetric(out, value, 8); break;
    case POSREF_STORED_Q4_0: encode_symmetric(out, value, 4); break;
    case POSREF_STORED_Q5_0: encode_symmetric(out, value, 5); break;
    case POSREF_STORED_Q4_1: encode_offset(out, value, 4); break;
    case POSREF_STORED_Q5_1: encode_offset(out, value, 5); break;
    case POSREF_STORED_Q2_K: encode_q2_k(out, value); break;
    case POSREF_STORED_Q3_K: encode_q3_k(out, value); break;
    case POSREF_STORED_Q4_K: encode_q45_k(out, value, 4); break;
    case POSREF_STORED_Q5_K: encode_q45_k(out, value, 5); break;
    default: encode_q6_k(out, value); break;
    }
}

void made_encode(unsigned char *out, enum posref_stored_type type, const float *value, int64_t n)
{
    const struct posref_stored_def *def = posref_stored_def(type);
    for (int64_t i = 0; i < n; i += def->block_elements) {
        unsigned char *at = out + i / def->block_elements * def->block_bytes;
        if (type == POSREF_STORED_F32)
            memcpy(at, &value[i], sizeof value[i]);
        else if (type == POSREF_STORED_F16)
            put_u16(at, posref_narrow((double)value[i], POSREF_F16));
        else if (type == POSREF_STORED_BF16)
            put_u16(at, posref_narrow((double)value[i], POSREF_BF16));
        else
            encode_block(at, type, value + i);
    }
}
