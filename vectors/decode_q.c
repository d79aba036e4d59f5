/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF's blocks of 32: one float16 scale (and for the _1 types an offset) and small integers. */
#include "vectors/decode_blocks.h"

void decode_q4_0(float out[32], const unsigned char block[18])
{
    float scale = float_of_f16(load_u16(block));
    for (int j = 0; j < 16; j++) {
        out[j] = scale * (float)((block[2 + j] & 15) - 8);
        out[j + 16] = scale * (float)((block[2 + j] >> 4) - 8);
    }
}

void decode_q4_1(float out[32], const unsigned char block[20])
{
    float scale = float_of_f16(load_u16(block)), offset = float_of_f16(load_u16(block + 2));
    for (int j = 0; j < 16; j++) {
        out[j] = scale * (float)(block[4 + j] & 15) + offset;
        out[j + 16] = scale * (float)(block[4 + j] >> 4) + offset;
    }
}

/* The fifth bit of element j is bit j of a 32-bit word. */
static inline int fifth_bit(const unsigned char *word, int j)
{
    return (word[j / 8] >> (j % 8) & 1) << 4;
}

void decode_q5_0(float out[32], const unsigned char block[22])
{
    float scale = float_of_f16(load_u16(block));
    for (int j = 0; j < 16; j++) {
        int low = (block[6 + j] & 15) | fifth_bit(block + 2, j);
        int high = (block[6 + j] >> 4) | fifth_bit(block + 2, j + 16);
        out[j] = scale * (float)(low - 16);
        out[j + 16] = scale * (float)(high - 16);
    }
}

void decode_q5_1(float out[32], const unsigned char block[24])
{
    float scale = float_of_f16(load_u16(block)), offset = float_of_f16(load_u16(block + 2));
    for (int j = 0; j < 16; j++) {
        int low = (block[8 + j] & 15) | fifth_bit(block + 4, j);
        int high = (block[8 + j] >> 4) | fifth_bit(block + 4, j + 16);
        out[j] = scale * (float)low + offset;
        out[j + 16] = scale * (float)high + offset;
    }
}

void decode_q8_0(float out[32], const unsigned char block[34])
{
    float scale = float_of_f16(load_u16(block));
    for (int j = 0; j < 32; j++)
        out[j] = scale * (float)(int8_t)block[2 + j];
}
