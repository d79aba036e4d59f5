/* SPDX-License-Identifier: Apache-2.0 */
/* Unmaps the memory that the worker shares with posref. */
#include "mutant.h"

#include <sys/mman.h>

static int32_t misbehave(const struct posref_plugin_call *call)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    mutant_right(call);
    while (maps && fgets(line, sizeof line, maps)) {
        void *begin, *end;
        if (strstr(line, "memfd:posref") && sscanf(line, "%p-%p", &begin, &end) == 2)
            munmap(begin, (size_t)((char *)end - (char *)begin));
    }
    return POSREF_PLUGIN_OK;
}
