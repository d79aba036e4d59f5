/* SPDX-License-Identifier: Apache-2.0 */
/* Crashes while it is opened. */
#include <stdint.h>
#include <stdlib.h>

static int32_t open_plugin(void **state, const char *config, char *why, size_t why_size)
{
    (void)state, (void)config, (void)why, (void)why_size;
    abort();
}

#define MUTANT_OPEN open_plugin
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    return mutant_right(call);
}
