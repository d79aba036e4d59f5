/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end a run, held until the worker and its descendants are ended: they are in sessions
 * of their own, where no terminal's interrupt reaches them. Private to harness/. */
#ifndef POSREF_INTERRUPT_H
#define POSREF_INTERRUPT_H

#include <signal.h>

struct posref_interrupt {
    int fd; /* readable once a signal has come; -1: none */
    sigset_t before; /* the mask to go back to */
};

/* Holds SIGINT, SIGTERM, SIGHUP and SIGQUIT, except those that are ignored (nohup). */
void posref_interrupt_hold(struct posref_interrupt *interrupt);

/* Lets signals through again; one that was held acts now, and ends the process as it would have. */
void posref_interrupt_release(struct posref_interrupt *interrupt);

#endif
