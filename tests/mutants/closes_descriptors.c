/* SPDX-License-Identifier: Apache-2.0 */
/* Closes every descriptor of its process. */
#include "mutant.h"

#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    return mutant_right(call);
}
