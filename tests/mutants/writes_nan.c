/* SPDX-License-Identifier: Apache-2.0 */
/* One element is NaN. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    int32_t status = mutant_right(call);
    mutant_put(y, 0, nan(""));
    return status;
}
