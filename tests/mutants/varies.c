/* SPDX-License-Identifier: Apache-2.0 */
/* Every call gives another result, within any tolerance. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    static int calls;
    int32_t status = mutant_right(call);
    double value = mutant_get(y, 0);
    mutant_put(y, 0, value * (1 + (++calls % 2) * (y->dtype == POSREF_PLUGIN_F64 ? 1e-15 : 2e-7)));
    return status;
}
