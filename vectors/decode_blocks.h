/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders of GGUF's quantised blocks, and small loads they share. Internal to vectors/decode*. */
#ifndef POSREF_VECTORS_DECODE_BLOCKS_H
#define POSREF_VECTORS_DECODE_BLOCKS_H

#include <stdint.h>
#include <string.h>

static inline uint16_t load_u16(const unsigned char *data)
{
    return (uint16_t)(data[0] | data[1] << 8);
}

/* float16 to float without branches (they stop vectorisation) and without subnormal floats on the
 * way (they are slow): the exponent moves by an addition; a subnormal's fraction is put under 0.5,
 * whose last place is worth 2^-24, and 0.5 is taken off again. */
static inline float float_of_f16(uint16_t half)
{
    uint32_t magnitude = half & 0x7FFFu, sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t moved = (magnitude << 13) + (UINT32_C(112) << 23);
    uint32_t under = magnitude | UINT32_C(0x3F000000), small, out;
    float value;
    memcpy(&value, &under, sizeof value);
    value -= 0.5f;
    memcpy(&small, &value, sizeof small);
    uint32_t is_small = 0u - (uint32_t)(magnitude < 0x0400u);
    uint32_t is_endless = 0u - (uint32_t)(magnitude >= 0x7C00u); /* or NaN */
    moved += is_endless & UINT32_C(112) << 23;
    out = (small & is_small) | (moved & ~is_small) | sign;
    memcpy(&value, &out, sizeof value);
    return value;
}

/* One block each: 32 elements, or 256 for the K types. */
void decode_q4_0(float out[32], const unsigned char block[18]);
void decode_q4_1(float out[32], const unsigned char block[20]);
void decode_q5_0(float out[32], const unsigned char block[22]);
void decode_q5_1(float out[32], const unsigned char block[24]);
void decode_q8_0(float out[32], const unsigned char block[34]);
void decode_q2_k(float out[256], const unsigned char block[84]);
void decode_q3_k(float out[256], const unsigned char block[110]);
void decode_q4_k(float out[256], const unsigned char block[144]);
void decode_q5_k(float out[256], const unsigned char block[176]);
void decode_q6_k(float out[256], const unsigned char block[210]);
void decode_q8_k(float out[256], const unsigned char block[292]);

#endif
