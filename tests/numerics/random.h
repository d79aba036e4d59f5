/* SPDX-License-Identifier: Apache-2.0 */
/* The random numbers of the numerics checks: splitmix64. The program sets `state` to its printed
 * seed. */
#ifndef POSREF_TESTS_NUMERICS_RANDOM_H
#define POSREF_TESTS_NUMERICS_RANDOM_H

#include <stdint.h>

static uint64_t state;

static inline uint64_t next_random(void)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline int64_t random_between(int64_t low, int64_t high)
{
    return low + (int64_t)(next_random() % (uint64_t)(high - low + 1));
}

#endif
