/* SPDX-License-Identifier: Apache-2.0 */
/* A worker process as the parent sees it: start, wait with a clock, end with all descendants.
 * Private to harness/. */
#ifndef POSREF_PROCESS_H
#define POSREF_PROCESS_H

#include "interrupt.h"
#include "wire.h"

#include <sys/types.h>

#define POSREF_CAPTURE_BYTES 4096

struct posref_process {
    pid_t pid; /* 0: none */
    int memory_fd, signal_fd, capture_fd, pid_fd;
    struct posref_wire *wire; /* shared with the worker */
    struct posref_interrupt interrupt;
    uint64_t memory_limit_bytes; /* of what the worker holds; 0: none */
    double looked_at, looked_wide_at;            /* at that memory, by the clock below */
    int wait_status;          /* valid once it has died */
    /* What the plugin printed, over all workers. */
    char captured[POSREF_CAPTURE_BYTES];
    uint64_t captured_bytes;
    /* Children that were there before the first worker: not the plugin's, spared. */
    pid_t spared[64];
    int n_spared;
};

enum posref_wait { POSREF_WAIT_DONE, POSREF_WAIT_DIED, POSREF_WAIT_LATE,
                   POSREF_WAIT_FAT };

/* Makes this process the one that orphaned descendants of the worker fall to, closes it to other
 * processes of the same user (no ptrace, no core file), and holds the signals that would end it
 * (see posref_process_release). */
void posref_process_init(struct posref_process *process);

/* Starts `program --worker plugin config` with fresh shared memory. */
POSREF_MUST_USE enum posref_status posref_process_start(struct posref_process *process,
                                                        const char *program, const char *plugin,
                                                        const char *config,
                                                        struct posref_error *err);

/* Sends one byte. false: the worker is gone. */
bool posref_process_tell(struct posref_process *process, char what);

/* Waits for the worker's byte, its death, `seconds`, or more memory than it may hold (FAT),
 * whichever is first; keeps what the plugin prints. After DIED the status is in wait_status. A
 * signal that ends this process does so here, after the worker and its descendants. */
enum posref_wait posref_process_wait(struct posref_process *process, double seconds);

/* Kills the worker, its process group and everything that fell to us, and releases the rest. */
void posref_process_end(struct posref_process *process);

/* After the last end: lets the held signals through. */
void posref_process_release(struct posref_process *process);

/* Monotonic clock, seconds. */
double posref_process_clock(void);

#endif
