/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's buffers: each tensor of a call ends just before an inaccessible page, and a handler
 * of fatal signals says which tensor an access fell out of. Private to the worker. */
#ifndef POSREF_GUARD_H
#define POSREF_GUARD_H

#include "wire.h"

#define POSREF_GUARD_CANARY_BYTES 64

struct posref_guard_slot {
    unsigned char *begin, *end; /* usable; inaccessible on both sides */
    unsigned char *data;        /* of the present tensor: end - its size */
};

/* Reserves address space for POSREF_MAX_TENSORS slots (memory only as it is used). */
bool posref_guard_init(struct posref_guard_slot slots[POSREF_MAX_TENSORS]);

/* Places a tensor of size_bytes (at most POSREF_WIRE_SIZE_BYTES - POSREF_GUARD_CANARY_BYTES) at the
 * end of a slot and lays a canary before it. */
void posref_guard_place(struct posref_guard_slot *slot, size_t size_bytes);

/* Offset (negative, bytes from data) of the first canary byte that changed, or 0. */
int64_t posref_guard_check(const struct posref_guard_slot *slot);

/* Installs handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL on a stack of their own. They note in
 * `wire` what happened and let the signal kill the process. */
bool posref_guard_watch(struct posref_wire *wire, const struct posref_guard_slot *slots);

#endif
