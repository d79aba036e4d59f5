/* SPDX-License-Identifier: Apache-2.0 */
/* Writes far behind the output, beyond any guard page of its own, where another buffer may lie. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    unsigned char *y = posref_plugin_find(call, "y")->data;
    for (int mebibyte = 1; mebibyte < 100; mebibyte += 3)
        ((volatile unsigned char *)y)[(size_t)mebibyte << 20] = 1;
    return mutant_right(call);
}
