/* SPDX-License-Identifier: Apache-2.0 */
/* A mutant that returns, and writes to the first element of y LATER_US microseconds later, from a
 * thread. */
#include "mutant.h"

#include <pthread.h>
#include <unistd.h>

static void *write_later(void *address)
{
    usleep(LATER_US);
    *(volatile unsigned char *)address = 0x3f;
    return NULL;
}

static int32_t misbehave(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    pthread_t thread;
    int32_t status = mutant_right(call);
    if (pthread_create(&thread, NULL, write_later, (char *)y->data + 3) == 0)
        pthread_detach(thread);
    return status;
}
