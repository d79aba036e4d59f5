/* SPDX-License-Identifier: Apache-2.0 */
/* Signals from a child, which the filter of the worker ends too; then sends itself SIGKILL. */
#include "mutant.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    int status = 0;
    pid_t posref = getppid(), child = fork();
    if (child == 0) {
        kill(posref, 0);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) /* the filter holds for children too */
        raise(SIGKILL);
    return mutant_right(call);
}
