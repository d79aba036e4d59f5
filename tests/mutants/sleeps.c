/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for something that never comes. */
#include "mutant.h"

#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    while (pause() == -1)
        continue;
    return mutant_right(call);
}
