/* SPDX-License-Identifier: Apache-2.0 */
/* What a run shows of a kernel's arithmetic, scheme by scheme and dtype by dtype: its error over
 * position (profile.h), and which recipe it has (recipes.h). Private to harness/. */
#ifndef POSREF_ARITHMETIC_H
#define POSREF_ARITHMETIC_H

#include "reference/judge.h"
#include "vectors/vectors.h"

struct posref_arithmetic;
struct posref_arithmetic *posref_arithmetic_new(void); /* NULL: no memory */
void posref_arithmetic_free(struct posref_arithmetic *arithmetic); /* NULL is fine */

/* Judges one output as posref_judge does, and takes note of it. */
POSREF_MUST_USE enum posref_status
posref_arithmetic_judge(struct posref_judgement *out, struct posref_arithmetic *arithmetic,
                        const struct posref_vector *vector, const struct posref_tensors *actual,
                        enum posref_dtype dtype, enum posref_grade gate,
                        const struct posref_arena *scratch, struct posref_error *err);

/* A JSON list with an object for each scheme and dtype of which pairs were judged, as a stream's
 * footer has it, or that of a shard. Once, at the end. */
void posref_arithmetic_json(struct posref_buffer *out, struct posref_arithmetic *arithmetic,
                            bool shard);

#endif
