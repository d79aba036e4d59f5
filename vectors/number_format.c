/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest decimal of a double: Raffaello Giulietti's Schubfach ("The Schubfach way to render
 * doubles", 2020), printed in ECMAScript's form (ECMA-262, Number::toString). */
#include "vectors/number_powers.h"
#include "vectors/vectors.h"

#include <string.h>

__extension__ typedef unsigned __int128 uint128;

#define MOST_DIGITS 17 /* that a double needs */

static const uint64_t power10[MOST_DIGITS + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
    100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
    10000000000000000, 100000000000000000,
};

/* digits * 10^exponent */
struct decimal {
    uint64_t digits;
    int exponent;
};

/* The same for printing: n digits, filled up with zeros to MOST_DIGITS, and the point after the
 * first `point` of them. */
struct printed {
    uint64_t digits;
    int n, point;
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

/* Of 1 to 10^17 - 1. */
static int count_digits(uint64_t digits)
{
    int least = (64 - __builtin_clzll(digits)) * 1233 >> 12; /* log10(2) in fixed point */
    return least + (digits >= power10[least]);
}

/* What `shortest` finds, in one product instead of three, where the value keeps away from what
 * decides; false: it does not, or is no normal double that this is for. The interval is symmetric,
 * for no power of two comes here.
 *
 * With 10^k <= 2^exponent < 10^(k+1), x = mantissa 2^exponent / 10^(k+1) is tens + fraction, the
 * interval's ends are x -+ half, 0.05 <= half < 0.5. If one of the neighbours of x among the
 * integers is inside (two cannot be), it is the shorter decimal; else it is the multiple of 1/10
 * that is nearest, which is inside. fraction and half are in units of 2^-64; the power and the cut
 * products put them off by less than 2. */
static inline bool shortest_quickly(struct printed *out, uint64_t biased, uint64_t leading)
{
    if (leading == 0 || biased - 1 > 1975 - 1) /* beyond 2^952 the table ends */
        return false;
    const uint64_t mantissa = leading | (uint64_t)1 << 52;
    const int exponent = (int)biased - 1075;
    const int k = floor_log10_pow2(exponent);
    const int shift = exponent + floor_log2_pow10(-k - 1) + 1; /* -3 .. 0 */
    const uint64_t *power = posref_power10[-k - 1 - POSREF_POWER_MIN];
    const uint64_t factor = mantissa << (4 + shift); /* x = power * factor / 2^132 */
    const uint128 high = (uint128)power[0] * factor + (uint64_t)((uint128)power[1] * factor >> 64);
    const uint64_t tens = (uint64_t)(high >> 68), fraction = (uint64_t)(high >> 4);
    const uint64_t half = power[0] >> (1 - shift);
    const uint128 tenths = (uint128)fraction * 10;
    const uint64_t rest = (uint64_t)tenths, tie = (uint64_t)1 << 63;
    if ((fraction - half + 4 < 8) | (fraction + half + 4 < 8) | (rest - tie + 32 < 64))
        return false;
    /* Which it is is a matter of chance here too. */
    const uint64_t is_shorter = (fraction < half) | (0 - fraction < half);
    const uint64_t nearest = (uint64_t)(tenths >> 64) + (rest > tie);
    const uint64_t rounded = (0 - (fraction >> 63)) & 10;
    const uint64_t digits = tens * 10 + (nearest ^ ((nearest ^ rounded) & (0 - is_shorter)));
    if (is_shorter & (digits % 100 == 0))
        return false; /* one in 25: there are more zeros to take off */
    const int n_tens = 15 + (tens >= power10[15]);
    *out = (struct printed){digits * power10[16 - n_tens], n_tens + !is_shorter, n_tens + k + 1};
    return true;
}

static void write_pair(char *out, uint32_t below_100)
{
    static const char pairs[] = "000102030405060708091011121314151617181920212223242526272829"
                                "303132333435363738394041424344454647484950515253545556575859"
                                "606162636465666768697071727374757677787980818283848586878889"
                                "90919293949596979899";
    memcpy(out, pairs + 2 * below_100, 2);
}

static void write_eight(char *out, uint32_t number)
{
    const uint32_t high = number / 10000, low = number % 10000;
    write_pair(out, high / 100);
    write_pair(out + 2, high % 100);
    write_pair(out + 4, low / 100);
    write_pair(out + 6, low % 100);
}

/* All MOST_DIGITS, leading zeros too: how many there are is a matter of chance and costs more than
 * the few that are not looked at. */
static void write_digits(char *out, uint64_t digits)
{
    const uint64_t low = digits % 10000000000000000;
    out[0] = (char)('0' + digits / 10000000000000000);
    write_eight(out + 1, (uint32_t)(low / 100000000));
    write_eight(out + 9, (uint32_t)(low % 100000000));
}

/* Of an exponent below -6 or above 21. */
static size_t write_exponent(char *out, int exponent)
{
    const int size = exponent < 0 ? -exponent : exponent;
    size_t length = 2;
    out[0] = 'e';
    out[1] = exponent < 0 ? '-' : '+';
    if (size >= 100)
        out[length++] = (char)('0' + size / 100);
    if (size >= 10)
        out[length++] = (char)('0' + size / 10 % 10);
    out[length] = (char)('0' + size % 10);
    return length + 1;
}

/* ECMA-262: each digit is written where it stays but for those before the point. Writes beyond the
 * length that it returns, 25 characters at most. */
static size_t lay_out(char *out, struct printed it)
{
    const int n = it.n, point = it.point;
    if (point <= 0 && point > -6) {
        memcpy(out, "0.000000", 8);
        write_digits(out + 2 - point, it.digits);
        return (size_t)(2 - point + n);
    }
    if (point >= n && point <= 21) {
        write_digits(out, it.digits);
        memset(out + MOST_DIGITS, '0', 21 - MOST_DIGITS);
        return (size_t)point;
    }
    const bool plain = point > 0 && point <= 21;
    const int before = plain ? point : 1;
    size_t length = (size_t)n;
    write_digits(out + 1, it.digits);
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

/* Of a finite number other than 0; leading: the mantissa's stored bits. */
static __attribute__((noinline)) struct printed work_out(int biased, uint64_t leading)
{
    const uint64_t mantissa = biased ? leading | (uint64_t)1 << 52 : leading;
    const int exponent = biased ? biased - 1075 : -1074;
    struct decimal dec;
    if (exponent <= 0 && exponent > -53 && !(mantissa & (((uint64_t)1 << -exponent) - 1)))
        dec = (struct decimal){mantissa >> -exponent, 0};
    else
        dec = shortest(mantissa, exponent, leading == 0 && biased > 1);
    while (dec.digits % 10 == 0) {
        dec.digits /= 10;
        dec.exponent++;
    }
    const int n = count_digits(dec.digits);
    return (struct printed){dec.digits * power10[MOST_DIGITS - n], n, n + dec.exponent};
}

size_t posref_number_format(char out[POSREF_NUMBER_SIZE], double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const bool negative = bits >> 63;
    const uint64_t biased = bits >> 52 & 0x7ff, leading = bits & (((uint64_t)1 << 52) - 1);
    struct printed it;
    if (!shortest_quickly(&it, biased, leading)) {
        if (biased == 0x7ff)
            return write_text(out, leading    ? "\"NaN\""
                                   : negative ? "\"-Infinity\""
                                              : "\"Infinity\"");
        if (bits << 1 == 0)
            return write_text(out, negative ? "-0.0" : "0");
        it = work_out((int)biased, leading);
    }
    out[0] = '-';
    const size_t length = negative + lay_out(out + negative, it);
    out[length] = '\0';
    return length;
}
