/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for memory and uses it without end (up to a bound: the machine is not only ours). */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    for (int mebibyte = 0; mebibyte < 1500; mebibyte++) {
        unsigned char *leaked = malloc((size_t)1 << 20);
        if (leaked)
            memset(leaked, mebibyte | 1, (size_t)1 << 20);
    }
    return mutant_right(call);
}
