/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a file of its own in the place of the worker's channel to posref. */
#include "mutant.h"

#include <fcntl.h>
#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 1; fd < 8; fd++)
        if (fd != null)
            dup2(null, fd);
    return mutant_right(call);
}
