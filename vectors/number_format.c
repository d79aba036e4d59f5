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
    uint64_t below = value4 / 4, tens = below / 10;
    /* Which it is is a matter of chance, so all are formed and none is branched to. */
    const bool down = low4 <= 4 * below, up = 4 * below + 4 <= high4;
    const bool nearer = value4 + (below & 1) > 4 * below + 2; /* a tie goes to the even one */
    const bool down_tens = low4 <= 40 * tens, up_tens = 40 * tens + 40 <= high4;
    const uint64_t longer = below + ((up & !down) | (nearer & (up == down)));
    const uint64_t is_shorter = (uint64_t)((down_tens != up_tens) & (below >= 10));
    return (struct decimal){longer ^ ((longer ^ (tens + up_tens)) & (0 - is_shorter)),
                            k + (int)is_shorter};
}

/* 1 for 0. */
static int count_digits(uint64_t digits)
{
    static const uint64_t power[] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
        100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
        10000000000000000, 100000000000000000, 1000000000000000000,
    };
    int least = (64 - __builtin_clzll(digits | 1)) * 1233 >> 12; /* log10(2) in fixed point */
    return least + (digits >= power[least] || least == 0);
}

static void write_pair(char *out, uint32_t below_100)
{
    static const char pairs[] = "000102030405060708091011121314151617181920212223242526272829"
                                "303132333435363738394041424344454647484950515253545556575859"
                                "606162636465666768697071727374757677787980818283848586878889"
                                "90919293949596979899";
    memcpy(out, pairs + 2 * below_100, 2);
}

/* Writes the digits that end before `end`, eight or two at a time. */
static void write_digits(char *end, uint64_t digits)
{
    while (digits >= 100000000) {
        uint32_t low = (uint32_t)(digits % 100000000), high = low / 10000;
        digits /= 100000000;
        low %= 10000;
        end -= 8;
        write_pair(end, high / 100);
        write_pair(end + 2, high % 100);
        write_pair(end + 4, low / 100);
        write_pair(end + 6, low % 100);
    }
    uint32_t rest = (uint32_t)digits;
    for (; rest >= 100; rest /= 100)
        write_pair(end -= 2, rest % 100);
    if (rest >= 10)
        write_pair(end - 2, rest);
    else
        end[-1] = (char)('0' + rest);
}

/* Of an exponent below -6 or above 21. */
static size_t write_exponent(char *out, int exponent)
{
    uint64_t size = (uint64_t)(exponent < 0 ? -exponent : exponent);
    int n = count_digits(size);
    out[0] = 'e';
    out[1] = exponent < 0 ? '-' : '+';
    write_digits(out + 2 + n, size);
    return (size_t)n + 2;
}

/* ECMA-262: of a number without trailing zeros, each digit written where it stays but for those
 * before the point. */
static size_t lay_out(char *out, struct decimal dec)
{
    const int n = count_digits(dec.digits);
    int point = n + dec.exponent; /* where it goes, counted from the first digit */
    if (point <= 0 && point > -6) {
        const size_t zeros = (size_t)-point;
        memcpy(out, "0.000000", 8);
        write_digits(out + 2 + zeros + n, dec.digits);
        return 2 + zeros + (size_t)n;
    }
    if (point >= n && point <= 21) {
        write_digits(out + n, dec.digits);
        memset(out + n, '0', (size_t)(point - n));
        return (size_t)point;
    }
    const bool plain = point > 0 && point <= 21;
    const int before = plain ? point : 1;
    size_t length = (size_t)n;
    write_digits(out + 1 + n, dec.digits);
    for (int i = 0; i < before; i++)
        out[i] = out[i + 1];
    if (n > before) {
        out[before] = '.';
        length++;
    }
    return plain ? length : length + write_exponent(out + length, point - 1);
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
    out[0] = '-';
    size_t length = negative + lay_out(out + negative, dec);
    out[length] = '\0';
    return length;
}
