/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF's K types: superblocks of 256 elements in sub-blocks of 16 or 32, each with a small integer
 * scale (and minimum) under the superblock's float16 ones. */
#include "vectors/decode_blocks.h"

/* [16 scales: low nibble scale, high nibble minimum][64 bytes of 2 bits][scale][minimum scale] */
void decode_q2_k(float out[256], const unsigned char block[84])
{
    float scale = float_of_f16(load_u16(block + 80)), low = float_of_f16(load_u16(block + 82));
    for (int sub = 0; sub < 16; sub++) {
        /* Sub-block: half of the superblock, then the 2-bit plane, then which 16 of 32 bytes. */
        const unsigned char *bits = block + 16 + sub / 8 * 32 + sub % 2 * 16;
        int shift = sub % 8 / 2 * 2;
        float step = scale * (float)(block[sub] & 15), least = low * (float)(block[sub] >> 4);
        for (int j = 0; j < 16; j++)
            out[16 * sub + j] = step * (float)(bits[j] >> shift & 3) - least;
    }
}

/* [32 bytes: third bits][64 bytes of 2 bits][12 bytes: 16 scales of 6 bits, minus 32][scale] */
void decode_q3_k(float out[256], const unsigned char block[110])
{
    float scale = float_of_f16(load_u16(block + 108));
    const unsigned char *packed = block + 96;
    for (int sub = 0; sub < 16; sub++) {
        const unsigned char *third = block + sub % 2 * 16;
        const unsigned char *bits = block + 32 + sub / 8 * 32 + sub % 2 * 16;
        int shift = sub % 8 / 2 * 2;
        int low = sub < 8 ? packed[sub] & 15 : packed[sub - 8] >> 4;
        int high = packed[8 + sub % 4] >> (2 * (sub / 4)) & 3;
        float step = scale * (float)((low | high << 4) - 32);
        for (int j = 0; j < 16; j++) {
            int value = (bits[j] >> shift & 3) - (third[j] >> (sub / 2) & 1 ? 0 : 4);
            out[16 * sub + j] = step * (float)value;
        }
    }
}

/* The 6-bit scale and minimum of sub-block `sub` (0..7), packed in 12 bytes. */
static inline void scale_and_minimum(int *scale, int *minimum, const unsigned char *packed,
                                     int sub)
{
    if (sub < 4) {
        *scale = packed[sub] & 63;
        *minimum = packed[sub + 4] & 63;
    } else {
        *scale = (packed[sub + 4] & 15) | packed[sub - 4] >> 6 << 4;
        *minimum = packed[sub + 4] >> 4 | packed[sub] >> 6 << 4;
    }
}

/* [scale][minimum scale][12 bytes][128 bytes: each 32 hold two sub-blocks of nibbles] */
void decode_q4_k(float out[256], const unsigned char block[144])
{
    float scale = float_of_f16(load_u16(block)), low = float_of_f16(load_u16(block + 2));
    for (int sub = 0; sub < 8; sub++) {
        const unsigned char *bits = block + 16 + sub / 2 * 32;
        int shift = sub % 2 * 4, s, m;
        scale_and_minimum(&s, &m, block + 4, sub);
        float step = scale * (float)s, least = low * (float)m;
        for (int j = 0; j < 32; j++)
            out[32 * sub + j] = step * (float)(bits[j] >> shift & 15) - least;
    }
}

/* As Q4_K, with 32 bytes of fifth bits (bit `sub` of byte j) before the nibbles. */
void decode_q5_k(float out[256], const unsigned char block[176])
{
    float scale = float_of_f16(load_u16(block)), low = float_of_f16(load_u16(block + 2));
    const unsigned char *fifth = block + 16;
    for (int sub = 0; sub < 8; sub++) {
        const unsigned char *bits = block + 48 + sub / 2 * 32;
        int shift = sub % 2 * 4, s, m;
        scale_and_minimum(&s, &m, block + 4, sub);
        float step = scale * (float)s, least = low * (float)m;
        for (int j = 0; j < 32; j++) {
            int value = (bits[j] >> shift & 15) | (fifth[j] >> sub & 1) << 4;
            out[32 * sub + j] = step * (float)value - least;
        }
    }
}

/* [128 bytes: low nibbles][64 bytes: upper 2 bits][16 signed scales][scale]; minus 32 */
void decode_q6_k(float out[256], const unsigned char block[210])
{
    float scale = float_of_f16(load_u16(block + 208));
    const unsigned char *scales = block + 192;
    for (int sub = 0; sub < 16; sub++) {
        int half = sub / 8, quarter = sub % 8 / 2, first = sub % 2 * 16;
        const unsigned char *low = block + 64 * half + quarter % 2 * 32 + first;
        const unsigned char *high = block + 128 + 32 * half + first;
        float step = scale * (float)(int8_t)scales[sub];
        for (int j = 0; j < 16; j++) {
            int value = (low[j] >> (quarter / 2 * 4) & 15) | (high[j] >> (2 * quarter) & 3) << 4;
            out[16 * sub + j] = step * (float)(value - 32);
        }
    }
}

/* [float32 scale][256 signed bytes][sums that decoding does not need] */
void decode_q8_k(float out[256], const unsigned char block[292])
{
    float scale;
    memcpy(&scale, block, sizeof scale);
    for (int j = 0; j < 256; j++)
        out[j] = scale * (float)(int8_t)block[4 + j];
}
