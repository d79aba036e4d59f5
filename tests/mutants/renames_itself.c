/* SPDX-License-Identifier: Apache-2.0 */
/* Is right, and takes a name that /proc/PID/stat could be misread by, limits itself, and leaves a
 * child of that name in a session of its own. */
#include "mutant.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct rlimit none = {0, 0};
    prctl(PR_SET_NAME, ") R 1 1 1 1 1");
    if (fork() == 0) {
        setsid();
        for (int k = 0; k < 10; k++) /* whom it is to go with does not matter to it */
            sleep(60);
        _exit(0);
    }
    setrlimit(RLIMIT_NOFILE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    setrlimit(RLIMIT_NPROC, &none);
    setrlimit(RLIMIT_MEMLOCK, &none);
    return mutant_right(call);
}
