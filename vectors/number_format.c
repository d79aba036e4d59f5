/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest decimal of a double: Raffaello Giulietti's Schubfach ("The Schubfach way to render
 * doubles", 2020), printed in ECMAScript's form (ECMA-262, Number::toString). */
#include "vectors/number_powers.h"
#include "vectors/vectors.h"

#include <string.h>

__extension__ typedef unsigned __int128 uint128;

/* digits * 10^exponent */
struct decimal {
    uint64_t digits;
    int exponent;
};

/* Right for |e| <= 5456 and so for every double: the multipliers are log10(2) and log2(10) in
 * fixed point, 262015 / 2^21 is log10(4/3). A shift of a negative number rounds down in every
 * compiler this builds with. */
static int floor_log10_pow2(int e)
{
    return (e * 1262611) >> 22;
}

static int floor_log10_three_quarters_pow2(int e)
{
    return (e * 1262611 - 524031) >> 22;
}

static int floor_log2_pow10(int e)
{
    return (e * 1741647) >> 19;
}

/* power * factor / 2^128 with the last bit set when anything was cut off (rounded to odd): enough
 * to compare it with a multiple of 2. The power is off by less than one unit, which reaches
 * only the lowest bit of the part cut off. */
static uint64_t scale_to_odd(const uint64_t power[2], uint64_t factor)
{
    uint128 low = (uint128)power[1] * factor;
    uint128 high = (uint128)power[0] * factor + (uint64_t)(low >> 64);
    return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

/* The decimal with fewest digits inside the interval that reads back to mantissa * 2^exponent,
 * and the closest of those. The interval is no wider than 10^(k+1) and no narrower than 10^k, so
 * only the neighbours of the value among the multiples of 10^(k+1) and of 10^k matter. All
 * quantities are quadruples, which makes the interval's ends integers. */
static struct decimal shortest(uint64_t mantissa, int exponent, bool narrow_below)
{
    int k = narrow_below ? floor_log10_three_quarters_pow2(exponent) : floor_log10_pow2(exponent);
    int shift = exponent + floor_log2_pow10(-k) + 1;
    const uint64_t *power = posref_power10[-k - POSREF_POWER_MIN];
    uint64_t value4 = scale_to_odd(power, (mantissa * 4) << shift);
    uint64_t low4 = scale_to_odd(power, (mantissa * 4 - 2 + narrow_below) << shift);
    uint64_t high4 = scale_to_odd(power, (mantissa * 4 + 2) << shift);
    /* Ties read back to an even mantissa: then the ends belong to the interval. */
    low4 += mantissa & 1;
    high4 -= mantissa & 1;
    uint64_t below = value4 / 4;
    if (below >= 10) {
        uint64_t tens = below / 10;
        bool down = low4 <= 40 * tens, up = 40 * tens + 40 <= high4;
        if (down != up)
            return (struct decimal){tens + up, k + 1};
    }
    bool down = low4 <= 4 * below, up = 4 * below + 4 <= high4;
    if (down == up)
        up = value4 > 4 * below + 2 || (value4 == 4 * below + 2 && (below & 1));
    return (struct decimal){below + up, k};
}

/* A pair of digits at a time, from the end; returns how many were written before `end`. */
static size_t write_digits(char *end, uint64_t digits)
{
    char *at = end;
    while (digits >= 100) {
        unsigned pair = (unsigned)(digits % 100);
        digits /= 100;
        *--at = (char)('0' + pair % 10);
        *--at = (char)('0' + pair / 10);
    }
    if (digits >= 10) {
        *--at = (char)('0' + digits % 10);
        digits /= 10;
    }
    *--at = (char)('0' + digits);
    return (size_t)(end - at);
}

static size_t write_exponent(char *out, int exponent)
{
    char text[8];
    size_t n = write_digits(text + sizeof text, (uint64_t)(exponent < 0 ? -exponent : exponent));
    out[0] = 'e';
    out[1] = exponent < 0 ? '-' : '+';
    memcpy(out + 2, text + sizeof text - n, n);
    return n + 2;
}

/* ECMA-262: `point` is where the decimal point goes, counted from the first digit. */
static size_t lay_out(char *out, const char *digits, size_t n, int point)
{
    int n_digits = (int)n;
    if (point > 21 || point <= -6) {
        size_t length = 1;
        out[0] = digits[0];
        if (n > 1) {
            out[1] = '.';
            memcpy(out + 2, digits + 1, n - 1);
            length = n + 1;
        }
        return length + write_exponent(out + length, point - 1);
    }
    if (point >= n_digits) {
        memcpy(out, digits, n);
        memset(out + n, '0', (size_t)(point - n_digits));
        return (size_t)point;
    }
    if (point > 0) {
        memcpy(out, digits, (size_t)point);
        out[point] = '.';
        memcpy(out + point + 1, digits + point, n - (size_t)point);
        return n + 1;
    }
    size_t zeros = (size_t)-point;
    memcpy(out, "0.00000000", zeros + 2);
    memcpy(out + 2 + zeros, digits, n);
    return n + 2 + zeros;
}

static size_t write_text(char *out, const char *text)
{
    size_t length = strlen(text);
    memcpy(out, text, length + 1);
    return length;
}

size_t posref_number_format(char out[POSREF_NUMBER_SIZE], double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bool negative = bits >> 63;
    int biased = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    if (biased == 0x7ff)
        return write_text(out, fraction ? "\"NaN\"" : negative ? "\"-Infinity\"" : "\"Infinity\"");
    if (biased == 0 && fraction == 0)
        return write_text(out, negative ? "-0.0" : "0");
    uint64_t mantissa = biased ? fraction | (uint64_t)1 << 52 : fraction;
    int exponent = biased ? biased - 1075 : -1074;
    struct decimal dec = {0, 0};
    if (exponent <= 0 && exponent > -53 && !(mantissa & (((uint64_t)1 << -exponent) - 1)))
        dec.digits = mantissa >> -exponent;
    else
        dec = shortest(mantissa, exponent, fraction == 0 && biased > 1);
    while (dec.digits % 10 == 0) {
        dec.digits /= 10;
        dec.exponent++;
    }
    char digits[24];
    size_t n = write_digits(digits + sizeof digits, dec.digits);
    out[0] = '-';
    size_t length = negative + lay_out(out + negative, digits + sizeof digits - n, n,
                                       (int)n + dec.exponent);
    out[length] = '\0';
    return length;
}
