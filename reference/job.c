/* SPDX-License-Identifier: Apache-2.0 */
/* What the eval functions of schemes share: inputs by name, checked; outputs in the arena. */
#include "scheme.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool posref_job_wants(const struct posref_job *job, enum posref_op op, bool ready)
{
    return job->op == op || (job->op == POSREF_OP_ALL && ready);
}

bool posref_job_has(const struct posref_job *job, const char *name)
{
    return posref_tensors_find(job->in, name) != NULL;
}

void *posref_job_alloc(const struct posref_job *job, size_t count, size_t size_bytes)
{
    void *memory = job->arena->alloc(job->arena->ctx, count * size_bytes);
    if (!memory)
        (void)posref_fail(job->err, POSREF_NO_MEMORY, "", "out of memory");
    return memory;
}

static enum posref_status add_output(void **out, struct posref_job *job, enum posref_dtype dtype,
                                     const char *name, int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] > POSREF_MAX_OUTPUT_ELEMENTS / count)
            return posref_fail(job->err, POSREF_BAD_INPUT, name,
                               "would have more than %d elements", POSREF_MAX_OUTPUT_ELEMENTS);
        count *= shape[axis];
    }
    if (job->out->n == POSREF_MAX_TENSORS)
        return posref_fail(job->err, POSREF_INTERNAL, name, "too many outputs");
    void *memory = posref_job_alloc(job, (size_t)count, posref_dtype_size(dtype));
    if (!memory)
        return POSREF_NO_MEMORY;
    struct posref_tensor *tensor = &job->out->item[job->out->n++];
    *tensor = (struct posref_tensor){.dtype = dtype, .rank = rank, .data = memory};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    for (int axis = 0; axis < rank; axis++)
        tensor->shape[axis] = shape[axis];
    *out = memory;
    return POSREF_OK;
}

enum posref_status posref_job_output(double **out, struct posref_job *job, const char *name,
                                     int rank, const int64_t *shape)
{
    void *memory = NULL;
    enum posref_status status = add_output(&memory, job, POSREF_F64, name, rank, shape);
    if (status == POSREF_OK)
        *out = memory;
    return status;
}

enum posref_status posref_job_output_int(int64_t **out, struct posref_job *job, const char *name,
                                         int rank, const int64_t *shape)
{
    void *memory = NULL;
    enum posref_status status = add_output(&memory, job, POSREF_I64, name, rank, shape);
    if (status == POSREF_OK)
        *out = memory;
    return status;
}

static enum posref_status find(const struct posref_tensor **out, struct posref_job *job,
                               const char *name)
{
    const struct posref_tensor *tensor = posref_tensors_find(job->in, name);
    if (!tensor)
        return posref_fail(job->err, POSREF_BAD_INPUT, name, "is required by op %s",
                           job->op == POSREF_OP_ALL ? "all with these inputs"
                                                    : posref_op_name(job->op));
    *out = tensor;
    return POSREF_OK;
}

enum posref_status posref_job_positions(struct posref_positions *out, struct posref_job *job,
                                        const char *name, int64_t n_axes)
{
    const struct posref_tensor *tensor = NULL;
    enum posref_status status = find(&tensor, job, name);
    if (status != POSREF_OK)
        return status;
    int64_t axes = tensor->rank == 2 ? tensor->shape[0] : 1;
    if (tensor->rank < 1 || tensor->rank > 2 || axes != n_axes)
        return posref_fail(job->err, POSREF_BAD_INPUT, name,
                           "must be [n] or [n_axes, n] with n_axes = %lld", (long long)n_axes);
    int64_t n = tensor->shape[tensor->rank - 1];
    if (n > POSREF_MAX_POSITIONS)
        return posref_fail(job->err, POSREF_BAD_INPUT, name, "holds %lld, at most %d are allowed",
                           (long long)n, POSREF_MAX_POSITIONS);
    const double *from = tensor->data;
    double *value = posref_job_alloc(job, (size_t)(axes * n), sizeof(double));
    if (!value)
        return POSREF_NO_MEMORY;
    for (int64_t k = 0; k < axes * n; k++) {
        if (!(fabs(from[k]) <= POSREF_MAX_POSITION))
            return posref_fail(job->err, POSREF_BAD_INPUT, name,
                               "element %lld is %.17g; the absolute value must be at most %.0f",
                               (long long)k, from[k], POSREF_MAX_POSITION);
        value[k] = from[k] + 0.0; /* -0 becomes +0: position zero has no sign */
    }
    *out = (struct posref_positions){.value = value, .n_axes = axes, .n = n};
    return POSREF_OK;
}

static enum posref_status check_finite(struct posref_job *job, const struct posref_tensor *tensor)
{
    const double *value = tensor->data;
    int64_t count = posref_tensor_count(tensor);
    for (int64_t k = 0; k < count; k++)
        if (!isfinite(value[k]))
            return posref_fail(job->err, POSREF_BAD_INPUT, tensor->name,
                               "element %lld is %f; elements must be finite", (long long)k,
                               value[k]);
    return POSREF_OK;
}

enum posref_status posref_job_rows(const double **out, int64_t *heads, struct posref_job *job,
                                   const char *name, int64_t rows, int64_t cols)
{
    const struct posref_tensor *tensor = NULL;
    enum posref_status status = find(&tensor, job, name);
    if (status != POSREF_OK)
        return status;
    bool fits = (tensor->rank == 2 || tensor->rank == 3) && tensor->shape[0] == rows &&
                tensor->shape[tensor->rank - 1] == cols;
    if (!fits)
        return posref_fail(job->err, POSREF_BAD_INPUT, name,
                           "must be [%lld, %lld] or [%lld, heads, %lld]", (long long)rows,
                           (long long)cols, (long long)rows, (long long)cols);
    status = check_finite(job, tensor);
    if (status != POSREF_OK)
        return status;
    *heads = tensor->rank == 3 ? tensor->shape[1] : 1;
    *out = tensor->data;
    return POSREF_OK;
}

enum posref_status posref_job_input(const double **out, struct posref_job *job, const char *name,
                                    int rank, const int64_t *shape)
{
    const struct posref_tensor *tensor = NULL;
    enum posref_status status = find(&tensor, job, name);
    if (status != POSREF_OK)
        return status;
    bool fits = tensor->rank == rank;
    for (int axis = 0; fits && axis < rank; axis++)
        fits = tensor->shape[axis] == shape[axis];
    if (!fits) {
        char want[80];
        size_t length = 0;
        for (int axis = 0; axis < rank && length < sizeof want; axis++)
            length += (size_t)snprintf(want + length, sizeof want - length, "%s%lld",
                                       axis ? ", " : "", (long long)shape[axis]);
        return posref_fail(job->err, POSREF_BAD_INPUT, name, "must be [%s]", want);
    }
    status = check_finite(job, tensor);
    if (status != POSREF_OK)
        return status;
    *out = tensor->data;
    return POSREF_OK;
}
