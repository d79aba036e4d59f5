/* SPDX-License-Identifier: Apache-2.0 */
/* One question to a plugin, outside of any suite. */
#include "probe.h"

#include "call_spec.h"
#include "probe_form.h"
#include "reference/judge.h"
#include "trial.h"

#include <math.h>
#include <string.h>

double *posref_probe_input(struct posref_tensors *in, const char *name, int rank,
                           const int64_t *shape, const struct posref_arena *arena)
{
    struct posref_tensor *tensor = &in->item[in->n];
    *tensor = (struct posref_tensor){.dtype = POSREF_F64, .rank = rank};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    for (int axis = 0; axis < rank; axis++)
        tensor->shape[axis] = shape[axis];
    size_t size = (size_t)posref_tensor_count(tensor) * sizeof(double);
    tensor->data = arena->alloc(arena->ctx, size ? size : 1);
    if (!tensor->data)
        return NULL;
    memset(tensor->data, 0, size);
    in->n++;
    return tensor->data;
}

enum posref_status posref_tensor_widen(struct posref_tensor *out, const struct posref_tensor *in,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    const int64_t n = posref_tensor_count(in);
    double *value = arena->alloc(arena->ctx, (size_t)n * sizeof *value + 1);
    if (!value)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    *out = *in;
    out->dtype = POSREF_F64;
    out->data = value;
    for (int64_t k = 0; k < n; k++)
        value[k] = posref_tensor_value(in, k);
    return POSREF_OK;
}

/* The outputs' names, shapes and dtypes, from the reference. Rotations are asked about one row: the
 * others have its shape, and no value is looked at. */
static enum posref_status shape_outputs(struct posref_tensors *out,
                                        const struct posref_probe *probe, enum posref_op op,
                                        const struct posref_tensors *in, struct posref_error *err)
{
    struct posref_tensors first = *in;
    const struct posref_tensor *x = posref_tensors_find(in, "x");
    const struct posref_tensor *positions = posref_tensors_find(in, "positions");
    if (op != POSREF_OP_ROTATE || !x || !positions || in->n != 2)
        return posref_eval(out, probe->spec, op, in, probe->arena, err);
    const int64_t n = x->shape[0], axes = positions->rank == 2 ? positions->shape[0] : 1;
    double *p = probe->arena->alloc(probe->arena->ctx, (size_t)axes * sizeof *p);
    if (!p)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (int64_t axis = 0; axis < axes; axis++)
        p[axis] = ((const double *)positions->data)[axis * n];
    for (int k = 0; k < 2; k++) {
        struct posref_tensor *tensor = &first.item[k];
        const bool is_x = strcmp(tensor->name, "x") == 0;
        tensor->shape[is_x ? 0 : tensor->rank - 1] = 1;
        tensor->data = is_x ? tensor->data : p;
    }
    enum posref_status status = posref_eval(out, probe->spec, op, &first, probe->arena, err);
    if (status == POSREF_OK)
        out->item[0].shape[0] = n;
    return status;
}

/* A norm that divides by 1 does so but for its rounding: what is left alone is a copy. */
static void forget_norm(double *y, const struct posref_tensor *x, enum posref_dtype dtype)
{
    const double *before = x->data, u = posref_unit(dtype);
    for (int64_t k = 0; k < posref_tensor_count(x); k++)
        if (fabs(y[k] - before[k]) <= 8 * u * fabs(before[k]))
            y[k] = before[k];
}

enum posref_status posref_probe_ask(struct posref_tensors *out, struct posref_probe *probe,
                                    enum posref_op op, const struct posref_tensors *in,
                                    struct posref_error *err)
{
    struct posref_vector vector = {.id = "probe", .op = op, .spec = *probe->spec, .inputs = *in,
                                   .suite_min = "", .flags = "", .source = ""};
    struct posref_trial trial;
    const char *text = posref_call_spec(probe->spec, probe->arena);
    if (!text)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    enum posref_status status = shape_outputs(&vector.outputs, probe, op, in, err);
    const bool formed = probe->form && op == POSREF_OP_ROTATE;
    if (status == POSREF_OK)
        status = formed ? posref_probe_form_trial(&trial, probe, &vector, text, err)
                        : posref_trial_make(&trial, &vector, text, probe->dtype, probe->arena, err);
    if (status == POSREF_OK)
        status = posref_runner_run(probe->runner, &(struct posref_trial *){&trial}, 1, err);
    if (status == POSREF_OK)
        status = posref_probe_take(out, probe, &trial, err);
    if (status == POSREF_OK && formed && probe->verdict == POSREF_VERDICT_PASS &&
        !posref_probe_form_has_tables(probe->form))
        forget_norm(out->item[0].data, posref_tensors_find(in, "x"), probe->dtype);
    return status;
}

enum posref_status posref_probe_take(struct posref_tensors *out, struct posref_probe *probe,
                                     const struct posref_trial *trial, struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    probe->verdict = trial->verdict;
    snprintf(probe->why, sizeof probe->why, "%s", trial->why);
    if (trial->verdict != POSREF_VERDICT_PASS)
        return POSREF_OK;
    out->n = trial->out.n;
    for (int i = 0; i < trial->out.n && status == POSREF_OK; i++)
        status = posref_tensor_widen(&out->item[i], &trial->out.item[i], probe->arena, err);
    return status;
}

enum posref_status posref_probe_dtype(struct posref_tensors *out, struct posref_probe *probe,
                                      enum posref_op op, const struct posref_tensors *in,
                                      struct posref_error *err)
{
    static const enum posref_dtype order[] = {POSREF_F64, POSREF_F32, POSREF_BF16, POSREF_F16};
    char first[sizeof probe->why] = "";
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        probe->dtype = order[k];
        enum posref_status status = posref_probe_ask(out, probe, op, in, err);
        if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_UNSUPPORTED)
            return status;
        if (!*first)
            snprintf(first, sizeof first, "%s", probe->why);
    }
    snprintf(probe->why, sizeof probe->why, "%s", first);
    return POSREF_OK;
}
