/* SPDX-License-Identifier: Apache-2.0 */
/* Speaks an ABI that does not exist. */
#define MUTANT_ABI 99
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    return mutant_right(call);
}
