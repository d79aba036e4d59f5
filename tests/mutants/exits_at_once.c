/* SPDX-License-Identifier: Apache-2.0 */
/* Ends its process with _exit. */
#include "mutant.h"

#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    (void)call;
    _exit(0);
}
