/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to every descriptor, the worker's channel to posref among them. */
#include "mutant.h"

#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    for (int fd = 3; fd < 16; fd++)
        if (write(fd, "DDDD", 4) < 0)
            continue;
    return mutant_right(call);
}
