/* SPDX-License-Identifier: Apache-2.0 */
/* Packing trials into shared memory and reading their results. */
#include "batch.h"

#include "pattern.h"
#include "plugin_text.h"

#include <stdio.h>
#include <string.h>

#define MAX_RUN_NS ((uint64_t)1000000000000000) /* eleven days: sums of a suite fit an int64_t */

/* Where the next piece goes; past the end: it did not fit. */
static uint64_t take(uint64_t *used, size_t size_bytes)
{
    uint64_t at = (*used + 15) & ~(uint64_t)15;
    *used = at + size_bytes;
    return at;
}

static size_t tensor_bytes(const struct posref_tensor *tensor)
{
    return (size_t)posref_tensor_count(tensor) * posref_dtype_size(tensor->dtype);
}

static void describe(struct posref_wire_tensor *out, const struct posref_tensor *tensor,
                     bool is_output, uint64_t offset)
{
    memset(out, 0, sizeof *out);
    memcpy(out->name, tensor->name, sizeof out->name);
    out->dtype = (uint32_t)tensor->dtype;
    out->rank = (uint32_t)tensor->rank;
    out->is_output = is_output;
    out->offset = offset;
    out->size_bytes = tensor_bytes(tensor);
    for (int axis = 0; axis < tensor->rank; axis++)
        out->shape[axis] = tensor->shape[axis];
}

static uint64_t lay_text(unsigned char *memory, uint64_t *used, const char *text)
{
    size_t size = strlen(text) + 1;
    uint64_t at = take(used, size);
    if (*used <= POSREF_WIRE_SIZE_BYTES)
        memcpy(memory + at, text, size);
    return at;
}

/* false: it does not fit. */
static bool lay_case(struct posref_batch_case *mine, struct posref_wire_case *record,
                     unsigned char *memory, uint64_t *used, const struct posref_trial *trial)
{
    const int n = trial->in.n + trial->out.n;
    memset(record, 0, sizeof *record);
    record->op_offset = lay_text(memory, used, trial->op);
    record->spec_offset = lay_text(memory, used, trial->spec);
    record->layout_offset = lay_text(memory, used, trial->layout ? trial->layout : "plain");
    record->tensors_offset = take(used, (size_t)n * sizeof(struct posref_wire_tensor));
    record->n_tensors = (uint32_t)n;
    if (trial->placement)
        record->placement_offset = take(used, sizeof *trial->placement);
    if (*used > POSREF_WIRE_SIZE_BYTES || n > POSREF_MAX_TENSORS)
        return false;
    if (trial->placement)
        memcpy(memory + record->placement_offset, trial->placement, sizeof *trial->placement);
    struct posref_wire_tensor *tensors =
        (struct posref_wire_tensor *)(void *)(memory + record->tensors_offset);
    for (int i = 0; i < n; i++) {
        bool is_output = i >= trial->in.n;
        const struct posref_tensor *tensor =
            is_output ? &trial->out.item[i - trial->in.n] : &trial->in.item[i];
        uint64_t at = take(used, tensor_bytes(tensor));
        if (*used > POSREF_WIRE_SIZE_BYTES)
            return false;
        describe(&tensors[i], tensor, is_output, at);
        if (is_output)
            mine->out_offset[i - trial->in.n] = at;
        else
            memcpy(memory + at, tensor->data, tensor_bytes(tensor));
    }
    return true;
}

void posref_batch_lay(struct posref_batch *out, struct posref_wire *wire,
                      struct posref_trial *const *trials, size_t n)
{
    unsigned char *memory = (unsigned char *)wire;
    uint64_t used = sizeof *wire;
    size_t most = n < POSREF_WIRE_MAX_CASES ? n : POSREF_WIRE_MAX_CASES;
    out->cases_offset = take(&used, most * sizeof(struct posref_wire_case));
    for (out->n = 0; out->n < most; out->n++)
        if (!lay_case(&out->at[out->n], posref_batch_record(out, wire, out->n), memory, &used,
                      trials[out->n]))
            break;
    wire->cases_offset = out->cases_offset;
    wire->n_cases = (uint32_t)out->n;
    atomic_store(&wire->progress, posref_wire_progress(0, POSREF_PHASE_IDLE));
}

struct posref_wire_case *posref_batch_record(const struct posref_batch *batch,
                                             struct posref_wire *wire, size_t k)
{
    return (struct posref_wire_case *)(void *)((unsigned char *)wire + batch->cases_offset) + k;
}

static uint64_t element_bits(const struct posref_tensor *tensor, int64_t k)
{
    const unsigned char *data = tensor->data;
    size_t size = posref_dtype_size(tensor->dtype);
    uint64_t bits8 = 0;
    uint32_t bits4 = 0;
    uint16_t bits2 = 0;
    data += (size_t)k * size;
    if (size == 8)
        memcpy(&bits8, data, 8);
    else if (size == 4)
        memcpy(&bits4, data, 4);
    else if (size == 1)
        return *data;
    else
        memcpy(&bits2, data, 2);
    return size == 8 ? bits8 : size == 4 ? bits4 : bits2;
}

