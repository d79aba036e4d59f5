/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the decoder of a stored type, and decodes the plain ones. */
#include "vectors/decode.h"
#include "vectors/decode_blocks.h"

#include <math.h>

/* Files are little endian; elements are copied as they are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a little-endian machine");

bool posref_decode_knows(enum posref_stored_type type)
{
    switch (type) {
    case POSREF_STORED_C64:
    case POSREF_STORED_F8_E8M0:
    case POSREF_STORED_F4:
    case POSREF_STORED_F6_E2M3:
    case POSREF_STORED_F6_E3M2:
    case POSREF_STORED_OTHER_BLOCKS:
    case POSREF_N_STORED_TYPES: return false;
    default: return true;
    }
}

static uint64_t load_bits(const unsigned char *data, int n_bytes)
{
    uint64_t bits = 0;
    for (int i = 0; i < n_bytes; i++)
        bits |= (uint64_t)data[i] << (8 * i);
    return bits;
}

/* E4M3 without infinities (NaN is all ones), E5M2 as the upper byte of float16. */
static float float_of_e4m3(unsigned char bits)
{
    int exponent = bits >> 3 & 15, fraction = bits & 7;
    float magnitude = exponent == 0 ? (float)fraction * 0x1p-9f
                                    : ldexpf((float)(8 + fraction), exponent - 10);
    if ((bits & 0x7F) == 0x7F)
        magnitude = NAN;
    return bits & 0x80 ? -magnitude : magnitude;
}

static float float_of_scalar(enum posref_stored_type type, const unsigned char *data, int width)
{
    uint64_t bits = load_bits(data, width);
    double wide;
    switch (type) {
    case POSREF_STORED_F64: memcpy(&wide, &bits, sizeof wide); return (float)wide;
    case POSREF_STORED_I8: return (float)(int8_t)bits;
    case POSREF_STORED_I16: return (float)(int16_t)bits;
    case POSREF_STORED_I32: return (float)(int32_t)bits;
    case POSREF_STORED_I64: return (float)(int64_t)bits;
    case POSREF_STORED_F8_E4M3: return float_of_e4m3((unsigned char)bits);
    case POSREF_STORED_F8_E5M2: return float_of_f16((uint16_t)(bits << 8));
    default: return (float)bits;
    }
}

#define LANES 16 /* a fixed count lets the compiler vectorise at -O2 */

static void decode_bf16(float *out, const unsigned char *data, int64_t n)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        uint16_t bits[LANES];
        uint32_t wide[LANES];
        memcpy(bits, data + 2 * i, sizeof bits);
        for (int j = 0; j < LANES; j++)
            wide[j] = (uint32_t)bits[j] << 16;
        memcpy(out + i, wide, sizeof wide);
    }
    for (; i < n; i++) {
        uint32_t bits = (uint32_t)load_u16(data + 2 * i) << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
}

static void decode_f16(float *out, const unsigned char *data, int64_t n)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        uint16_t bits[LANES];
        memcpy(bits, data + 2 * i, sizeof bits);
        for (int j = 0; j < LANES; j++)
            out[i + j] = float_of_f16(bits[j]);
    }
    for (; i < n; i++)
        out[i] = float_of_f16(load_u16(data + 2 * i));
}

/* One block of a quantised type. */
static void decode_block(float *out, enum posref_stored_type type, const unsigned char *block)
{
    switch (type) {
    case POSREF_STORED_Q4_0: decode_q4_0(out, block); break;
    case POSREF_STORED_Q4_1: decode_q4_1(out, block); break;
    case POSREF_STORED_Q5_0: decode_q5_0(out, block); break;
    case POSREF_STORED_Q5_1: decode_q5_1(out, block); break;
    case POSREF_STORED_Q8_0: decode_q8_0(out, block); break;
    case POSREF_STORED_Q2_K: decode_q2_k(out, block); break;
    case POSREF_STORED_Q3_K: decode_q3_k(out, block); break;
    case POSREF_STORED_Q4_K: decode_q4_k(out, block); break;
    case POSREF_STORED_Q5_K: decode_q5_k(out, block); break;
    case POSREF_STORED_Q6_K: decode_q6_k(out, block); break;
    default: decode_q8_k(out, block); break;
    }
}

void posref_decode(float *out, enum posref_stored_type type, const unsigned char *data, int64_t n)
{
    const struct posref_stored_def *def = posref_stored_def(type);
    if (type == POSREF_STORED_F32)
        memcpy(out, data, (size_t)n * sizeof *out);
    else if (type == POSREF_STORED_BF16)
        decode_bf16(out, data, n);
    else if (type == POSREF_STORED_F16)
        decode_f16(out, data, n);
    else if (def->block_elements > 1)
        for (int64_t i = 0; i < n; i += def->block_elements)
            decode_block(out + i, type, data + i / def->block_elements * def->block_bytes);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = float_of_scalar(type, data + i * def->block_bytes, def->block_bytes);
}
