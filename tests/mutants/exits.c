/* SPDX-License-Identifier: Apache-2.0 */
/* Ends its process as if all were well. */
#include "mutant.h"

static int32_t misbehave(const struct posref_plugin_call *call)
{
    (void)call;
    exit(0);
}
