/* SPDX-License-Identifier: Apache-2.0 */
/* Calls abort, as assertions do. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    (void)call;
    abort();
}
