/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one element after its input. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    volatile double beyond = mutant_get(x, mutant_count(x));
    (void)beyond;
    return mutant_right(call);
}
