/* SPDX-License-Identifier: Apache-2.0 */
/* Divisors, powers and roots of whole numbers. */
#include "whole.h"

int64_t posref_whole_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t posref_whole_power(int64_t base, int64_t exponent, int64_t limit)
{
    int64_t value = 1;
    if (base == 1)
        return 1;
    for (; exponent > 0; exponent--) {
        if (value > limit / base)
            return -1;
        value *= base;
    }
    return value;
}

int64_t posref_whole_root(int64_t n, int64_t degree)
{
    int64_t low = 1, high = n;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (posref_whole_power(middle, degree, n) < 0)
            high = middle - 1;
        else
            low = middle;
    }
    return posref_whole_power(low, degree, n) == n ? low : 0;
}
