/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that carry tensors, as JSON or as a safetensors document, and the parameters `dtype` and
 * `min_grade` that say how they are judged. */
#ifndef POSREF_SERVER_OUTPUTS_H
#define POSREF_SERVER_OUTPUTS_H

#include "handle.h"
#include "harness/harness.h"

struct posref_outputs {
    struct posref_tensors tensors; /* F64, in the arena */
    enum posref_dtype dtype;       /* that they were computed in */
    enum posref_grade gate;
};

/* Reads the body of a call whose route consumes JSON ({"outputs": {...}}) and safetensors. The
 * dtype is the parameter's, else the one that all float tensors of the document have, else f64.
 * BAD_INPUT names parameter, member or tensor. */
POSREF_MUST_USE enum posref_status posref_outputs_read(struct posref_outputs *out,
                                                       const struct posref_call *call,
                                                       const struct posref_arena *arena,
                                                       struct posref_error *err);

/* The same of {"spec", "op", "inputs", "outputs"}, JSON only. */
POSREF_MUST_USE enum posref_status posref_outputs_read_request(struct posref_outputs *out,
                                                               struct posref_request *request,
                                                               const struct posref_call *call,
                                                               const struct posref_arena *arena,
                                                               struct posref_error *err);

#endif
