/* SPDX-License-Identifier: Apache-2.0 */
/* The table of addresses: path, method, parameters, form of the answer, handler. Everything that
 * can be refused without doing any work is refused from this table. */
#ifndef POSREF_SERVER_ROUTE_H
#define POSREF_SERVER_ROUTE_H

#include "metrics.h"
#include "problem.h"
#include "store.h"
#include "uri.h"

#define POSREF_ROUTE_ARGUMENT (POSREF_URI_MAX_BYTES + 1)

enum posref_method {
    POSREF_METHOD_GET = 1, /* HEAD too: the transport leaves the body out */
    POSREF_METHOD_POST = 2,
    POSREF_METHOD_OPTIONS = 4
};

/* Parameters a route takes beside its own. */
enum posref_keys {
    POSREF_KEYS_NONE,
    POSREF_KEYS_EVAL,  /* spec fields, op, inputs */
    POSREF_KEYS_FILTER /* spec fields and what else vectors are found by */
};

/* A request, as the transport hands it over. Header values are NULL where absent. */
struct posref_http_request {
    const char *method;
    const char *target; /* as sent */
    const char *accept, *accept_encoding, *content_type, *content_encoding, *if_none_match, *host,
        *range, *if_range;
    const char *body;
    size_t body_length;
    bool brief; /* what takes long is not to be done now, but to be put off: see the reply */
};

struct posref_call {
    const struct posref_http_request *http;
    const struct posref_route *route;
    const struct posref_uri *uri;
    int form;                    /* which of the route's media types is wanted */
    int body_form;               /* which of those that it consumes came */
    const char *argument;        /* what follows a prefix route's path, without the suffix */
    const struct posref_lease *lease; /* the database, where the route uses it; else NULL */
    struct posref_metrics *metrics;
};

typedef void posref_handler(const struct posref_call *call, struct posref_reply *reply);

struct posref_route {
    const char *path;
    bool prefix;        /* the path continues with an argument */
    const char *suffix; /* what follows the argument of a prefix route, or NULL */
    enum posref_method method;
    const char *const *params; /* NULL-terminated, or NULL */
    enum posref_keys keys;
    const char *const *produces; /* media types, NULL-terminated; the first is the usual one */
    const char *const *consumes; /* those of a POST's body; the first where none is named */
    bool uses_db;
    bool slow;   /* takes longer than a millisecond, or may */
    bool stored; /* GET: bytes that lie ready; true where nothing is computed from the request */
    posref_handler *handle;
};

/* The table; its end has a NULL path. A path with several methods has a row for each. A row with a
 * suffix stands before the prefix that it would else belong to, and hides it. */
extern const struct posref_route posref_routes[];

/* The row for path and method; `argument` gets what follows a prefix. When no row fits, NULL, and
 * *methods says which methods the path has (0: there is no such path). */
const struct posref_route *posref_route_find(const char *path, enum posref_method method,
                                             char argument[POSREF_ROUTE_ARGUMENT],
                                             unsigned *methods);

/* The i-th parameter that the route knows, or NULL past the last. */
const char *posref_route_param(const struct posref_route *route, size_t i);

/* The known parameter most like `name`, or NULL when none is near. */
const char *posref_route_nearest(const struct posref_route *route, const char *name);

/* "GET, HEAD, OPTIONS" for a set of methods. */
void posref_methods_text(char *out, size_t size_bytes, unsigned methods);

posref_handler posref_handle_root;
posref_handler posref_handle_web;
posref_handler posref_handle_problem;
posref_handler posref_handle_health;
posref_handler posref_handle_openapi;
posref_handler posref_handle_metrics;
posref_handler posref_handle_eval_get;
posref_handler posref_handle_eval_post;
posref_handler posref_handle_diff;
posref_handler posref_handle_check;
posref_handler posref_handle_explain;
posref_handler posref_handle_database;
posref_handler posref_handle_database_file;
posref_handler posref_handle_faults;
posref_handler posref_handle_schemes;
posref_handler posref_handle_models;
posref_handler posref_handle_resolve;
posref_handler posref_handle_suites;
posref_handler posref_handle_vectors;
posref_handler posref_handle_vector;

#endif
