/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors with a placement: laid out by their strides, and what lies between their rows watched. A
 * copy of every buffer from before the call shows, once the outputs' elements are put back in the
 * buffer, all else that the call wrote. */
#include "worker_case.h"

#include "pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t count_of(const struct posref_wire_tensor *tensor)
{
    int64_t count = 1;
    for (uint32_t axis = 0; axis < tensor->rank; axis++)
        count *= tensor->shape[axis];
    return count;
}

static size_t size_of(const struct posref_wire_tensor *tensor)
{
    return posref_dtype_size((enum posref_dtype)tensor->dtype);
}

/* Where element k (row major) lies in the buffer, elements. */
static int64_t element_at(const struct posref_wire_tensor *tensor, const struct posref_place *place,
                          int64_t k)
{
    int64_t at = place->first;
    for (int axis = (int)tensor->rank - 1; axis >= 0; axis--) {
        at += k % tensor->shape[axis] * place->strides[axis];
        k /= tensor->shape[axis];
    }
    return at;
}

static void scatter(unsigned char *buffer, const unsigned char *from,
                    const struct posref_wire_tensor *tensor, const struct posref_place *place)
{
    const size_t size = size_of(tensor);
    const int64_t count = count_of(tensor);
    for (int64_t k = 0; k < count; k++)
        memcpy(buffer + (size_t)element_at(tensor, place, k) * size, from + (size_t)k * size, size);
}

static void gather(unsigned char *to, const unsigned char *buffer,
                   const struct posref_wire_tensor *tensor, const struct posref_place *place)
{
    const size_t size = size_of(tensor);
    const int64_t count = count_of(tensor);
    for (int64_t k = 0; k < count; k++)
        memcpy(to + (size_t)k * size, buffer + (size_t)element_at(tensor, place, k) * size, size);
}

static size_t buffer_bytes(const struct posref_worker_job *job, uint32_t i)
{
    return (size_t)job->placement.item[i].n_buffer * size_of(&job->tensor[i]);
}

/* Room for a copy of each buffer and each output. */
static bool divide_scratch(struct posref_worker_job *job)
{
    size_t need = 0;
    for (uint32_t i = 0; i < job->n; i++)
        need += buffer_bytes(job, i) + (job->tensor[i].is_output ? job->tensor[i].size_bytes : 0);
    if (need > job->w->scratch_bytes) {
        free(job->w->scratch);
        job->w->scratch = malloc(need);
        job->w->scratch_bytes = job->w->scratch ? need : 0;
    }
    unsigned char *at = job->w->scratch;
    for (uint32_t i = 0; i < job->n && at; i++) {
        job->before[i] = at;
        at += buffer_bytes(job, i);
        job->result[i] = at;
        at += job->tensor[i].is_output ? job->tensor[i].size_bytes : 0;
    }
    return at != NULL;
}

bool posref_worker_place_begin(struct posref_worker_job *job)
{
    memcpy(&job->placement, job->w->memory + job->record->placement_offset,
           sizeof job->placement);
    if (!divide_scratch(job))
        return false;
    for (uint32_t i = 0; i < job->n; i++) {
        const struct posref_wire_tensor *tensor = &job->tensor[i];
        if (job->placement.item[i].n_buffer > 0)
            posref_pattern_fill(job->before[i], (enum posref_dtype)tensor->dtype,
                                (size_t)job->placement.item[i].n_buffer);
    }
    for (uint32_t i = 0; i < job->n; i++) {
        const struct posref_place *place = &job->placement.item[i];
        if (!job->tensor[i].is_output)
            scatter(job->before[place->buffer], job->w->memory + job->tensor[i].offset,
                    &job->tensor[i], place);
    }
    return true;
}

static void describe(struct posref_plugin_tensor *out, const struct posref_wire_tensor *in,
                     const struct posref_place *place, unsigned char *buffer)
{
    posref_worker_describe(out, in, buffer + place->first * (int64_t)size_of(in));
    if (place->is_written)
        out->access = POSREF_PLUGIN_INOUT;
    for (uint32_t axis = 0; axis < in->rank; axis++)
        out->strides[axis] = place->strides[axis];
}

bool posref_worker_place_lay(struct posref_worker_job *job, enum posref_guard_side side)
{
    for (uint32_t i = 0; i < job->n; i++) {
        struct posref_guard_slot *slot = &job->w->slots[i];
        if (job->placement.item[i].n_buffer == 0) {
            slot->data = NULL;
            continue;
        }
        if (!posref_guard_place(slot, buffer_bytes(job, i), side))
            return false;
        memcpy(slot->data, job->before[i], buffer_bytes(job, i));
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < job->n; i++) {
        const struct posref_place *place = &job->placement.item[i];
        describe(&job->described[i], &job->tensor[i], place, job->w->slots[place->buffer].data);
        if (!place->is_hidden)
            job->list[n++] = &job->described[i];
    }
    job->call.n_tensors = n;
    return true;
}

