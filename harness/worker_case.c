/* SPDX-License-Identifier: Apache-2.0 */
/* A case in the worker: tensors between guards, the call, what came of it. */
#include "worker_case.h"

#include "pattern.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long threads that a call has started may show that they write late, and for how many calls of
 * a process one waits. */
#define WAIT_US 20000
#define MAX_WAITS 8

static const uint32_t plugin_dtype[POSREF_N_DTYPES] = {
    [POSREF_F64] = POSREF_PLUGIN_F64, [POSREF_F32] = POSREF_PLUGIN_F32,
    [POSREF_F16] = POSREF_PLUGIN_F16, [POSREF_BF16] = POSREF_PLUGIN_BF16,
    [POSREF_F8E4M3] = POSREF_PLUGIN_F8E4M3, [POSREF_F8E5M2] = POSREF_PLUGIN_F8E5M2,
    [POSREF_I32] = POSREF_PLUGIN_I32, [POSREF_I64] = POSREF_PLUGIN_I64,
};

void posref_worker_describe(struct posref_plugin_tensor *out, const struct posref_wire_tensor *in,
                            void *data)
{
    *out = (struct posref_plugin_tensor){
        .struct_size = sizeof *out,
        .dtype = plugin_dtype[in->dtype],
        .access = in->is_output ? POSREF_PLUGIN_OUT : POSREF_PLUGIN_IN,
        .rank = in->rank,
        .name = in->name,
        .data = data,
    };
    int64_t stride = 1;
    for (int axis = (int)in->rank - 1; axis >= 0; axis--) {
        out->shape[axis] = in->shape[axis];
        out->strides[axis] = stride;
        stride *= in->shape[axis];
    }
}

/* Fresh buffers, filled. */
static bool lay_contiguous(struct posref_worker_job *job, enum posref_guard_side side)
{
    for (uint32_t i = 0; i < job->n; i++) {
        const struct posref_wire_tensor *tensor = &job->tensor[i];
        struct posref_guard_slot *slot = &job->w->slots[i];
        enum posref_dtype dtype = (enum posref_dtype)tensor->dtype;
        unsigned char *to = NULL;
        if (!tensor->is_output && side == POSREF_GUARD_BEFORE)
            to = posref_guard_keep(slot, tensor->size_bytes);
        if (!to && !posref_guard_place(slot, tensor->size_bytes, side))
            return false;
        if (tensor->is_output)
            posref_pattern_fill(slot->data, dtype, tensor->size_bytes / posref_dtype_size(dtype));
        else
            memcpy(to ? to : slot->data, job->w->memory + tensor->offset, tensor->size_bytes);
        posref_worker_describe(&job->described[i], tensor, slot->data);
        job->list[i] = &job->described[i];
    }
    job->call.n_tensors = job->n;
    return true;
}

/* The buffers, and the call that points to them. */
static void lay_tensors(struct posref_worker_job *job, enum posref_guard_side side)
{
    if (!(job->is_placed ? posref_worker_place_lay(job, side) : lay_contiguous(job, side)))
        _exit(3); /* out of memory, or the plugin unmapped it: the verdict says exited */
    job->call = (struct posref_plugin_call){
        .struct_size = sizeof job->call,
        .n_tensors = job->call.n_tensors,
        .op = (const char *)job->w->memory + job->record->op_offset,
        .spec = (const char *)job->w->memory + job->record->spec_offset,
        .layout = (const char *)job->w->memory + job->record->layout_offset,
        .tensors = job->list};
}

int64_t posref_worker_difference(const unsigned char *a, const unsigned char *b)
{
    int64_t at = 0;
    while (a[at] == b[at])
        at++;
    return at;
}

enum posref_wire_result posref_worker_blame(struct posref_worker_job *job,
                                            enum posref_wire_result result, uint32_t i,
                                            int64_t offset_bytes)
{
    job->record->bad_tensor = i;
    job->record->bad_offset_bytes = offset_bytes;
    return result;
}

