/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one element before its output. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    mutant_put(y, -1, 0);
    return mutant_right(call);
}
