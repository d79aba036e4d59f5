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
    bool are_closed; /* the tensors of the last call are inaccessible */
    unsigned char *scratch; /* worker_place.c's, of malloc */
    size_t scratch_bytes;
};

/* A case as this side sees it: copied, so that a plugin that writes where it should not cannot
 * mislead it. */
struct posref_worker_job {
    struct posref_worker *w;
    struct posref_wire_case *record;
    uint32_t index, n;
    struct posref_wire_tensor tensor[POSREF_MAX_TENSORS];
    struct posref_plugin_tensor described[POSREF_MAX_TENSORS];
    const struct posref_plugin_tensor *list[POSREF_MAX_TENSORS];
    struct posref_plugin_call call;
    char why[POSREF_WIRE_TEXT];
    /* Where the record has a placement: of each tensor that has a buffer what it held before the
     * call, of each output what the call left in it, contiguous. */
    bool is_placed;
    struct posref_placement placement;
    unsigned char *before[POSREF_MAX_TENSORS], *result[POSREF_MAX_TENSORS];
};

/* The tensor as plugins know it, contiguous at `data`. */
void posref_worker_describe(struct posref_plugin_tensor *out, const struct posref_wire_tensor *in,
                            void *data);

/* The first byte in which they differ; there is one. */
int64_t posref_worker_difference(const unsigned char *a, const unsigned char *b);

/* Notes which byte of tensor i the result is about. */
enum posref_wire_result posref_worker_blame(struct posref_worker_job *job,
                                            enum posref_wire_result result, uint32_t i,
                                            int64_t offset_bytes);

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

/* ---- tensors with a placement (worker_place.c) ---- */

/* Once for a case that is placed; false: no memory. */
bool posref_worker_place_begin(struct posref_worker_job *job);
/* Fresh buffers between guards, filled, and the call's list of tensors. */
bool posref_worker_place_lay(struct posref_worker_job *job, enum posref_guard_side side);
/* After a call: collects the outputs; canaries, inputs and what lies between rows left alone. */
enum posref_wire_result posref_worker_place_check(struct posref_worker_job *job);
/* After the second call: whether the first one's buffers were written to since. */
enum posref_wire_result posref_worker_place_left(struct posref_worker_job *job);

#endif
