/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one element before its input. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    volatile double before = mutant_get(x, -1);
    (void)before;
    return mutant_right(call);
}
