/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs and errors between 2^63 and 1e21: whole numbers that no 64-bit integer holds. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    for (int64_t k = 0; k < mutant_count(y); k++)
        mutant_put(y, k, 0x1p64);
    return POSREF_PLUGIN_OK;
}
