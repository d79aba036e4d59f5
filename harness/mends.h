/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that leave a part of the outputs as it was: a loop that ends one row, head or key too
 * early, a table that is not added. What is left is 0, or the input's own value where the output
 * has its shape; the rest is right. Private to harness/. */
#ifndef POSREF_MENDS_H
#define POSREF_MENDS_H

#include "vectors/vectors.h"

struct posref_mending {
    enum posref_op op;
    enum posref_dtype dtype; /* that `actual` came in */
    const struct posref_spec *spec;
    const struct posref_tensors *in;     /* as handed to the kernel */
    const struct posref_tensors *wanted; /* what the outputs should be, F64, in the same order */
    const struct posref_arena *arena;
};

/* Puts what is wanted where `actual` (F64; its data are replaced, never written to) has what the
 * fault leaves. False: it has something else there, or the op has no such place. */
typedef bool posref_mend(struct posref_tensors *actual, const struct posref_mending *m);

posref_mend posref_mend_last_row;  /* of tokens or queries */
posref_mend posref_mend_last_head;
posref_mend posref_mend_last_key;  /* of attention: true, as its sum is another fault's */
posref_mend posref_mend_not_added; /* op embed: y = x, as it is scaled */
posref_mend posref_mend_doubled;   /* op embed: twice that */

#endif
