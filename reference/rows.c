/* SPDX-License-Identifier: Apache-2.0 */
/* Positions and masks of absolute encodings. */
#include "rows.h"

static enum posref_status read_mask(bool **out, int64_t *n, struct posref_job *job)
{
    const struct posref_tensor *mask = posref_tensors_find(job->in, "mask");
    if (!mask)
        return posref_fail(job->err, POSREF_BAD_INPUT, "mask",
                           "is required: positions are counted from it");
    if (mask->rank != 1)
        return posref_fail(job->err, POSREF_BAD_INPUT, "mask", "must be [n], one value a token");
    if (mask->shape[0] > POSREF_MAX_POSITIONS)
        return posref_fail(job->err, POSREF_BAD_INPUT, "mask", "holds %lld, at most %d are allowed",
                           (long long)mask->shape[0], POSREF_MAX_POSITIONS);
    *n = mask->shape[0];
    *out = posref_job_alloc(job, (size_t)*n, sizeof **out);
    if (!*out)
        return POSREF_NO_MEMORY;
    const double *value = mask->data;
    for (int64_t k = 0; k < *n; k++) {
        if (value[k] != 0 && value[k] != 1)
            return posref_fail(job->err, POSREF_BAD_INPUT, "mask",
                               "element %lld is %.17g; it must be 1 (a token) or 0 (padding)",
                               (long long)k, value[k]);
        (*out)[k] = value[k] == 0;
    }
    return POSREF_OK;
}

static enum posref_status count(struct posref_rows *out, struct posref_job *job, double first)
{
    bool *masked;
    if (posref_job_has(job, "positions"))
        return posref_fail(job->err, POSREF_BAD_INPUT, "positions",
                           "are counted from the mask and may not be given beside it");
    enum posref_status status = read_mask(&masked, &out->n, job);
    if (status != POSREF_OK)
        return status;
    double *position = posref_job_alloc(job, (size_t)out->n, sizeof *position);
    if (!position)
        return POSREF_NO_MEMORY;
    double next = first;
    for (int64_t k = 0; k < out->n; k++)
        position[k] = masked[k] ? first - 1 : next++;
    out->n_axes = 1;
    out->masked = masked;
    out->position = position;
    return POSREF_OK;
}

enum posref_status posref_rows_read(struct posref_rows *out, struct posref_job *job, int64_t n_axes,
                                    bool counted, double first)
{
    *out = (struct posref_rows){.n = 0};
    if (counted)
        return count(out, job, first);
    struct posref_positions positions;
    enum posref_status status = posref_job_positions(&positions, job, "positions", n_axes);
    if (status != POSREF_OK)
        return status;
    *out = (struct posref_rows){.n = positions.n, .n_axes = n_axes, .position = positions.value};
    if (!posref_job_has(job, "mask"))
        return POSREF_OK;
    int64_t n;
    bool *masked;
    status = read_mask(&masked, &n, job);
    if (status == POSREF_OK && n != out->n)
        return posref_fail(job->err, POSREF_BAD_INPUT, "mask",
                           "must be [%lld], one value a position", (long long)out->n);
    out->masked = masked;
    return status;
}
