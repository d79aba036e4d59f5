/* SPDX-License-Identifier: Apache-2.0 */
/* Ends posref itself, then goes on with right answers. */
#include "mutant.h"

#include <signal.h>
#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    kill(getppid(), SIGKILL);
    return mutant_right(call);
}
