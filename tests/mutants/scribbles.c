/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves a thread that overwrites the memory shared with posref, for ever, by numbers that change:
 * results, progress, texts, offsets. */
#include "mutant.h"

#include <pthread.h>
#include <unistd.h>

struct span {
    unsigned char *begin, *end;
};

/* The mapping of the shared memory, of 32 MiB; begin NULL where it is not found. */
static struct span find_shared(void)
{
    struct span out = {NULL, NULL};
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        void *begin, *end;
        if (strstr(line, "memfd:posref") && sscanf(line, "%p-%p", &begin, &end) == 2)
            out = (struct span){begin, end};
    }
    if (maps)
        fclose(maps);
    return out;
}

static void *scribble(void *unused)
{
    struct span shared = find_shared();
    (void)unused;
    for (uint64_t k = 0; shared.begin; k++) {
        volatile uint64_t *word = (volatile uint64_t *)(void *)shared.begin;
        for (size_t at = 0; at < 1 << 16; at++) {
            uint64_t mixed = (k + at) * 0x9E3779B97F4A7C15u;
            word[at] = k % 3 == 0 ? mixed : k % 3 == 1 ? 1 : ~(uint64_t)0;
        }
    }
    return NULL;
}

static int32_t misbehave(const struct posref_plugin_call *call)
{
    static pthread_t thread;
    if (!thread && pthread_create(&thread, NULL, scribble, NULL) == 0)
        usleep(5000);
    return mutant_right(call);
}
