/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles to float32, float16, bfloat16 and 8 bits and back, on the bit patterns alone: a
 * conversion through float would round twice, and gcc 12.2 at -O2 loses the mask of a float that a
 * helper narrows through memcpy in one branch. */
#include "reference.h"

#include <string.h>

/* Stored significand bits, exponent bias, and bits in all; the exponent field's largest value is
 * 2 bias + 1. It holds infinity and NaNs, or, where the format is finite, numbers and, for the
 * largest significand, NaN. */
struct format {
    int man_bits;
    int bias;
    int width;
    bool finite;
};

static bool find_format(struct format *out, enum posref_dtype dtype)
{
    switch (dtype) {
    case POSREF_F32:
        *out = (struct format){23, 127, 32, false};
        return true;
    case POSREF_F16:
        *out = (struct format){10, 15, 16, false};
        return true;
    case POSREF_BF16:
        *out = (struct format){7, 127, 16, false};
        return true;
    case POSREF_F8E4M3:
        *out = (struct format){3, 7, 8, true};
        return true;
    case POSREF_F8E5M2:
        *out = (struct format){2, 15, 8, false};
        return true;
    case POSREF_F64:
    case POSREF_I32:
    case POSREF_I64:
    case POSREF_N_DTYPES:
        break;
    }
    return false;
}

/* Where numbers end: infinity, or the NaN of a finite format. */
static uint64_t end_bits(const struct format *f)
{
    const uint64_t last = (uint64_t)(2 * f->bias + 1) << f->man_bits;
    return f->finite ? last | (((uint64_t)1 << f->man_bits) - 1) : last;
}

/* man * 2^-shift to nearest even; man < 2^53. */
static uint64_t shift_nearest(uint64_t man, int shift)
{
    if (shift > 54)
        return 0; /* below a quarter */
    uint64_t rest = man & (((uint64_t)1 << shift) - 1);
    uint64_t half = (uint64_t)1 << (shift - 1);
    uint64_t quotient = man >> shift;
    return quotient + (rest > half || (rest == half && (quotient & 1)));
}

uint32_t posref_narrow(double x, enum posref_dtype dtype)
{
    struct format f;
    if (!find_format(&f, dtype))
        return 0;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int field = (int)(bits >> 52) & 0x7ff;
    uint64_t man = bits & (((uint64_t)1 << 52) - 1);
    int exponent = field - 1023;
    uint64_t magnitude;
    if (field == 0x7ff) {
        magnitude = end_bits(&f);
        if (man)
            magnitude |= (uint64_t)1 << (f.man_bits - 1);
    } else if (field == 0) {
        magnitude = 0; /* zero or below 2^-1022: far below half the smallest subnormal */
    } else if (exponent > f.bias + f.finite) {
        magnitude = end_bits(&f);
    } else {
        man |= (uint64_t)1 << 52;
        int shift = 52 - f.man_bits;
        if (exponent < 1 - f.bias) {
            magnitude = shift_nearest(man, shift + (1 - f.bias - exponent));
        } else { /* the carry of a significand that rounds to 2 goes into the exponent */
            magnitude = shift_nearest(man, shift);
            magnitude += (uint64_t)(exponent + f.bias - 1) << f.man_bits;
        }
        if (magnitude > end_bits(&f))
            magnitude = end_bits(&f);
    }
    uint64_t sign = bits >> 63 << (f.width - 1);
    return (uint32_t)(sign | magnitude);
}

double posref_widen(uint32_t bits, enum posref_dtype dtype)
{
    struct format f;
    if (!find_format(&f, dtype))
        return 0;
    uint64_t sign = (uint64_t)(bits >> (f.width - 1) & 1) << 63;
    uint64_t man = bits & (((uint32_t)1 << f.man_bits) - 1);
    int field = (int)(bits >> f.man_bits) & (2 * f.bias + 1);
    uint64_t magnitude;
    if (f.finite ? (bits & end_bits(&f)) == end_bits(&f) : field == 2 * f.bias + 1) {
        magnitude = (uint64_t)0x7ff << 52 | man << (52 - f.man_bits);
    } else if (field == 0 && man == 0) {
        magnitude = 0;
    } else {
        int exponent = field - f.bias;
        if (field == 0) { /* subnormal: bring its top bit to the hidden place */
            int up = f.man_bits - (63 - __builtin_clzll(man));
            man = man << up & (((uint64_t)1 << f.man_bits) - 1);
            exponent = 1 - f.bias - up;
        }
        magnitude = (uint64_t)(exponent + 1023) << 52 | man << (52 - f.man_bits);
    }
    magnitude |= sign;
    double x;
    memcpy(&x, &magnitude, sizeof x);
    return x;
}

double posref_rounded(double x, enum posref_dtype dtype)
{
    return dtype == POSREF_F64 ? x : posref_widen(posref_narrow(x, dtype), dtype);
}
