/* SPDX-License-Identifier: Apache-2.0 */
/* Problem documents: see problem.h. */
#include "problem.h"

#include "uri.h"

#include <stdarg.h>
#include <string.h>

#define VALUE_SHOWN 80 /* bytes of a value that a document repeats */

static const struct posref_problem_info kinds[POSREF_N_PROBLEMS] = {
    [POSREF_PROBLEM_MALFORMED_REQUEST] =
        {"malformed-request", 400, "The request is malformed",
         "The request line, a header or the body could not be read. The detail says where."},
    [POSREF_PROBLEM_UNKNOWN_PARAMETER] =
        {"unknown-parameter", 400, "No such parameter",
         "Nothing is ignored: a parameter that the address does not know is an error. `param` is\n"
         "its name and `nearest` the known name most like it. /v1/schemes lists the fields."},
    [POSREF_PROBLEM_BAD_PARAMETER] =
        {"bad-parameter", 400, "A parameter has a wrong value",
         "`param` names the parameter or tensor, `value` repeats what was given, `allowed` is\n"
         "what would have been accepted. /v1/schemes has every field's type, range and default."},
    [POSREF_PROBLEM_NOT_FOUND] =
        {"not-found", 404, "Nothing here",
         "There is no such address, or no vector with such an id. /openapi.json lists the\n"
         "addresses, /v1/vectors the ids."},
    [POSREF_PROBLEM_RETIRED] =
        {"retired", 410, "No longer in use",
         "The vector with this id was replaced. `successor` is the address of the one that says\n"
         "now what it said."},
    [POSREF_PROBLEM_METHOD_NOT_ALLOWED] =
        {"method-not-allowed", 405, "Method not allowed",
         "The address exists; the header Allow lists its methods."},
    [POSREF_PROBLEM_NOT_ACCEPTABLE] =
        {"not-acceptable", 406, "Not available in the wanted form",
         "The header Accept excludes every form that the address has."},
    [POSREF_PROBLEM_TOO_LARGE] =
        {"too-large", 413, "The request asks for too much",
         "The body, or what was asked to be computed, is beyond a limit that the detail states.\n"
         "Ask in parts, or run posref on your own machine, where limits are wider."},
    [POSREF_PROBLEM_URI_TOO_LONG] =
        {"uri-too-long", 414, "The address is too long",
         "Send the values in the body of a POST instead."},
    [POSREF_PROBLEM_UNSUPPORTED_MEDIA_TYPE] =
        {"unsupported-media-type", 415, "The body has a type that is not understood",
         "Send JSON with the header Content-Type: application/json, not compressed."},
    [POSREF_PROBLEM_RANGE] =
        {"range-not-satisfiable", 416, "No such bytes",
         "The range begins behind the last byte; the header Content-Range has the length."},
    [POSREF_PROBLEM_HEADERS_TOO_LARGE] =
        {"headers-too-large", 431, "The headers are too large",
         "The request's headers are too many or too long; the detail states the limit."},
    [POSREF_PROBLEM_INTERNAL] =
        {"internal", 500, "The service failed",
         "This is a fault of posref, not of the request."},
    [POSREF_PROBLEM_UNAVAILABLE] =
        {"unavailable", 503, "Not available now",
         "The database does not answer, or too many large or long requests came at once. Try\n"
         "again later: Retry-After says in how many seconds."},
};

const struct posref_problem_info *posref_problem_info(enum posref_problem_kind kind)
{
    return &kinds[kind];
}

/* At most VALUE_SHOWN bytes, cut between characters. */
static void add_shortened(struct posref_buffer *out, const char *value)
{
    size_t length = strlen(value);
    if (length <= VALUE_SHOWN) {
        posref_buffer_json_string(out, value);
        return;
    }
    char cut[VALUE_SHOWN + 4];
    length = VALUE_SHOWN;
    while (length && ((unsigned char)value[length] & 0xc0) == 0x80)
        length--;
    memcpy(cut, value, length);
    memcpy(cut + length, "...", sizeof "...");
    posref_buffer_json_string(out, cut);
}

static void add_member(struct posref_buffer *out, const char *name, const char *value)
{
    if (!value)
        return;
    posref_buffer_printf(out, ", \"%s\": ", name);
    add_shortened(out, value);
}

void posref_reply_problem(struct posref_reply *reply, const struct posref_problem *problem)
{
    const struct posref_problem_info *info = &kinds[problem->kind];
    struct posref_buffer *out = &reply->body;
    posref_reply_clear(reply);
    reply->status = info->status;
    reply->content_type = "application/problem+json";
    reply->sha256[0] = '\0';
    reply->caching = POSREF_CACHE_NONE;
    reply->page = false;
    posref_buffer_printf(out, "{\"type\": \"/problems/%s\", \"title\": \"%s\", \"status\": %u",
                         info->name, info->title, info->status);
    posref_buffer_text(out, ", \"detail\": ");
    /* Texts from below may have been cut in the middle of a character. */
    bool valid = posref_utf8_valid(problem->detail, strlen(problem->detail));
    posref_buffer_json_string(out, valid ? problem->detail : info->title);
    add_member(out, "param", problem->param);
    add_member(out, "value", problem->value);
    add_member(out, "nearest", problem->nearest);
    if (problem->allowed) {
        posref_buffer_text(out, ", \"allowed\": ");
        posref_buffer_json_string(out, problem->allowed);
    }
    if (problem->successor) {
        posref_buffer_text(out, ", \"successor\": ");
        posref_buffer_json_string(out, problem->successor);
    }
    posref_buffer_text(out, "}\n");
}

void posref_reply_fail(struct posref_reply *reply, enum posref_problem_kind kind,
                       const char *param, const char *format, ...)
{
    struct posref_problem problem = {.kind = kind, .param = param};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem.detail, sizeof problem.detail, format, arguments);
    va_end(arguments);
    posref_reply_problem(reply, &problem);
}

void posref_reply_error(struct posref_reply *reply, enum posref_status status,
                        const struct posref_error *err)
{
    struct posref_problem problem = {.kind = POSREF_PROBLEM_INTERNAL};
    bool named = err->key[0] && posref_utf8_valid(err->key, strlen(err->key));
    if (status == POSREF_BAD_INPUT) {
        problem.kind = named ? POSREF_PROBLEM_BAD_PARAMETER : POSREF_PROBLEM_MALFORMED_REQUEST;
        problem.param = named ? err->key : NULL;
    }
    snprintf(problem.detail, sizeof problem.detail, "%.60s%s%.250s", named ? err->key : "",
             named ? ": " : "", err->text);
    posref_reply_problem(reply, &problem);
}
