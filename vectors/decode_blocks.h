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

/* float16 to float without a branch that stops vectorisation: the exponent is moved by a
 * multiplication, which also gives subnormals their value. */
static inline float float_of_f16(uint16_t bits)
{
    uint32_t magnitude = (uint32_t)(bits & 0x7FFF) << 13;
    float value;
    memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112f;
    uint32_t out;
    memcpy(&out, &value, sizeof out);
    out |= magnitude >= UINT32_C(0x0F800000) ? UINT32_C(0x7F800000) : 0;
    out |= (uint32_t)(bits & 0x8000) << 16;
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
