/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin's process may not do to others. Private to the worker. */
#ifndef POSREF_WORKER_FILTER_H
#define POSREF_WORKER_FILTER_H

#include <stdbool.h>

/* From now on a signal to any other process, and reaching into one (ptrace, process_vm_writev),
 * ends this process by SIGSYS; what it forks inherits that. false: the kernel has no filters, or
 * this architecture is not known; then nothing has changed. Signals to itself, and to its own group
 * by kill(0), stay. */
bool posref_worker_filter(void);

#endif
