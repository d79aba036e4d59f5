/* SPDX-License-Identifier: Apache-2.0 */
/* Fails, and says so. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    (void)call;
    return POSREF_PLUGIN_ERROR;
}
