/* SPDX-License-Identifier: Apache-2.0 */
/* Scales its input in place. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    int32_t status = mutant_right(call);
    mutant_put(x, 0, 2 * mutant_get(x, 0));
    return status;
}
