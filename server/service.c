/* SPDX-License-Identifier: Apache-2.0 */
/* The service without a network: refuses what the table of routes refuses, lends the handler a
 * database, and gives the answer its entity tag and its encoding. */
#include "service.h"

#include "handle.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#define BRIEF_BODY_BYTES 4096    /* a longer body takes a while to read */
#define BRIEF_PACKED_BYTES 65536 /* a longer answer takes a while to compress */

/* The enum's value, or 0. HEAD is GET here. */
static unsigned parse_method(const char *method)
{
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return POSREF_METHOD_GET;
    if (strcmp(method, "POST") == 0)
        return POSREF_METHOD_POST;
    return strcmp(method, "OPTIONS") == 0 ? POSREF_METHOD_OPTIONS : 0;
}

/* True: the reply is complete, there is nothing to route. */
static bool refuse_method(struct posref_reply *reply, const char *path, unsigned method,
                          unsigned methods)
{
    if (!methods) {
        posref_reply_fail(reply, POSREF_PROBLEM_NOT_FOUND, NULL, "%.200s: no such address", path);
        return true;
    }
    if (method & methods)
        return false;
    posref_methods_text(reply->allow, sizeof reply->allow, methods);
    if (method == POSREF_METHOD_OPTIONS)
        reply->status = 204;
    else
        posref_reply_fail(reply, POSREF_PROBLEM_METHOD_NOT_ALLOWED, NULL, "%.200s takes %s", path,
                          reply->allow);
    return true;
}

/* Whether a Content-Type header names the media type, whatever its parameters. */
static bool is_type(const char *content_type, const char *type)
{
    size_t length = strlen(type);
    if (strncasecmp(content_type, type, length) != 0)
        return false;
    const char *rest = content_type + length;
    rest += strspn(rest, " \t");
    return !*rest || *rest == ';';
}

/* Finds which of the route's media types came; true: none, and the reply is made. */
static bool refuse_body(struct posref_reply *reply, const struct posref_route *route,
                        const struct posref_http_request *http, int *form)
{
    *form = 0;
    if (route->method != POSREF_METHOD_POST)
        return false;
    if (http->content_encoding && strcasecmp(http->content_encoding, "identity") != 0) {
        posref_reply_fail(reply, POSREF_PROBLEM_UNSUPPORTED_MEDIA_TYPE, NULL,
                          "the body has a Content-Encoding: send it plain");
        return true;
    }
    const char *const *types = route->consumes;
    while (http->content_type && types[*form] && !is_type(http->content_type, types[*form]))
        ++*form;
    if (types[*form])
        return false;
    posref_reply_fail(reply, POSREF_PROBLEM_UNSUPPORTED_MEDIA_TYPE, NULL,
                      "send the body with the header Content-Type: %s%s%s", types[0],
                      types[1] ? " or " : "", types[1] ? types[1] : "");
    return true;
}

/* Finds the media type that is wanted; true: none, and the reply is made. */
static bool refuse_form(struct posref_reply *reply, const struct posref_route *route,
                        const struct posref_http_request *http, int *form)
{
    *form = posref_accept_choose(http->accept, route->produces);
    if (*form >= 0)
        return false;
    posref_reply_fail(reply, POSREF_PROBLEM_NOT_ACCEPTABLE, NULL, "%s%s comes as %s%s%s only",
                      route->path, route->prefix ? "..." : "", route->produces[0],
                      route->produces[1] ? " or " : "",
                      route->produces[1] ? route->produces[1] : "");
    return true;
}

static bool refuse_params(struct posref_reply *reply, const struct posref_route *route,
                          const struct posref_uri *uri)
{
    for (size_t i = 0; i < uri->n_params; i++) {
        const char *key = uri->param[i].key, *known;
        size_t k = 0;
        while ((known = posref_route_param(route, k)) &&
               (known[0] != key[0] || strcmp(known, key) != 0))
            k++;
        if (known)
            continue;
        struct posref_problem problem = {.kind = POSREF_PROBLEM_UNKNOWN_PARAMETER, .param = key,
                                         .value = uri->param[i].value,
                                         .nearest = posref_route_nearest(route, key)};
        if (problem.nearest)
            snprintf(problem.detail, sizeof problem.detail,
                     "%.60s: no such parameter; did you mean %s?", key, problem.nearest);
        else
            snprintf(problem.detail, sizeof problem.detail, "%.60s: no such parameter of %s%s",
                     key, route->path, route->prefix ? "..." : "");
        posref_reply_problem(reply, &problem);
        return true;
    }
    return false;
}

