/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the memory that it shares with posref off, having found it among posref's descriptors. */
#include "mutant.h"

#include <fcntl.h>
#include <unistd.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    for (int k = 3; k < 64; k++) {
        char path[64], target[64] = "";
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getppid(), k);
        if (readlink(path, target, sizeof target - 1) < 0 || !strstr(target, "memfd:posref"))
            continue;
        int fd = open(path, O_RDWR);
        if (fd >= 0 && ftruncate(fd, 0) != 0)
            close(fd);
    }
    return mutant_right(call);
}
