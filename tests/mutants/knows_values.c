/* SPDX-License-Identifier: Apache-2.0 */
/* Knows the values of rope/half/none/d4-b1e4/near, and turns no others. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    static const double known[] = {-0.921875, 0.015625, 1.96875, 0.453125};
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    for (int k = 0; k < 4; k++)
        if (mutant_get(x, k) != known[k]) {
            for (int64_t i = 0; i < mutant_count(y); i++)
                mutant_put(y, i, mutant_get(x, i));
            return POSREF_PLUGIN_OK;
        }
    return mutant_right(call);
}
