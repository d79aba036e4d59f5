/* SPDX-License-Identifier: Apache-2.0 */
/* From a vector to the call that a plugin gets. Private to harness/. */
#ifndef POSREF_TRIAL_H
#define POSREF_TRIAL_H

#include "runner.h"
#include "vectors/vectors.h"

/* Lays out the trial of a vector in a dtype: inputs narrowed (they are exact in every dtype),
 * positions I64 when all are whole, else F64, for biases as q_positions and k_positions; outputs
 * allocated. Everything lives in the arena;
 * spec_text must outlive the trial. INTERNAL when an input is not exact in the dtype. */
POSREF_MUST_USE enum posref_status posref_trial_make(struct posref_trial *out,
                                                     const struct posref_vector *vector,
                                                     const char *spec_text, enum posref_dtype dtype,
                                                     const struct posref_arena *arena,
                                                     struct posref_error *err);

/* Whether the tensor is positions, q_positions or k_positions. */
bool posref_trial_is_positions(const struct posref_tensor *tensor);

/* A tensor of doubles rounded to the dtype, in the arena. */
POSREF_MUST_USE enum posref_status posref_tensor_narrow(struct posref_tensor *out,
                                                        const struct posref_tensor *in,
                                                        enum posref_dtype dtype,
                                                        const struct posref_arena *arena,
                                                        struct posref_error *err);

#endif
