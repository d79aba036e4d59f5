/* SPDX-License-Identifier: Apache-2.0 */
/* posref_eval: checks that op and inputs suit the scheme, then lets the scheme compute. */
#include "scheme.h"

#include <string.h>

static bool scheme_reads(const struct posref_scheme_def *scheme, const char *name)
{
    for (const char *const *input = scheme->inputs; *input; input++)
        if (strcmp(*input, name) == 0)
            return true;
    return false;
}

static enum posref_status check_inputs(const struct posref_scheme_def *scheme,
                                       const struct posref_tensors *in, struct posref_error *err)
{
    for (int k = 0; k < in->n; k++) {
        const struct posref_tensor *tensor = &in->item[k];
        if (!scheme_reads(scheme, tensor->name))
            return posref_fail(err, POSREF_BAD_INPUT, tensor->name, "scheme=%s reads no such input",
                               scheme->info.name);
        if (posref_tensors_find(in, tensor->name) != tensor)
            return posref_fail(err, POSREF_BAD_INPUT, tensor->name, "is given twice");
        if (tensor->dtype != POSREF_F64)
            return posref_fail(err, POSREF_BAD_INPUT, tensor->name, "must be f64 here, got %s",
                               posref_dtype_name(tensor->dtype));
        for (int axis = 0; axis < tensor->rank; axis++)
            if (tensor->shape[axis] < 1)
                return posref_fail(err, POSREF_BAD_INPUT, tensor->name, "is empty");
    }
    return POSREF_OK;
}

enum posref_status posref_eval(struct posref_tensors *out, const struct posref_spec *spec,
                               enum posref_op op, const struct posref_tensors *in,
                               const struct posref_arena *arena, struct posref_error *err)
{
    const struct posref_scheme_def *scheme = posref_scheme_def(spec->scheme);
    if (!posref_op_applies(op, spec))
        return posref_fail(err, POSREF_BAD_INPUT, "op", "scheme=%s has no op %s",
                           scheme->info.name, posref_op_name(op));
    enum posref_status status = check_inputs(scheme, in, err);
    if (status != POSREF_OK)
        return status;
    struct posref_tensors result = {.n = 0};
    struct posref_job job = {.spec = spec, .op = op, .in = in, .out = &result, .arena = arena,
                             .err = err};
    status = scheme->eval(&job);
    if (status == POSREF_INTERNAL)
        return posref_fail(err, status, scheme->info.name,
                           "a value stayed undecided at the highest precision");
    if (status == POSREF_OK)
        *out = result;
    return status;
}
