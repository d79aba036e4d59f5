/* SPDX-License-Identifier: Apache-2.0 */
/* The shared memory between `posref test` and its worker: one batch of cases at a time. Private to
 * harness/. Both sides are the same executable, so the layout needs no versions.
 *
 * The plugin can reach the worker's mapping of this memory. So the parent keeps the layout in
 * memory of its own and reads from here nothing but results: words, bounded text and the bytes of
 * the outputs at the offsets that the parent chose. Golden values never come here. */
#ifndef POSREF_WIRE_H
#define POSREF_WIRE_H

#include "place.h"

#include <stdatomic.h>

#define POSREF_WIRE_SIZE_BYTES ((size_t)32 << 20)
#define POSREF_WIRE_MAX_CASES 1024
#define POSREF_WIRE_TEXT 200

/* The worker's descriptors: everything else is closed before the plugin is loaded. */
enum { POSREF_WORKER_FD_MEMORY = 3, POSREF_WORKER_FD_SIGNAL = 4 };

/* One byte each way over the socket. */
enum { POSREF_WIRE_BATCH = 'B', POSREF_WIRE_QUIT = 'Q', POSREF_WIRE_DONE = 'D' };

/* What the worker does now; the parent's deadlines depend on it. */
enum posref_phase { POSREF_PHASE_LOAD, POSREF_PHASE_OPEN, POSREF_PHASE_IDLE, POSREF_PHASE_SUPPORTS,
                    POSREF_PHASE_RUN, POSREF_PHASE_AGAIN, POSREF_PHASE_REPEAT, POSREF_PHASE_CLOSE,
                    POSREF_PHASE_CLOSED };

/* How far the worker's loading of the plugin got. */
enum posref_load { POSREF_LOAD_NONE, POSREF_LOAD_FAILED, POSREF_LOAD_NO_ENTRY, POSREF_LOAD_BAD_ABI,
                   POSREF_LOAD_OPEN_FAILED, POSREF_LOAD_READY };

enum posref_wire_result { POSREF_WIRE_NOT_RUN, POSREF_WIRE_RETURNED, POSREF_WIRE_DECLINED,
                          POSREF_WIRE_ERROR, POSREF_WIRE_BAD_STATUS, POSREF_WIRE_INPUT_MODIFIED,
                          POSREF_WIRE_BAD_WRITE, POSREF_WIRE_DIFFERS, POSREF_WIRE_DISTURBED,
                          POSREF_WIRE_LATE };

struct posref_wire_tensor {
    char name[32];
    uint32_t dtype, rank, is_output;
    uint64_t offset, size_bytes; /* of the data in the shared memory */
    int64_t shape[POSREF_MAX_RANK];
};

struct posref_wire_case {
    uint64_t op_offset, spec_offset, layout_offset; /* NUL-terminated text */
    uint64_t tensors_offset;         /* struct posref_wire_tensor [n_tensors] */
    uint64_t placement_offset;       /* struct posref_placement; 0: every tensor is contiguous */
    uint32_t n_tensors;
    /* Written by the worker, result last. */
    uint32_t bad_tensor;
    int64_t bad_offset_bytes; /* from the tensor's first byte */
    uint64_t run_ns;
    char why[POSREF_WIRE_TEXT];
    _Atomic uint32_t result;
};

/* What the plugin has left behind in its process. */
struct posref_left {
    uint32_t n_threads;
    uint32_t rounding, flush, locale; /* 1: changed */
    uint32_t varies;                  /* 1: declared, see posref_plugin.h */
    uint64_t handlers;                /* of signal n in bit n - 1 */
};

struct posref_wire {
    _Atomic uint64_t progress; /* case index << 8 | enum posref_phase */
    uint32_t n_cases;
    uint64_t cases_offset; /* struct posref_wire_case [n_cases] */
    /* Filled once by the worker. */
    _Atomic uint32_t load;
    uint32_t plugin_abi;
    char plugin_name[64], plugin_version[32], plugin_layouts[512], plugin_dtypes[64];
    char load_text[POSREF_WIRE_TEXT];
    /* Filled by the worker's handler of fatal signals. */
    _Atomic uint32_t fault_signal;
    int32_t fault_tensor; /* -1: not next to a tensor of the call */
    int32_t fault_is_write;
    int64_t fault_offset_bytes;
    int32_t fault_is_late; /* the call had returned */
    struct posref_left left;
};

static inline uint64_t posref_wire_progress(uint32_t index, enum posref_phase phase)
{
    return (uint64_t)index << 8 | (uint64_t)phase;
}

/* The element that a byte lies in, before the tensor a negative one. The offset may be any: it
 * comes from the plugin's process. */
static inline int64_t posref_wire_element(int64_t offset_bytes, enum posref_dtype dtype)
{
    int64_t size = (int64_t)posref_dtype_size(dtype);
    return offset_bytes / size - (offset_bytes % size < 0);
}

#endif
