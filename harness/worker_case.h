/* SPDX-License-Identifier: Apache-2.0 */
/* One case in the worker. Private to worker.c and worker_case.c. */
#ifndef POSREF_WORKER_CASE_H
#define POSREF_WORKER_CASE_H

#include "guard.h"
#include "posref_plugin.h"
#include "wire.h"
#include "worker_left.h"

struct posref_worker {
    struct posref_wire *wire;
    unsigned char *memory; /* the same address, for offsets */
    const struct posref_plugin *plugin;
    void *state;
    struct posref_guard_slot slots[POSREF_MAX_TENSORS];
    struct posref_left_before before;
    bool varies;   /* as the plugin declares */
    int n_threads; /* after the last call */
    int n_waits;   /* for threads that calls have started */
};

static inline void posref_worker_phase(struct posref_worker *w, uint32_t index,
                                       enum posref_phase phase)
{
    atomic_store(&w->wire->progress, posref_wire_progress(index, phase));
}

/* Runs case `index` and writes its record: once with the tensors just before inaccessible pages
 * and once just after them, so that an access beyond either edge shows. Where the two outputs
 * differ, a third call, placed as the second, and a fourth, placed as the first, tell chance and
 * results left over from alignment. */
void posref_worker_run(struct posref_worker *w, uint32_t index, struct posref_wire_case *c);

#endif
