/* SPDX-License-Identifier: Apache-2.0 */
/* The table of addresses: see route.h. A new address is a row here and in schema/openapi.json. */
#include "route.h"

#include <string.h>

static const char *const json[] = {"application/json", NULL};
static const char *const text[] = {"text/plain", NULL};
static const char *const json_or_tensors[] = {"application/json", "application/vnd.safetensors",
                                              NULL};
static const char *const sqlite[] = {"application/vnd.sqlite3", NULL};
static const char *const root[] = {"text/plain", "text/html", NULL};
static const char *const web[] = {"text/javascript", "text/css", "image/svg+xml", NULL};
static const char *const numbers_param[] = {"numbers", NULL};
static const char *const diff_params[] = {"a", "b", NULL};
static const char *const explain_params[] = {"dtype", "min_grade", NULL};
static const char *const check_params[] = {"dtype", "min_grade", "digest", NULL};
static const char *const page_params[] = {"suite", "limit", "after", "digest", NULL};
static const char *const vector_params[] = {"answers", "numbers", "digest", NULL};

const struct posref_route posref_routes[] = {
    {.path = "/", .method = POSREF_METHOD_GET, .produces = root, .handle = posref_handle_root},
    {.path = "/web/", .prefix = true, .method = POSREF_METHOD_GET, .produces = web,
     .stored = true, .handle = posref_handle_web},
    {.path = "/healthz", .method = POSREF_METHOD_GET, .produces = json, .uses_db = true,
     .handle = posref_handle_health},
    {.path = "/metrics", .method = POSREF_METHOD_GET, .produces = text, .uses_db = true,
     .handle = posref_handle_metrics},
    {.path = "/openapi.json", .method = POSREF_METHOD_GET, .produces = json,
     .stored = true, .handle = posref_handle_openapi},
    {.path = "/problems/", .prefix = true, .method = POSREF_METHOD_GET, .produces = text,
     .stored = true, .handle = posref_handle_problem},
    {.path = "/v1/database", .method = POSREF_METHOD_GET, .produces = json, .uses_db = true,
     .handle = posref_handle_database},
    {.path = "/v1/database/", .prefix = true, .method = POSREF_METHOD_GET, .produces = sqlite,
     .uses_db = true, .handle = posref_handle_database_file},
    {.path = "/v1/diff", .method = POSREF_METHOD_GET, .params = diff_params, .produces = json,
     .slow = true, .handle = posref_handle_diff},
    {.path = "/v1/eval", .method = POSREF_METHOD_GET, .params = numbers_param,
     .keys = POSREF_KEYS_EVAL, .produces = json, .handle = posref_handle_eval_get},
    {.path = "/v1/explain", .method = POSREF_METHOD_POST, .params = explain_params,
     .produces = json, .consumes = json, .slow = true, .handle = posref_handle_explain},
    {.path = "/v1/eval", .method = POSREF_METHOD_POST, .params = numbers_param, .produces = json,
     .consumes = json, .handle = posref_handle_eval_post},
    {.path = "/v1/faults", .method = POSREF_METHOD_GET, .produces = json,
     .stored = true, .slow = true, .handle = posref_handle_faults},
    {.path = "/v1/schemes", .method = POSREF_METHOD_GET, .produces = json,
     .stored = true, .slow = true, .handle = posref_handle_schemes},
    {.path = "/v1/models", .method = POSREF_METHOD_GET, .produces = json,
     .stored = true, .slow = true, .handle = posref_handle_models},
    {.path = "/v1/resolve", .method = POSREF_METHOD_POST, .produces = json, .consumes = json,
     .slow = true, .handle = posref_handle_resolve},
    {.path = "/v1/suites", .method = POSREF_METHOD_GET, .produces = json, .uses_db = true,
     .stored = true, .handle = posref_handle_suites},
    {.path = "/v1/vectors", .method = POSREF_METHOD_GET, .params = page_params,
     .keys = POSREF_KEYS_FILTER, .produces = json, .uses_db = true,
     .handle = posref_handle_vectors},
    {.path = "/v1/vectors/", .prefix = true, .suffix = "/check", .method = POSREF_METHOD_POST,
     .params = check_params, .produces = json, .consumes = json_or_tensors, .uses_db = true,
     .slow = true, .handle = posref_handle_check},
    {.path = "/v1/vectors/", .prefix = true, .method = POSREF_METHOD_GET, .params = vector_params,
     .produces = json_or_tensors, .uses_db = true, .stored = true, .handle = posref_handle_vector},
    {.path = NULL},
};
_Static_assert(sizeof posref_routes / sizeof *posref_routes <= POSREF_METRICS_ROUTES,
               "metrics have a row for every route and one for none");

/* The bytes of the path up to the row's suffix; 0: the row is for another path. */
static size_t fits(const struct posref_route *route, const char *path)
{
    size_t length = strlen(path), start = strlen(route->path);
    size_t end = route->suffix ? strlen(route->suffix) : 0;
    if (!route->prefix)
        return strcmp(path, route->path) == 0 ? length : 0;
    if (strncmp(path, route->path, start) != 0 || length <= start + end)
        return 0;
    return strcmp(path + length - end, end ? route->suffix : "") == 0 ? length - end : 0;
}

const struct posref_route *posref_route_find(const char *path, enum posref_method method,
                                             char argument[POSREF_ROUTE_ARGUMENT],
                                             unsigned *methods)
{
    bool suffix = false; /* a row with one was met */
    *methods = 0;
    for (const struct posref_route *route = posref_routes; route->path; route++) {
        size_t length = fits(route, path);
        if (!length || (suffix && !route->suffix))
            continue;
        suffix = suffix || route->suffix;
        *methods |= route->method;
        if (route->method == method) {
            const char *start = path + strlen(route->path);
            snprintf(argument, POSREF_ROUTE_ARGUMENT, "%.*s", (int)(path + length - start), start);
            return route;
        }
    }
    return NULL;
}

/* Keys of filters that are no spec fields; evaluations have model, op and the inputs. */
static const char *const filter_keys[] = {"model", "allow_unverified", "op", "id", "flag", NULL};

const char *posref_route_param(const struct posref_route *route, size_t i)
{
    for (const char *const *own = route->params; own && *own; own++)
        if (i-- == 0)
            return *own;
    if (route->keys == POSREF_KEYS_NONE)
        return NULL;
    if (i < POSREF_N_FIELDS)
        return posref_field_def((enum posref_field)i)->name;
    i -= POSREF_N_FIELDS;
    if (route->keys == POSREF_KEYS_EVAL) {
        static const char *const first[] = {"model", "allow_unverified", "op"};
        const size_t n = sizeof first / sizeof *first;
        const struct posref_input_def *input = i < n ? NULL : posref_input_def((int)(i - n));
        return i < n ? first[i] : input ? input->name : NULL;
    }
    const char *const *more = filter_keys;
    while (*more && i) {
        more++;
        i--;
    }
    return *more;
}

const char *posref_route_nearest(const struct posref_route *route, const char *name)
{
    const char *names[POSREF_N_FIELDS + 96];
    size_t n = 0;
    while (n < sizeof names / sizeof *names - 1 && (names[n] = posref_route_param(route, n)))
        n++;
    names[n] = NULL;
    return posref_nearest(name, names);
}

void posref_methods_text(char *out, size_t size_bytes, unsigned methods)
{
    snprintf(out, size_bytes, "%s%sOPTIONS", methods & POSREF_METHOD_GET ? "GET, HEAD, " : "",
             methods & POSREF_METHOD_POST ? "POST, " : "");
}
