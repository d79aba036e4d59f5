/* SPDX-License-Identifier: Apache-2.0 */
/* Right, and leaves behind a thread, a handler, flushed subnormals and a locale. */
#include "mutant.h"

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *wait_for_ever(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}

static void ignore(int number)
{
    (void)number;
}

static int32_t misbehave(const struct posref_plugin_call *call)
{
    static int left;
    pthread_t thread;
    int32_t status = mutant_right(call);
    if (left++)
        return status;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0)
        pthread_detach(thread);
    signal(SIGUSR1, ignore);
    setlocale(LC_ALL, "C.UTF-8");
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#endif
    return status;
}
