/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/vectors/ID: one vector, as stored. */
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

void posref_handle_vector(const struct posref_call *call, struct posref_reply *reply)
{
    bool answers, found;
    if (!read_answers(call, reply, &answers) || !posref_check_digest(call, reply))
        return;
    const char *json;
    size_t length;
    char sha256[65];
    struct posref_error err = {{0}, {0}};
    enum posref_status status = posref_db_json(call->lease->db, call->argument, answers, &json,
                                               &length, sha256, &found, &err);
    if (status != POSREF_OK) {
        posref_reply_error(reply, POSREF_INTERNAL, &err); /* no fault of the request's */
        return;
    }
    if (!found) {
        posref_reply_fail(reply, POSREF_PROBLEM_NOT_FOUND, NULL,
                          "%.160s: no vector has this id; /v1/vectors lists them",
                          call->argument);
        return;
    }
    posref_buffer_add(&reply->body, json, length);
    memcpy(reply->sha256, sha256, sizeof reply->sha256);
}
