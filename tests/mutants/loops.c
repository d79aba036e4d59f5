/* SPDX-License-Identifier: Apache-2.0 */
/* Never comes back. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    volatile int forever = 1;
    while (forever)
        continue;
    return mutant_right(call);
}