/* After a call: canaries whole, inputs left alone. */
static enum posref_wire_result check_tensors(struct posref_worker_job *job)
{
    if (job->is_placed)
        return posref_worker_place_check(job);
    for (uint32_t i = 0; i < job->n; i++) {
        const struct posref_guard_slot *slot = &job->w->slots[i];
        const unsigned char *shared = job->w->memory + job->tensor[i].offset;
        int64_t offset;
        if (!posref_guard_check(&offset, slot))
            return posref_worker_blame(job, POSREF_WIRE_BAD_WRITE, i, offset);
        if (!job->tensor[i].is_output && memcmp(shared, slot->data, slot->size_bytes) != 0)
            return posref_worker_blame(job, POSREF_WIRE_INPUT_MODIFIED, i,
                                       posref_worker_difference(shared, slot->data));
    }
    return POSREF_WIRE_RETURNED;
}

/* What the call left in output i, contiguous. */
static const unsigned char *output_of(const struct posref_worker_job *job, uint32_t i)
{
    return job->is_placed ? job->result[i] : job->w->slots[i].data;
}

/* Whether the outputs are those that were kept; blames the first that is not. */
static bool same_outputs(struct posref_worker_job *job)
{
    for (uint32_t i = 0; i < job->n; i++) {
        const unsigned char *shared = job->w->memory + job->tensor[i].offset;
        const unsigned char *output = output_of(job, i);
        if (job->tensor[i].is_output && memcmp(shared, output, job->tensor[i].size_bytes) != 0) {
            (void)posref_worker_blame(job, POSREF_WIRE_DIFFERS, i,
                                      posref_worker_difference(shared, output));
            return false;
        }
    }
    return true;
}

static void keep_outputs(struct posref_worker_job *job)
{
    for (uint32_t i = 0; i < job->n; i++)
        if (job->tensor[i].is_output)
            memcpy(job->w->memory + job->tensor[i].offset, output_of(job, i),
                   job->tensor[i].size_bytes);
}

