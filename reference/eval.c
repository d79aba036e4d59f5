/* SPDX-License-Identifier: Apache-2.0 */
/* posref_eval: checks that op and inputs suit the scheme, then lets the scheme compute. */
#include "attention.h"

#include <string.h>

static bool scheme_reads(const struct posref_scheme_def *scheme, const char *name)
{
    for (const struct posref_input_use *input = scheme->inputs; input->name; input++)
        if (strcmp(input->name, name) == 0)
            return true;
    return scheme->attention && posref_attention_reads(scheme->attention, name);
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

static enum posref_status told(enum posref_status status, const struct posref_scheme_def *scheme,
                               struct posref_error *err)
{
    if (status == POSREF_INTERNAL)
        return posref_fail(err, status, scheme->info.name,
                           "a value stayed undecided at the highest precision");
    return status;
}

/* The scheme's own outputs, then those of scores and attention. */
static enum posref_status run(struct posref_job *job, const struct posref_scheme_def *scheme)
{
    const bool own = job->op != POSREF_OP_SCORES && job->op != POSREF_OP_ATTENTION;
    enum posref_status status = own ? scheme->eval(job) : POSREF_OK;
    return status == POSREF_OK && scheme->attention ? posref_attention_eval(job) : status;
}

static enum posref_status eval(struct posref_tensors *out, const struct posref_spec *spec,
                               const struct posref_plan *plan, enum posref_op op,
                               const int64_t *glance, const struct posref_tensors *in,
                               const struct posref_arena *arena, struct posref_error *err)
{
    const struct posref_scheme_def *scheme = posref_scheme_def(spec->scheme);
    if (!posref_op_applies(op, spec))
        return posref_fail(err, POSREF_BAD_INPUT, "op", "scheme=%s has no op %s",
                           scheme->info.name, posref_op_name(op));
    enum posref_status status = check_inputs(scheme, in, err);
    if (status != POSREF_OK)
        return status;
    struct posref_spec settled;
    if (posref_spec_is_unsettled(spec)) {
        settled = *spec;
        spec = &settled;
        status = posref_spec_settle(&settled, in, err);
        if (status != POSREF_OK)
            return status;
    }
    struct posref_tensors result = {.n = 0};
    struct posref_job job = {.spec = spec, .plan = plan, .op = op, .glance = glance, .in = in,
                             .out = &result, .arena = arena, .err = err};
    status = told(run(&job, scheme), scheme, err);
    if (status == POSREF_OK)
        *out = result;
    return status;
}

enum posref_status posref_eval(struct posref_tensors *out, const struct posref_spec *spec,
                               enum posref_op op, const struct posref_tensors *in,
                               const struct posref_arena *arena, struct posref_error *err)
{
    return eval(out, spec, NULL, op, NULL, in, arena, err);
}

enum posref_status posref_eval_glance(struct posref_tensors *out, const struct posref_spec *spec,
                                      enum posref_op op, int64_t element,
                                      const struct posref_tensors *in,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    return eval(out, spec, NULL, op, &element, in, arena, err);
}

struct posref_prepared {
    struct posref_spec spec;
    const struct posref_plan *plan; /* NULL: the scheme has nothing to share */
};

enum posref_status posref_prepare(struct posref_prepared **out, const struct posref_spec *spec,
                                  const struct posref_arena *arena, struct posref_error *err)
{
    const struct posref_scheme_def *scheme = posref_scheme_def(spec->scheme);
    struct posref_job job = {.op = POSREF_OP_ALL, .arena = arena, .err = err};
    struct posref_prepared *prepared = posref_job_alloc(&job, 1, sizeof *prepared);
    if (!prepared)
        return POSREF_NO_MEMORY;
    *prepared = (struct posref_prepared){.spec = *spec};
    job.spec = &prepared->spec;
    enum posref_status status = posref_spec_settle(&prepared->spec, NULL, err);
    if (status == POSREF_OK && scheme->prepare)
        status = told(scheme->prepare(&prepared->plan, &job), scheme, err);
    if (status == POSREF_OK)
        *out = prepared;
    return status;
}

enum posref_status posref_eval_prepared(struct posref_tensors *out,
                                        const struct posref_prepared *prepared, enum posref_op op,
                                        const struct posref_tensors *in,
                                        const struct posref_arena *arena, struct posref_error *err)
{
    return eval(out, &prepared->spec, prepared->plan, op, NULL, in, arena, err);
}
