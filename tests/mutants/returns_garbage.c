/* SPDX-License-Identifier: Apache-2.0 */
/* Returns a status that does not exist. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    return mutant_right(call) + 4711;
}
