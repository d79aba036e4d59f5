/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves a child in a session of its own, then never returns. */
#include "mutant.h"

#include <sys/prctl.h>
#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    (void)call;
    if (fork() == 0) {
        setsid();
        prctl(PR_SET_NAME, "posref-daemon");
        sleep(20);
        _exit(0);
    }
    for (;;)
        pause();
}
