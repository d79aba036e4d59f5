/* SPDX-License-Identifier: Apache-2.0 */
/* Cannot be opened, and says why. */
#include <stdint.h>
#include <stdio.h>

static int32_t open_plugin(void **state, const char *config, char *why, size_t why_size)
{
    (void)state, (void)config;
    snprintf(why, why_size, "no device");
    return 2;
}

#define MUTANT_OPEN open_plugin
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    return mutant_right(call);
}
