/* SPDX-License-Identifier: Apache-2.0 */
/* What outputs hold before a call: NaNs with a payload that no arithmetic makes, so that an element
 * nobody wrote shows. Private to harness/. */
#ifndef POSREF_PATTERN_H
#define POSREF_PATTERN_H

#include "reference/reference.h"

#include <string.h>

/* The pattern of a dtype as bits; quiet NaNs, so that copying them through a register is safe. */
static inline uint64_t posref_pattern_bits(enum posref_dtype dtype)
{
    switch (dtype) {
    case POSREF_F64: return 0x7FFDA5C3A5C3A5C3u;
    case POSREF_F32: return 0x7FEDA5C3u;
    case POSREF_F16: return 0x7FA5u;
    case POSREF_BF16: return 0x7FE5u;
    case POSREF_F8E4M3: /* of its two NaNs the one that conversions make of negative ones alone */
    case POSREF_F8E5M2: return 0xFFu;
    case POSREF_I32: return 0xA5C3A5C3u;
    default: return 0xA5C3A5C3A5C3A5C3u;
    }
}

static inline void posref_pattern_fill(void *data, enum posref_dtype dtype, size_t count)
{
    uint64_t bits = posref_pattern_bits(dtype);
    size_t size = posref_dtype_size(dtype);
    unsigned char *out = data;
    if (count == 0)
        return;
    if (size == 8) {
        memcpy(out, &bits, 8);
    } else if (size == 4) {
        uint32_t narrow = (uint32_t)bits;
        memcpy(out, &narrow, 4);
    } else if (size == 1) {
        *out = (unsigned char)bits;
    } else {
        uint16_t narrow = (uint16_t)bits;
        memcpy(out, &narrow, 2);
    }
    /* Doubling copies: a few calls of memcpy instead of one an element. */
    size_t filled = size, total = count * size;
    while (filled < total) {
        size_t part = filled < total - filled ? filled : total - filled;
        memcpy(out + filled, out, part);
        filled += part;
    }
}

#endif
