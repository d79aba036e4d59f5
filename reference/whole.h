/* SPDX-License-Identifier: Apache-2.0 */
/* Divisors, powers and roots of whole numbers: what decides exact cases. Private to reference/. */
#ifndef POSREF_WHOLE_H
#define POSREF_WHOLE_H

#include <stdint.h>

/* Of numbers >= 0. */
int64_t posref_whole_gcd(int64_t a, int64_t b);
/* base^exponent, or -1 when it exceeds limit; base, limit >= 1. */
int64_t posref_whole_power(int64_t base, int64_t exponent, int64_t limit);
/* r >= 1 with r^degree = n, or 0; degree >= 1. */
int64_t posref_whole_root(int64_t n, int64_t degree);

#endif
