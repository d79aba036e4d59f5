/* SPDX-License-Identifier: Apache-2.0 */
/* What handlers share: see handle.h. */
#include "handle.h"

#include <string.h>

/* The allowed values of a spec field; nothing when `key` is none. */
static void describe_field(struct posref_buffer *out, const char *key)
{
    int field = posref_field_find(key);
    if (field < 0)
        return;
    const struct posref_field_def *def = posref_field_def((enum posref_field)field);
    switch (def->type) {
    case POSREF_TYPE_BOOL:
        posref_buffer_text(out, "true, false");
        break;
    case POSREF_TYPE_CHOICE:
        for (int i = 0; def->choices[i]; i++)
            posref_buffer_printf(out, "%s%s", i ? ", " : "", def->choices[i]);
        break;
    case POSREF_TYPE_INT:
    case POSREF_TYPE_INTS:
    case POSREF_TYPE_REAL:
    case POSREF_TYPE_REALS:
        posref_buffer_text(out, posref_field_is_list(def) ? "comma-separated " : "");
        posref_buffer_text(out, def->type == POSREF_TYPE_INT || def->type == POSREF_TYPE_INTS
                                    ? "integers" : "numbers");
        posref_buffer_text(out, def->min_open ? " above " : " from ");
        posref_buffer_number(out, def->min);
        posref_buffer_text(out, def->max_open ? ", below " : " to ");
        posref_buffer_number(out, def->max);
        break;
    }
}

void posref_refuse_field(const struct posref_call *call, struct posref_reply *reply,
                         enum posref_status status, const struct posref_error *err)
{
    if (status != POSREF_BAD_INPUT || !err->key[0]) {
        posref_reply_error(reply, status, err);
        return;
    }
    struct posref_problem problem = {.kind = POSREF_PROBLEM_BAD_PARAMETER, .param = err->key,
                                     .value = posref_uri_value(call->uri, err->key)};
    struct posref_buffer allowed;
    posref_buffer_init(&allowed, 4096);
    describe_field(&allowed, err->key);
    problem.allowed = allowed.failed ? NULL : allowed.data;
    snprintf(problem.detail, sizeof problem.detail, "%.60s: %.250s", err->key, err->text);
    posref_reply_problem(reply, &problem);
    posref_buffer_clear(&allowed);
}

bool posref_check_digest(const struct posref_call *call, struct posref_reply *reply)
{
    const char *digest = posref_uri_value(call->uri, "digest");
    reply->caching = digest ? POSREF_CACHE_IMMUTABLE : POSREF_CACHE_SHORT;
    if (!digest)
        return true;
    for (size_t i = 0; i < call->lease->n_suites; i++)
        if (strcmp(digest, call->lease->suites[i].digest) == 0)
            return true;
    struct posref_problem problem = {.kind = POSREF_PROBLEM_NOT_FOUND, .param = "digest",
                                     .value = digest,
                                     .detail = "this database holds no suite with that digest; "
                                               "/v1/suites lists what it holds"};
    posref_reply_problem(reply, &problem);
    return false;
}

bool posref_put_off(const struct posref_call *call, struct posref_reply *reply, bool is_long)
{
    reply->put_off = is_long && call->http->brief;
    return reply->put_off;
}

void posref_refuse_id(const struct posref_call *call, struct posref_reply *reply)
{
    char successor[POSREF_MAX_ID + 1], address[POSREF_MAX_ID + 16];
    struct posref_error err = {{0}, {0}};
    bool retired = false;
    if (posref_db_successor(call->lease->db, call->argument, successor, &retired, &err) !=
        POSREF_OK) {
        posref_reply_error(reply, POSREF_INTERNAL, &err); /* no fault of the request's */
        return;
    }
    if (retired) {
        snprintf(address, sizeof address, "/v1/vectors/%s", successor);
        struct posref_problem problem = {.kind = POSREF_PROBLEM_RETIRED, .successor = address};
        snprintf(problem.detail, sizeof problem.detail, "%.120s was retired; %.160s took its place",
                 call->argument, successor);
        posref_reply_problem(reply, &problem);
        return;
    }
    posref_reply_fail(reply, POSREF_PROBLEM_NOT_FOUND, NULL,
                      "%.160s: no vector has this id; /v1/vectors lists them", call->argument);
}

bool posref_read_numbers(const struct posref_call *call, struct posref_reply *reply,
                         enum posref_number_form *numbers)
{
    const char *text = posref_uri_value(call->uri, "numbers");
    int form = text ? posref_number_form_find(text) : POSREF_NUMBERS_DECIMAL;
    *numbers = form < 0 ? POSREF_NUMBERS_DECIMAL : (enum posref_number_form)form;
    if (form >= 0)
        return true;
    struct posref_problem problem = {.kind = POSREF_PROBLEM_BAD_PARAMETER, .param = "numbers",
                                     .value = text, .allowed = "decimal, hex, bits",
                                     .detail = "numbers: must be decimal, hex or bits"};
    posref_reply_problem(reply, &problem);
    return false;
}
