/* SPDX-License-Identifier: Apache-2.0 */
/* Lays trials into the memory shared with a worker, and reads results back. The parent keeps every
 * offset it will read from in memory of its own: what the plugin writes over the shared layout
 * cannot lead it astray. Private to the runner. */
#ifndef POSREF_BATCH_H
#define POSREF_BATCH_H

#include "runner.h"
#include "wire.h"

struct posref_batch_case {
    uint64_t out_offset[POSREF_MAX_TENSORS];
};

struct posref_batch {
    struct posref_batch_case at[POSREF_WIRE_MAX_CASES];
    uint64_t cases_offset;
    size_t n;
};

/* Lays down as many of the n trials as fit, at least one; their number is out->n. 0: the first one
 * alone is larger than the memory. */
void posref_batch_lay(struct posref_batch *out, struct posref_wire *wire,
                      struct posref_trial *const *trials, size_t n);

/* The worker's record of case k. */
struct posref_wire_case *posref_batch_record(const struct posref_batch *batch,
                                             struct posref_wire *wire, size_t k);

/* Reads back case k, whose record has a result: outputs into the trial's data, and the verdict. */
void posref_batch_read(struct posref_trial *trial, const struct posref_batch *batch,
                       struct posref_wire *wire, size_t k);

/* Looks for elements that nobody wrote (the pattern that outputs start with) and for NaN, and sets
 * the verdict where there are any. */
void posref_trial_look(struct posref_trial *trial);

#endif
