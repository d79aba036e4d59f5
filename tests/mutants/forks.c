/* SPDX-License-Identifier: Apache-2.0 */
/* Right, but leaves a child behind in a session of its own. */
#include "mutant.h"

#include <sys/prctl.h>
#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    if (fork() == 0) {
        setsid();
        prctl(PR_SET_NAME, "posref-orphan");
        for (;;)
            pause();
    }
    return mutant_right(call);
}
