/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/vectors/ID: one vector, as the stored JSON or as a safetensors document. */
#include "handle.h"

#include <string.h>

/* False, with the reply made: neither true nor false. */
static bool read_answers(const struct posref_call *call, struct posref_reply *reply, bool *answers)
{
    const char *text = posref_uri_value(call->uri, "answers");
    *answers = !text || strcmp(text, "true") == 0;
    if (*answers || strcmp(text, "false") == 0)
        return true;
    struct posref_problem problem = {.kind = POSREF_PROBLEM_BAD_PARAMETER, .param = "answers",
                                     .value = text, .allowed = "true, false",
                                     .detail = "answers: must be true or false"};
    posref_reply_problem(reply, &problem);
    return false;
}

static enum posref_status add_json(const struct posref_call *call, struct posref_reply *reply,
                                   bool answers, bool *found, struct posref_error *err)
{
    const char *json;
    size_t length;
    enum posref_status status = posref_db_json(call->lease->db, call->argument, answers, &json,
                                               &length, reply->sha256, found, err);
    if (status == POSREF_OK && *found)
        posref_buffer_add(&reply->body, json, length);
    return status;
}

/* What is not stored ready to send: a safetensors document, or other numbers than decimals. */
static enum posref_status add_made(const struct posref_call *call, struct posref_reply *reply,
                                   bool answers, enum posref_number_form numbers, bool *found,
                                   struct posref_error *err)
{
    struct posref_heap *heap = posref_heap_new(0);
    if (!heap)
        return posref_fail(err, POSREF_NO_MEMORY, "", "out of memory");
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_vector vector;
    enum posref_status status =
        posref_db_get(call->lease->db, call->argument, &vector, found, &arena, err);
    if (status == POSREF_OK && *found && call->form == 1)
        posref_vector_safetensors(&reply->body, &vector, answers);
    else if (status == POSREF_OK && *found)
        posref_vector_json(&reply->body, &vector, answers, numbers);
    if (call->form == 1)
        reply->content_type = "application/vnd.safetensors";
    posref_heap_free(heap);
    return status;
}

void posref_handle_vector(const struct posref_call *call, struct posref_reply *reply)
{
    bool answers, found = false;
    enum posref_number_form numbers;
    if (!read_answers(call, reply, &answers) || !posref_read_numbers(call, reply, &numbers) ||
        !posref_check_digest(call, reply))
        return;
    struct posref_error err = {{0}, {0}};
    enum posref_status status = call->form == 0 && numbers == POSREF_NUMBERS_DECIMAL
                                    ? add_json(call, reply, answers, &found, &err)
                                    : add_made(call, reply, answers, numbers, &found, &err);
    if (status != POSREF_OK)
        posref_reply_error(reply, POSREF_INTERNAL, &err); /* no fault of the request's */
    else if (!found)
        posref_refuse_id(call, reply);
}
