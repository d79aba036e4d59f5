/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves a thread that overwrites the memory shared with posref, for ever, by numbers that change:
 * results, progress, texts, offsets. */
#include "mutant.h"

#include <pthread.h>
#include <unistd.h>

static void *scribble(void *unused)
{
    unsigned char *end;
    volatile uint64_t *word = (volatile uint64_t *)(void *)mutant_shared(&end);
    (void)unused;
    if (!word)
        return NULL;
    for (uint64_t k = 0;; k++)
        for (size_t at = 0; at < 1 << 16; at++) {
            uint64_t mixed = (k + at) * 0x9E3779B97F4A7C15u;
            word[at] = k % 3 == 0 ? mixed : k % 3 == 1 ? 1 : ~(uint64_t)0;
        }
}

static int32_t misbehave(const struct posref_plugin_call *call)
{
    static pthread_t thread;
    if (!thread && pthread_create(&thread, NULL, scribble, NULL) == 0)
        usleep(5000);
    return mutant_right(call);
}
