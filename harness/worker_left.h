/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin leaves behind in its process: threads, handlers of signals, a changed rounding mode
 * or locale. None of it is a failure; reports say it. Private to the worker. */
#ifndef POSREF_WORKER_LEFT_H
#define POSREF_WORKER_LEFT_H

#include "wire.h"

#include <signal.h>

#define POSREF_N_SIGNALS 65 /* numbers from 1 */

struct posref_left_before {
    struct sigaction handler[POSREF_N_SIGNALS];
    int rounding;
    unsigned control; /* the processor's, where there is one to be read */
    int n_threads;
    int threads_fd; /* a directory of the process's threads; the plugin may close it */
};

/* As things are before the plugin is loaded. */
void posref_left_begin(struct posref_left_before *before);
/* Notes in `wire` what has changed since. */
void posref_left_look(struct posref_wire *wire, const struct posref_left_before *before);
/* Threads of this process; 1 where that cannot be known. */
int posref_left_threads(const struct posref_left_before *before);

#endif
