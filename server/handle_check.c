/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/vectors/ID/check: verdict, grade and explanations of an output, so that nothing but curl
 * is needed to have a kernel judged. */
#include "outputs.h"

#define MAX_ARENA_BYTES ((size_t)256 << 20)

/* A gate that a dtype cannot have is the judge's business: grades contain one another. */
static enum posref_status check(struct posref_reply *reply, const struct posref_call *call,
                                const struct posref_vector *vector,
                                const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_outputs outputs;
    enum posref_status status = posref_outputs_read(&outputs, call, arena, err);
    if (status != POSREF_OK)
        return status;
    struct posref_buffer answer;
    posref_buffer_init(&answer, reply->body.max_bytes);
    status = posref_check_outputs(&answer, vector, &outputs.tensors, NULL, outputs.dtype,
                                  outputs.gate, arena, err);
    if (status == POSREF_OK) {
        posref_buffer_text(&reply->body, "{\"id\": ");
        posref_buffer_json_string(&reply->body, vector->id);
        posref_buffer_text(&reply->body, ", ");
        if (answer.failed)
            reply->body.failed = true;
        else
            posref_buffer_add(&reply->body, answer.data + 1, answer.length - 1);
        posref_buffer_text(&reply->body, "}\n");
    }
    posref_buffer_clear(&answer);
    return status;
}

void posref_handle_check(const struct posref_call *call, struct posref_reply *reply)
{
    struct posref_heap *heap = posref_heap_new(MAX_ARENA_BYTES);
    struct posref_error err = {{0}, {0}};
    struct posref_vector vector;
    bool found = false;
    if (!heap) {
        posref_reply_fail(reply, POSREF_PROBLEM_INTERNAL, NULL, "out of memory");
        return;
    }
    if (posref_check_digest(call, reply)) {
        struct posref_arena arena = posref_heap_arena(heap);
        enum posref_status status =
            posref_db_get(call->lease->db, call->argument, &vector, &found, &arena, &err);
        if (status != POSREF_OK)
            posref_reply_error(reply, POSREF_INTERNAL, &err); /* no fault of the request's */
        else if (!found)
            posref_refuse_id(call, reply);
        else if ((status = check(reply, call, &vector, &arena, &err)) != POSREF_OK)
            posref_refuse_field(call, reply, status, &err);
    }
    reply->caching = POSREF_CACHE_NONE;
    posref_heap_free(heap);
}
