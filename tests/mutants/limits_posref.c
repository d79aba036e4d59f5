/* SPDX-License-Identifier: Apache-2.0 */
/* Ends posref by ways that are no signal of its own: limits, and a descriptor that the kernel is to
 * signal posref about. Its answers are right. */
#include "mutant.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void signal_by_socket(pid_t whom)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return;
    for (int way = 0; way < 3; way++) {
        const struct f_owner_ex owner = {F_OWNER_PID, whom};
        int number = (int)whom;
        if (way == 0)
            fcntl(ends[0], F_SETOWN, whom);
        else if (way == 1)
            fcntl(ends[0], F_SETOWN_EX, &owner);
        else
            ioctl(ends[0], SIOCSPGRP, &number);
        fcntl(ends[0], F_SETSIG, SIGKILL);
        fcntl(ends[0], F_SETFL, O_ASYNC);
        if (write(ends[1], "x", 1) != 1)
            break;
    }
    close(ends[0]);
    close(ends[1]);
}

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct rlimit none = {0, 0};
    prlimit(getppid(), RLIMIT_NOFILE, &none, NULL);
    prlimit(getppid(), RLIMIT_FSIZE, &none, NULL);
    prlimit(getppid(), RLIMIT_CPU, &none, NULL);
    signal_by_socket(getppid());
    return mutant_right(call);
}
