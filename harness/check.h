/* SPDX-License-Identifier: Apache-2.0 */
/* Judging one saved output: no plugin, no worker; what came back is at hand. */
#ifndef POSREF_CHECK_H
#define POSREF_CHECK_H

#include "reference/judge.h"
#include "vectors/vectors.h"

/* Judges `outputs` (any dtypes, eval's names) as what a kernel that computes in `dtype` gave for
 * the vector, and appends, without the closing brace,
 * {"verdict", "grade", "dtype", "gate", "breach", "worst": {...}, ...,
 * "nan": [{"tensor", "element"}, ...] (the first 20, where there is any),
 * "explanations": [...], "description": {...} or null
 * Float tensors are rounded to the dtype first, which changes nothing where they hold such values.
 * `saved` has those that came from the kernel where the others are right ones that were put in for
 * it: only they are explained. NULL: all came.
 * Verdicts: pass, fail, nan. POSREF_BAD_INPUT names a tensor that is missing, unknown or has
 * another shape than the golden one (a flat tensor of the right count is fine). */
POSREF_MUST_USE enum posref_status
posref_check_outputs(struct posref_buffer *out, const struct posref_vector *vector,
                     const struct posref_tensors *outputs, const struct posref_tensors *saved,
                     enum posref_dtype dtype, enum posref_grade gate,
                     const struct posref_arena *arena, struct posref_error *err);

/* The vector that a request and saved outputs make: its golden outputs are evaluated, of the op
 * that is given, else of the one that has outputs of these names. The spec is completed. BAD_INPUT
 * names the input that this op misses, the output that no op has, or the key op where several
 * have it. */
POSREF_MUST_USE enum posref_status posref_check_vector(struct posref_vector *out,
                                                       const struct posref_request *request,
                                                       const struct posref_tensors *outputs,
                                                       const struct posref_arena *arena,
                                                       struct posref_error *err);

#endif
