/* SPDX-License-Identifier: Apache-2.0 */
/* Joining the streams of the shards of one run into the stream that the run would have been, when
 * they are all there and every vector was judged exactly once. Private to harness/. */
#ifndef POSREF_MERGE_H
#define POSREF_MERGE_H

#include "stream.h"

struct posref_merge_input {
    const char *path; /* for errors */
    const char *lines;
    size_t size_bytes;
};

/* Appends the joined stream. *conforms as a run has it; *n_judged: lines that are not
 * `unsupported`. BAD_INPUT, naming the file, when a stream is incomplete, the runs are not of one
 * kind (suite digest, plugin, filter, gates), or a vector is missing or there twice. */
POSREF_MUST_USE enum posref_status posref_merge(struct posref_buffer *out, bool *conforms,
                                                int64_t *n_judged,
                                                const struct posref_merge_input *inputs, size_t n,
                                                struct posref_error *err);

#endif
