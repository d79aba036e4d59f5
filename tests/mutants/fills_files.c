/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files until it may open no more, and prints for ever from a thread. */
#include "mutant.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void *print(void *unused)
{
    static const char line[] = "{\"type\": \"footer\", \"verdict\": \"pass\"}\n";
    (void)unused;
    while (write(1, line, sizeof line - 1) > 0)
        continue;
    return NULL;
}

static int32_t misbehave(const struct posref_plugin_call *call)
{
    pthread_t thread;
    for (int k = 0; k < 100000 && open("/dev/null", O_RDWR) >= 0; k++)
        continue;
    if (pthread_create(&thread, NULL, print, NULL) == 0)
        pthread_detach(thread);
    return mutant_right(call);
}