static bool is_nan(uint64_t bits, enum posref_dtype dtype)
{
    switch (dtype) {
    case POSREF_F64: return (bits & 0x7FFFFFFFFFFFFFFFu) > 0x7FF0000000000000u;
    case POSREF_F32: return (bits & 0x7FFFFFFFu) > 0x7F800000u;
    case POSREF_F16: return (bits & 0x7FFFu) > 0x7C00u;
    case POSREF_BF16: return (bits & 0x7FFFu) > 0x7F80u;
    case POSREF_F8E4M3: return (bits & 0x7Fu) == 0x7Fu;
    case POSREF_F8E5M2: return (bits & 0x7Fu) > 0x7Cu;
    default: return false;
    }
}

void posref_trial_look(struct posref_trial *trial)
{
    int64_t n_nan = 0, n_unwritten = 0;
    for (int i = 0; i < trial->out.n; i++) {
        const struct posref_tensor *tensor = &trial->out.item[i];
        int64_t count = posref_tensor_count(tensor);
        const uint64_t pattern = posref_pattern_bits(tensor->dtype);
        for (int64_t k = 0; k < count; k++) {
            uint64_t bits = element_bits(tensor, k);
            bool unwritten = bits == pattern;
            if (!unwritten && !is_nan(bits, tensor->dtype))
                continue;
            if (n_nan + n_unwritten == 0 || (unwritten && n_unwritten == 0)) {
                trial->tensor = tensor->name;
                trial->element = k;
            }
            n_unwritten += unwritten;
            n_nan += !unwritten;
        }
    }
    if (n_unwritten > 0) {
        trial->verdict = POSREF_VERDICT_UNWRITTEN;
        snprintf(trial->why, sizeof trial->why, "%lld element(s) were never written",
                 (long long)n_unwritten);
    } else if (n_nan > 0) {
        trial->verdict = POSREF_VERDICT_NAN;
        snprintf(trial->why, sizeof trial->why, "%lld element(s) are NaN", (long long)n_nan);
    }
}

static const struct posref_tensor *tensor_at(const struct posref_trial *trial, uint32_t index)
{
    if (index < (uint32_t)trial->in.n)
        return &trial->in.item[index];
    index -= (uint32_t)trial->in.n;
    return index < (uint32_t)trial->out.n ? &trial->out.item[index] : NULL;
}

static void blame(struct posref_trial *trial, enum posref_verdict verdict, uint32_t index,
                  int64_t offset_bytes)
{
    const struct posref_tensor *tensor = tensor_at(trial, index);
    trial->verdict = verdict;
    if (!tensor)
        return;
    trial->tensor = tensor->name;
    trial->element = posref_wire_element(offset_bytes, tensor->dtype);
}

void posref_batch_read(struct posref_trial *trial, const struct posref_batch *batch,
                       struct posref_wire *wire, size_t k)
{
    struct posref_wire_case *record = posref_batch_record(batch, wire, k);
    snprintf(trial->why, sizeof trial->why, "%.*s", (int)sizeof record->why - 1, record->why);
    posref_plugin_text_clean(trial->why, 1);
    const uint64_t run_ns = record->run_ns; /* the plugin can write any number there */
    trial->run_ns = run_ns < MAX_RUN_NS ? run_ns : MAX_RUN_NS;
    trial->verdict = POSREF_VERDICT_PASS;
    switch ((enum posref_wire_result)atomic_load(&record->result)) {
    case POSREF_WIRE_RETURNED:
        for (int i = 0; i < trial->out.n; i++)
            memcpy(trial->out.item[i].data, (unsigned char *)wire + batch->at[k].out_offset[i],
                   tensor_bytes(&trial->out.item[i]));
        if (!trial->look_later)
            posref_trial_look(trial);
        return;
    case POSREF_WIRE_DECLINED: trial->verdict = POSREF_VERDICT_UNSUPPORTED; return;
    case POSREF_WIRE_ERROR: trial->verdict = POSREF_VERDICT_ERROR; return;
    case POSREF_WIRE_INPUT_MODIFIED:
        blame(trial, POSREF_VERDICT_INPUT_MODIFIED, record->bad_tensor, record->bad_offset_bytes);
        return;
    case POSREF_WIRE_BAD_WRITE:
        blame(trial, POSREF_VERDICT_BAD_WRITE, record->bad_tensor, record->bad_offset_bytes);
        return;
    case POSREF_WIRE_DIFFERS:
        blame(trial, POSREF_VERDICT_NONDETERMINISTIC, record->bad_tensor, record->bad_offset_bytes);
        snprintf(trial->why, sizeof trial->why, "two runs of the same call differ");
        return;
    case POSREF_WIRE_LATE:
        blame(trial, POSREF_VERDICT_BAD_WRITE, record->bad_tensor, record->bad_offset_bytes);
        snprintf(trial->why, sizeof trial->why, "written after the call returned");
        return;
    case POSREF_WIRE_DISTURBED:
        trial->verdict = POSREF_VERDICT_ERROR;
        snprintf(trial->why, sizeof trial->why, "closed descriptors that are not the plugin's");
        return;
    default:
        trial->verdict = POSREF_VERDICT_ERROR;
        snprintf(trial->why, sizeof trial->why, "returned the unknown status %lld",
                 (long long)record->bad_offset_bytes);
    }
}
