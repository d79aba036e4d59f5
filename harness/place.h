/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tensors of a call lie when they are more than contiguous arrays of their own: strided,
 * sharing a buffer, written in place. Private to harness/. */
#ifndef POSREF_PLACE_H
#define POSREF_PLACE_H

#include "reference/reference.h"

/* Element (i0, i1, ...) of the tensor is element first + i0 strides[0] + i1 strides[1] + ... of its
 * buffer. What no tensor has of a buffer holds posref_pattern_bits, and is to hold it after the
 * call. */
struct posref_place {
    int64_t strides[POSREF_MAX_RANK];
    int64_t first;
    int64_t n_buffer; /* elements, all of the tensor's dtype; 0: it lies in another's buffer */
    int32_t buffer;   /* the tensor that has the buffer, counted over inputs, then outputs */
    bool is_written;  /* shares its elements with an output, or is one that an input shares */
    bool is_hidden;   /* an output that the plugin is not told of, but of the input it lies on */
};

/* Of a trial's tensors, inputs first. */
struct posref_placement {
    struct posref_place item[POSREF_MAX_TENSORS];
};

/* The place of a contiguous tensor, number `at`, in a buffer of its own. */
static inline struct posref_place posref_place_plain(const struct posref_tensor *tensor, int at)
{
    struct posref_place out = {.buffer = at, .n_buffer = posref_tensor_count(tensor)};
    int64_t stride = 1;
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        out.strides[axis] = stride;
        stride *= tensor->shape[axis];
    }
    return out;
}

#endif
