/* SPDX-License-Identifier: Apache-2.0 */
/* Returns what float32 holds, whatever the dtype: below the gate of f64, and no fault. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    int32_t status = mutant_right(call);
    for (int64_t k = 0; k < mutant_count(y); k++)
        mutant_put(y, k, (double)(float)mutant_get(y, k));
    return status;
}
