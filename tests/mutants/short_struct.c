/* SPDX-License-Identifier: Apache-2.0 */
/* Says that its struct posref_plugin ends before its functions. */
#define MUTANT_SIZE 8
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    return mutant_right(call);
}
