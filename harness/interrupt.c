/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end a run, held for a while. */
#include "interrupt.h"

#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

void posref_interrupt_hold(struct posref_interrupt *interrupt)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t held;
    sigemptyset(&held);
    for (size_t k = 0; k < sizeof ending / sizeof *ending; k++) {
        struct sigaction action;
        /* A signal that is ignored would be queued all the same while it is blocked. */
        if (sigaction(ending[k], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&held, ending[k]);
    }
    (void)sigprocmask(SIG_BLOCK, &held, &interrupt->before);
    interrupt->fd = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
}

void posref_interrupt_release(struct posref_interrupt *interrupt)
{
    if (interrupt->fd >= 0)
        close(interrupt->fd);
    interrupt->fd = -1;
    (void)sigprocmask(SIG_SETMASK, &interrupt->before, NULL); /* what is pending acts here */
}
