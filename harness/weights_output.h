/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear whole or not at all. Internal to harness/weights*.c. */
#ifndef POSREF_HARNESS_WEIGHTS_OUTPUT_H
#define POSREF_HARNESS_WEIGHTS_OUTPUT_H

#include "harness/weights.h"

struct posref_weights_file {
    int fd;
    const char *path; /* for messages */
};

POSREF_MUST_USE enum posref_status
posref_weights_file_write(struct posref_weights_file *file, const void *data, uint64_t size_bytes,
                          struct posref_error *err);

/* Writes file `number` of the side's checkpoint, permuted. */
POSREF_MUST_USE enum posref_status
posref_weights_write_file(struct posref_weights_file *file, const struct posref_weights_side *side,
                          size_t number, bool to_half, struct posref_error *err);

/* Writes the whole checkpoint to `out`: a temporary file or directory beside it, then a rename. */
POSREF_MUST_USE enum posref_status posref_weights_write(const struct posref_weights_side *side,
                                                        const char *out, bool to_half,
                                                        struct posref_error *err);

#endif
