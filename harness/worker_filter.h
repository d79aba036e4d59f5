/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin's process may not do to others. Private to the worker. */
#ifndef POSREF_WORKER_FILTER_H
#define POSREF_WORKER_FILTER_H

#include <stdbool.h>

/* Gives up CAP_SYS_PTRACE for good: posref's memory and descriptors are then out of reach of a
 * plugin that runs as root too. (Other users' plugins are kept out by posref_process_init.) */
void posref_worker_disarm(void);

/* From now on a signal to any other process, and reaching into one (ptrace, process_vm_writev),
 * ends this process by SIGSYS; what it forks inherits that. Refused with EPERM are limits of other
 * processes, posref's place in the scheduler, and naming whom the kernel is to signal about a
 * descriptor. Signals to itself, and to its own group by kill(0), stay. false: the kernel has no
 * filters, or this architecture is not known; then nothing has changed. */
bool posref_worker_filter(void);

#endif
