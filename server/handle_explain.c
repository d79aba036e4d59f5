/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/explain: a spec, inputs and what a kernel made of them; verdict, grade and causes. */
#include "outputs.h"

#define MAX_ARENA_BYTES ((size_t)256 << 20)

/* An output that was not sent is taken as right; one alone is enough to be judged. */
static enum posref_status fill_up(struct posref_tensors *outputs,
                                  const struct posref_tensors *golden,
                                  const struct posref_arena *arena, struct posref_error *err)
{
    for (int i = 0; i < golden->n && outputs->n < POSREF_MAX_TENSORS; i++) {
        struct posref_tensor tensor = golden->item[i];
        int64_t count = posref_tensor_count(&tensor);
        if (posref_tensors_find(outputs, tensor.name))
            continue;
        if (tensor.dtype == POSREF_I64) { /* outputs are doubles here */
            const int64_t *whole = tensor.data;
            double *value = arena->alloc(arena->ctx, (size_t)count * sizeof *value);
            if (!value)
                return posref_fail(err, POSREF_NO_MEMORY, tensor.name, "no memory");
            for (int64_t k = 0; k < count; k++)
                value[k] = (double)whole[k];
            tensor.dtype = POSREF_F64;
            tensor.data = value;
        }
        outputs->item[outputs->n++] = tensor;
    }
    return POSREF_OK;
}

static enum posref_status explain(const struct posref_call *call, struct posref_reply *reply,
                                  const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_request request;
    struct posref_outputs outputs;
    struct posref_tensors sent;
    struct posref_vector vector;
    posref_request_init(&request);
    enum posref_status status = posref_outputs_read_request(&outputs, &request, call, arena, err);
    if (status == POSREF_OK)
        status = posref_request_complete(&request, err);
    if (status == POSREF_OK && !posref_check_size(&request, reply))
        return POSREF_OK; /* the reply says so */
    if (status == POSREF_OK)
        status = posref_check_vector(&vector, &request, &outputs.tensors, arena, err);
    if (status == POSREF_OK)
        sent = outputs.tensors;
    if (status == POSREF_OK)
        status = fill_up(&outputs.tensors, &vector.outputs, arena, err);
    if (status != POSREF_OK)
        return status;
    status = posref_check_outputs(&reply->body, &vector, &outputs.tensors, &sent, outputs.dtype,
                                  outputs.gate, arena, err);
    if (status == POSREF_BAD_INPUT) { /* of a tensor, though a field be called like it */
        posref_reply_error(reply, status, err);
        return POSREF_OK;
    }
    if (status != POSREF_OK)
        return status;
    posref_buffer_printf(&reply->body, ", \"op\": \"%s\", \"spec\": ", posref_op_name(vector.op));
    posref_spec_json(&reply->body, &vector.spec);
    posref_buffer_text(&reply->body, "}\n");
    return POSREF_OK;
}

void posref_handle_explain(const struct posref_call *call, struct posref_reply *reply)
{
    struct posref_heap *heap = posref_heap_new(MAX_ARENA_BYTES);
    struct posref_error err = {{0}, {0}};
    if (!heap) {
        posref_reply_fail(reply, POSREF_PROBLEM_INTERNAL, NULL, "out of memory");
        return;
    }
    struct posref_arena arena = posref_heap_arena(heap);
    enum posref_status status = explain(call, reply, &arena, &err);
    if (status != POSREF_OK)
        posref_refuse_field(call, reply, status, &err);
    posref_heap_free(heap);
}
