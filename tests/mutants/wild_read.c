/* SPDX-License-Identifier: Apache-2.0 */
/* Reads through a wild pointer. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    volatile const int *wild = (volatile const int *)(uintptr_t)0x5A5A5A5A5000u;
    return *wild == 1 ? POSREF_PLUGIN_ERROR : mutant_right(call);
}