/* The element of tensor i that lies last at or before `at`, or -1. */
static int64_t element_before(const struct posref_worker_job *job, uint32_t i, int64_t at)
{
    const int64_t count = count_of(&job->tensor[i]);
    int64_t found = -1, where = -1;
    for (int64_t k = 0; k < count; k++) {
        const int64_t mine = element_at(&job->tensor[i], &job->placement.item[i], k);
        if (mine <= at && mine > where) {
            where = mine;
            found = k;
        }
    }
    return found;
}

/* Element `at` of buffer b is not what it was, and no output lies there. */
static enum posref_wire_result blame_element(struct posref_worker_job *job, uint32_t b, int64_t at)
{
    int64_t nearest = 0, where = -1; /* a buffer begins with an element of some tensor */
    uint32_t owner = b;
    for (uint32_t i = 0; i < job->n; i++) {
        if ((uint32_t)job->placement.item[i].buffer != b)
            continue;
        const int64_t k = element_before(job, i, at);
        const int64_t place = k < 0 ? -1
                                    : element_at(&job->tensor[i], &job->placement.item[i], k);
        if (place == at)
            return posref_worker_blame(job, POSREF_WIRE_INPUT_MODIFIED, i,
                                       k * (int64_t)size_of(&job->tensor[i]));
        if (place > where) {
            where = place;
            nearest = k;
            owner = i;
        }
    }
    snprintf(job->why, sizeof job->why, "wrote between the rows, %lld element(s) behind this one",
             (long long)(at - where));
    return posref_worker_blame(job, POSREF_WIRE_BAD_WRITE, owner,
                               nearest * (int64_t)size_of(&job->tensor[owner]));
}

static enum posref_wire_result compare_buffer(struct posref_worker_job *job, uint32_t b)
{
    const unsigned char *now = job->w->slots[b].data, *before = job->before[b];
    const size_t bytes = buffer_bytes(job, b);
    if (memcmp(now, before, bytes) == 0)
        return POSREF_WIRE_RETURNED;
    const int64_t at = posref_worker_difference(now, before);
    return blame_element(job, b, at / (int64_t)size_of(&job->tensor[b]));
}

enum posref_wire_result posref_worker_place_check(struct posref_worker_job *job)
{
    int64_t offset;
    for (uint32_t b = 0; b < job->n; b++)
        if (job->placement.item[b].n_buffer > 0 &&
            !posref_guard_check(&offset, &job->w->slots[b]))
            return posref_worker_blame(job, POSREF_WIRE_BAD_WRITE, b, offset);
    for (uint32_t i = 0; i < job->n; i++)
        if (job->tensor[i].is_output)
            gather(job->result[i], job->w->slots[job->placement.item[i].buffer].data,
                   &job->tensor[i], &job->placement.item[i]);
    for (uint32_t i = 0; i < job->n; i++) {
        const struct posref_place *place = &job->placement.item[i];
        const struct posref_wire_tensor *tensor = &job->tensor[i];
        const size_t size = size_of(tensor);
        const int64_t count = tensor->is_output ? count_of(tensor) : 0;
        for (int64_t k = 0; k < count; k++) {
            const size_t at = (size_t)element_at(tensor, place, k) * size;
            memcpy(job->w->slots[place->buffer].data + at, job->before[place->buffer] + at, size);
        }
    }
    for (uint32_t b = 0; b < job->n; b++) {
        enum posref_wire_result result = job->placement.item[b].n_buffer > 0
                                             ? compare_buffer(job, b) : POSREF_WIRE_RETURNED;
        if (result != POSREF_WIRE_RETURNED)
            return result;
    }
    return POSREF_WIRE_RETURNED;
}

enum posref_wire_result posref_worker_place_left(struct posref_worker_job *job)
{
    for (uint32_t b = 0; b < job->n; b++) {
        if (job->placement.item[b].n_buffer == 0)
            continue;
        /* posref_worker_place_check has put back what it was before the call. */
        const unsigned char *left = posref_guard_other(&job->w->slots[b]), *was = job->before[b];
        if (left && memcmp(left, was, buffer_bytes(job, b)) != 0)
            return posref_worker_blame(job, POSREF_WIRE_LATE, b,
                                       posref_worker_difference(left, was));
    }
    return POSREF_WIRE_RETURNED;
}