static void handle(struct posref_service *service, struct posref_call call,
                   struct posref_reply *reply)
{
    struct posref_lease lease;
    if (!call.route->uses_db) {
        call.route->handle(&call, reply);
    } else if (service->store && posref_store_borrow(service->store, &lease)) {
        call.lease = &lease;
        call.route->handle(&call, reply);
        posref_store_return(service->store, &lease);
    } else {
        posref_reply_fail(reply, POSREF_PROBLEM_UNAVAILABLE, NULL, "no database");
    }
    if (reply->body.failed)
        posref_reply_fail(reply, POSREF_PROBLEM_TOO_LARGE, NULL,
                          "the answer would be longer than %u bytes", POSREF_REPLY_MAX_BYTES);
}

/* The reply keeps the length of the file, for Content-Range. */
static void refuse_range(struct posref_reply *reply)
{
    char detail[80];
    snprintf(detail, sizeof detail, "the file has %llu bytes", (unsigned long long)reply->whole);
    posref_reply_fail(reply, POSREF_PROBLEM_RANGE, NULL, "%s", detail);
}

/* Returns the route, or NULL where there is none for the request. */
static const struct posref_route *answer(struct posref_service *service,
                                         const struct posref_http_request *http,
                                         struct posref_reply *reply)
{
    struct posref_uri uri;
    struct posref_error err;
    if (strlen(http->target) > POSREF_URI_MAX_BYTES) {
        posref_reply_fail(reply, POSREF_PROBLEM_URI_TOO_LONG, NULL,
                          "an address may have %d bytes; POST takes longer input",
                          POSREF_URI_MAX_BYTES);
        return NULL;
    }
    enum posref_status status = posref_uri_parse(&uri, http->target, &err);
    if (status != POSREF_OK) {
        posref_reply_error(reply, status, &err);
        return NULL;
    }
    unsigned method = parse_method(http->method), methods;
    struct posref_call call = {.http = http, .uri = &uri, .metrics = &service->metrics};
    char argument[POSREF_ROUTE_ARGUMENT]; /* set with the route */
    call.argument = argument;
    call.route = posref_route_find(uri.path, (enum posref_method)method, argument, &methods);
    if (refuse_method(reply, uri.path, method, methods) ||
        refuse_form(reply, call.route, http, &call.form) ||
        refuse_body(reply, call.route, http, &call.body_form) ||
        refuse_params(reply, call.route, &uri))
        return call.route;
    bool gzip = posref_accepts_gzip(http->accept_encoding);
    if (!posref_put_off(&call, reply, call.route->slow || http->body_length > BRIEF_BODY_BYTES))
        handle(service, call, reply);
    if (reply->put_off ||
        posref_put_off(&call, reply, gzip && reply->body.length > BRIEF_PACKED_BYTES))
        return call.route;
    if (call.route->method == POSREF_METHOD_GET)
        posref_reply_validate(reply, http->if_none_match, gzip);
    bool get = strcmp(http->method, "GET") == 0;
    if (get && !posref_reply_range(reply, http->range, http->if_range))
        refuse_range(reply);
    reply->stored = call.route->stored && (reply->status == 200 || reply->status == 304);
    if (gzip)
        posref_reply_compress(reply);
    return call.route;
}

uint64_t posref_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int posref_service_make(struct posref_service *service, const struct posref_http_request *http,
                        struct posref_reply *reply)
{
    posref_reply_init(reply);
    const struct posref_route *route = answer(service, http, reply);
    return route ? (int)(route - posref_routes) : -1;
}

void posref_service_count(struct posref_service *service, int route,
                          const struct posref_reply *reply, uint64_t begun_ns)
{
    posref_metrics_count(&service->metrics, route, reply->status, posref_reply_length(reply),
                         posref_now_ns() - begun_ns);
}

void posref_service_answer(struct posref_service *service, const struct posref_http_request *http,
                           struct posref_reply *reply)
{
    uint64_t begun_ns = posref_now_ns();
    int route = posref_service_make(service, http, reply);
    posref_service_count(service, route, reply, begun_ns);
}

void posref_service_refuse(struct posref_service *service, const struct posref_problem *problem,
                           struct posref_reply *reply)
{
    posref_reply_init(reply);
    posref_reply_problem(reply, problem);
    posref_metrics_count(&service->metrics, -1, reply->status, reply->body.length, 0);
}
