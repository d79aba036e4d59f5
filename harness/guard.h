/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's buffers: each tensor of a call ends just before an inaccessible page, or begins just
 * after one, and a handler of fatal signals says which tensor an access fell out of. Private to the
 * worker. */
#ifndef POSREF_GUARD_H
#define POSREF_GUARD_H

#include "wire.h"

#define POSREF_GUARD_CANARY_BYTES 64

/* Which edge of the tensor lies at an inaccessible page; the other has a canary. */
enum posref_guard_side { POSREF_GUARD_AFTER, POSREF_GUARD_BEFORE };

struct posref_guard_slot {
    unsigned char *begin, *end; /* usable; inaccessible on both sides */
    unsigned char *data;        /* of the present tensor; NULL: the slot is not in use */
    size_t size_bytes;
    size_t open_bytes; /* accessible at either end */
    unsigned char *kept, *kept_twin; /* the same memory twice: between inaccessible pages, where it
                                      * can be read, and elsewhere, where it can be written */
    size_t kept_bytes; /* readable at kept */
    enum posref_guard_side side;
};

/* Reserves address space for POSREF_MAX_TENSORS slots (memory only as it is used). */
bool posref_guard_init(struct posref_guard_slot slots[POSREF_MAX_TENSORS]);

/* Places a tensor of size_bytes (at most POSREF_WIRE_SIZE_BYTES - POSREF_GUARD_CANARY_BYTES) at one
 * end of a slot and lays a canary on its other side. false: the memory cannot be had. */
bool posref_guard_place(struct posref_guard_slot *slot, size_t size_bytes,
                        enum posref_guard_side side);

/* The same of a tensor that is only to be read, just after an inaccessible page: a write into it
 * faults, even one that would not show. Returns where it is to be filled in; NULL, and nothing is
 * placed: it is too large for that, or the memory cannot be had. */
unsigned char *posref_guard_keep(struct posref_guard_slot *slot, size_t size_bytes);

/* Whether the canary is whole; if not, *offset is that of the byte that changed nearest to the
 * tensor, from the tensor's first byte. */
bool posref_guard_check(int64_t *offset, const struct posref_guard_slot *slot);

/* Makes the tensors of all slots inaccessible, or accessible again. An access in between is
 * one after the call returned. false: it cannot be done. */
bool posref_guard_close(struct posref_guard_slot slots[POSREF_MAX_TENSORS], bool close);
/* The bytes of the tensor as it was placed on the other side, which are as they were left there;
 * NULL where they overlap. */
const unsigned char *posref_guard_other(const struct posref_guard_slot *slot);

/* Installs handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL on a stack of their own. They note in
 * `wire` what happened and let the signal kill the process. */
bool posref_guard_watch(struct posref_wire *wire, const struct posref_guard_slot *slots);

#endif