/* What a call has done, and what it said. */
static enum posref_wire_result look_back(struct posref_worker_job *job, int32_t status)
{
    enum posref_wire_result result = check_tensors(job);
    if (result == POSREF_WIRE_RETURNED && fcntl(POSREF_WORKER_FD_SIGNAL, F_GETFD) < 0)
        result = POSREF_WIRE_DISTURBED;
    if (result != POSREF_WIRE_RETURNED || status == POSREF_PLUGIN_OK)
        return result;
    job->record->bad_offset_bytes = status;
    return status == POSREF_PLUGIN_UNSUPPORTED ? POSREF_WIRE_DECLINED
           : status == POSREF_PLUGIN_ERROR     ? POSREF_WIRE_ERROR
                                               : POSREF_WIRE_BAD_STATUS;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static enum posref_wire_result run_once(struct posref_worker_job *job, enum posref_phase phase)
{
    struct posref_worker *w = job->w;
    job->why[0] = '\0';
    posref_worker_phase(w, job->index, phase);
    uint64_t start = now_ns();
    int32_t status = w->plugin->run(w->state, &job->call, job->why, sizeof job->why);
    job->record->run_ns += now_ns() - start;
    return look_back(job, status);
}

static enum posref_wire_result ask(struct posref_worker_job *job)
{
    struct posref_worker *w = job->w;
    if (!w->plugin->supports)
        return POSREF_WIRE_RETURNED;
    posref_worker_phase(w, job->index, POSREF_PHASE_SUPPORTS);
    int32_t status = w->plugin->supports(w->state, &job->call, job->why, sizeof job->why);
    return look_back(job, status);
}

/* The first call's tensors lie at the other ends of their slots, as it left them and as they were
 * kept: what has changed since was written after the call returned. */
static enum posref_wire_result check_left(struct posref_worker_job *job)
{
    if (job->is_placed)
        return posref_worker_place_left(job);
    for (uint32_t i = 0; i < job->n; i++) {
        const unsigned char *left = posref_guard_other(&job->w->slots[i]);
        const unsigned char *shared = job->w->memory + job->tensor[i].offset;
        if (left && memcmp(shared, left, job->tensor[i].size_bytes) != 0)
            return posref_worker_blame(job, POSREF_WIRE_LATE, i,
                                       posref_worker_difference(shared, left));
    }
    return POSREF_WIRE_RETURNED;
}

/* The second placement gave the same other result twice: alignment, when the first gives its own
 * again too. Else the first result was one left over from an earlier call. */
static enum posref_wire_result repeat_first(struct posref_worker_job *job)
{
    if (job->is_placed)
        return POSREF_WIRE_RETURNED; /* the first result was not kept */
    for (uint32_t i = 0; i < job->n; i++) {
        const unsigned char *first = posref_guard_other(&job->w->slots[i]);
        if (!first)
            return POSREF_WIRE_RETURNED; /* too large to have been kept */
        if (job->tensor[i].is_output)
            memcpy(job->w->memory + job->tensor[i].offset, first, job->tensor[i].size_bytes);
    }
    lay_tensors(job, POSREF_GUARD_AFTER);
    enum posref_wire_result result = run_once(job, POSREF_PHASE_REPEAT);
    if (result == POSREF_WIRE_RETURNED && !same_outputs(job))
        return POSREF_WIRE_DIFFERS;
    return result;
}

/* After a call that has started threads: do they write to its tensors? Such an access faults. */
static void await_threads(struct posref_worker *w)
{
    const int n_threads = posref_left_threads(&w->before);
    const bool grew = n_threads > w->n_threads;
    w->n_threads = n_threads;
    if (!grew || w->n_waits == MAX_WAITS)
        return;
    w->n_waits++;
    if (posref_guard_close(w->slots, true))
        usleep(WAIT_US);
    if (!posref_guard_close(w->slots, false))
        _exit(3);
}

static enum posref_wire_result run_all(struct posref_worker_job *job)
{
    lay_tensors(job, POSREF_GUARD_AFTER);
    enum posref_wire_result result = ask(job);
    if (result == POSREF_WIRE_RETURNED)
        result = run_once(job, POSREF_PHASE_RUN);
    if (result != POSREF_WIRE_RETURNED)
        return result;
    keep_outputs(job);
    lay_tensors(job, POSREF_GUARD_BEFORE);
    result = run_once(job, POSREF_PHASE_AGAIN);
    if (result == POSREF_WIRE_RETURNED)
        result = check_left(job);
    if (result == POSREF_WIRE_RETURNED && (job->w->varies || same_outputs(job)))
        return result;
    if (result == POSREF_WIRE_RETURNED) {
        keep_outputs(job);
        lay_tensors(job, POSREF_GUARD_BEFORE);
        result = run_once(job, POSREF_PHASE_REPEAT);
        if (result == POSREF_WIRE_RETURNED)
            result = same_outputs(job) ? repeat_first(job) : POSREF_WIRE_DIFFERS;
    }
    return result == POSREF_WIRE_DECLINED ? POSREF_WIRE_DIFFERS : result;
}

void posref_worker_run(struct posref_worker *w, uint32_t index, struct posref_wire_case *c)
{
    struct posref_worker_job job = {.w = w, .record = c, .index = index, .n = c->n_tensors};
    memcpy(job.tensor, w->memory + c->tensors_offset, job.n * sizeof *job.tensor);
    for (uint32_t i = job.n; i < POSREF_MAX_TENSORS; i++)
        w->slots[i].data = NULL;
    job.is_placed = c->placement_offset != 0;
    if (job.is_placed && !posref_worker_place_begin(&job))
        _exit(3); /* out of memory */
    enum posref_wire_result result = run_all(&job);
    await_threads(w);
    job.why[sizeof job.why - 1] = '\0';
    memcpy(c->why, job.why, sizeof c->why);
    atomic_store(&c->result, (uint32_t)result);
    if (result == POSREF_WIRE_DISTURBED)
        _exit(0); /* nothing more can be said to the parent, which will start another worker */
}
