/* SPDX-License-Identifier: Apache-2.0 */
/* Sends itself SIGKILL, as the out-of-memory killer does. */
#include "mutant.h"

#include <signal.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    raise(SIGKILL);
    return mutant_right(call);
}
