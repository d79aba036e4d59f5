/* SPDX-License-Identifier: Apache-2.0 */
/* Writes through a null pointer. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
    return mutant_right(call);
}
