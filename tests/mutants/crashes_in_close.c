/* SPDX-License-Identifier: Apache-2.0 */
/* Right, but crashes while it is closed. */
#include <stdlib.h>

static void close_plugin(void *state)
{
    (void)state;
    abort();
}

#define MUTANT_CLOSE close_plugin
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    return mutant_right(call);
}
