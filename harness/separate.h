/* SPDX-License-Identifier: Apache-2.0 */
/* Which faults one vector shows, and which of them it tells apart. Private to harness/. */
#ifndef POSREF_SEPARATE_H
#define POSREF_SEPARATE_H

#include "faults.h"

/* {"id", "dtype", "shows": [[FAULT, ...], ...]}: each fault of the registry whose output for the
 * vector, rounded to the dtype, is beyond the default gate's limits; those of one list have the
 * same output here, bit for bit, so that another vector has to tell them apart. A fault with a
 * parameter stands for the first of its values that shows; one that has none, as its value is read
 * off, for 1.01 (magnitudes) or 1.5. */
POSREF_MUST_USE enum posref_status posref_separate(struct posref_buffer *out,
                                                   const struct posref_vector *vector,
                                                   enum posref_dtype dtype,
                                                   struct posref_heap *scratch,
                                                   struct posref_error *err);

#endif
