/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces its process by another program, with the worker's descriptors open. */
#include "mutant.h"

#include <fcntl.h>
#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    for (int fd = 3; fd < 16; fd++)
        fcntl(fd, F_SETFD, 0);
    execl("/bin/sh", "sh", "-c", "printf DDDD >&4; exit 0", (char *)NULL);
    return mutant_right(call);
}
