/* SPDX-License-Identifier: Apache-2.0 */
/* Divides an integer by zero. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    volatile int one = 1, zero = 0, quotient = one / zero;
    return quotient + mutant_right(call);
}
