/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes, and schema/openapi.json against it and against the table of fields: neither
 * knows a path, method or parameter that the other does not. */
#include "server/handle.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *document;

static void setup(void)
{
    document = json_loads(posref_openapi, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(document);
}

static void teardown(void)
{
    json_decref(document);
}

/* Follows "#/a/b/c". */
static json_t *resolve(json_t *value)
{
    const char *ref = json_string_value(json_object_get(value, "$ref"));
    if (!ref)
        return value;
    ck_assert_int_eq(strncmp(ref, "#/", 2), 0);
    char copy[128], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", ref + 2);
    json_t *at = document;
    for (char *part = strtok_r(copy, "/", &rest); part; part = strtok_r(NULL, "/", &rest))
        at = json_object_get(at, part);
    ck_assert_msg(at != NULL, "%s leads nowhere", ref);
    return at;
}

/* "/problems/" for "/problems/{name}". */
static void literal_part(char out[128], const char *path)
{
    snprintf(out, 128, "%.*s", (int)strcspn(path, "{"), path);
}

static const struct posref_route *find(const char *path, const char *method)
{
    char literal[128];
    literal_part(literal, path);
    const char *brace = strchr(path, '}'), *suffix = brace ? brace + 1 : "";
    for (const struct posref_route *route = posref_routes; route->path; route++)
        if (strcmp(route->path, literal) == 0 && route->prefix == (brace != NULL) &&
            strcmp(route->suffix ? route->suffix : "", suffix) == 0 &&
            (route->method == POSREF_METHOD_POST) == (strcmp(method, "post") == 0))
            return route;
    return NULL;
}

/* Whether a query parameter of the document, or a property of one that is spread out, has the
 * name. */
static bool documents(json_t *parameters, const char *name)
{
    size_t i;
    json_t *value;
    json_array_foreach(parameters, i, value) {
        json_t *parameter = resolve(value);
        if (strcmp(json_string_value(json_object_get(parameter, "in")), "query") != 0)
            continue;
        if (json_is_true(json_object_get(parameter, "explode"))) {
            json_t *schema = resolve(json_object_get(parameter, "schema"));
            if (json_object_get(json_object_get(schema, "properties"), name))
                return true;
        } else if (strcmp(json_string_value(json_object_get(parameter, "name")), name) == 0) {
            return true;
        }
    }
    return false;
}

static bool route_knows(const struct posref_route *route, const char *name)
{
    const char *known;
    for (size_t i = 0; (known = posref_route_param(route, i)); i++)
        if (strcmp(known, name) == 0)
            return true;
    return false;
}

START_TEST(every_route_is_documented)
{
    json_t *paths = json_object_get(document, "paths");
    for (const struct posref_route *route = posref_routes; route->path; route++) {
        const char *path, *method = route->method == POSREF_METHOD_POST ? "post" : "get", *name;
        json_t *operations, *operation = NULL;
        json_object_foreach(paths, path, operations)
            if (find(path, method) == route)
                operation = json_object_get(operations, method);
        ck_assert_msg(operation != NULL, "%s %s is not documented", method, route->path);
        for (size_t i = 0; (name = posref_route_param(route, i)); i++)
            ck_assert_msg(documents(json_object_get(operation, "parameters"), name),
                          "%s: parameter %s is not documented", route->path, name);
        json_t *ok = json_object_get(json_object_get(operation, "responses"), "200");
        json_t *content = json_object_get(ok, "content");
        size_t n_forms = 0;
        for (; route->produces[n_forms]; n_forms++)
            ck_assert_msg(json_object_get(content, route->produces[n_forms]) != NULL,
                          "%s: %s is not documented", route->path, route->produces[n_forms]);
        ck_assert_uint_eq(json_object_size(content), n_forms);
        json_t *body = json_object_get(json_object_get(operation, "requestBody"), "content");
        for (n_forms = 0; route->consumes && route->consumes[n_forms]; n_forms++)
            ck_assert_msg(json_object_get(body, route->consumes[n_forms]) != NULL,
                          "%s: body %s is not documented", route->path, route->consumes[n_forms]);
        ck_assert_uint_eq(json_object_size(body), n_forms);
        ck_assert_int_eq(route->method == POSREF_METHOD_POST, n_forms > 0);
        /* Anything may be put off, and then be too much. */
        ck_assert_ptr_nonnull(json_object_get(json_object_get(operation, "responses"), "503"));
    }
}
END_TEST

START_TEST(everything_documented_exists)
{
    const char *path, *method, *name;
    json_t *operations, *operation, *value, *property;
    size_t i;
    json_object_foreach(json_object_get(document, "paths"), path, operations) {
        json_object_foreach(operations, method, operation) {
            const struct posref_route *route = find(path, method);
            ck_assert_msg(route != NULL, "%s %s is no route", method, path);
            json_array_foreach(json_object_get(operation, "parameters"), i, value) {
                json_t *parameter = resolve(value);
                if (strcmp(json_string_value(json_object_get(parameter, "in")), "query") != 0)
                    continue;
                name = json_string_value(json_object_get(parameter, "name"));
                if (!json_is_true(json_object_get(parameter, "explode"))) {
                    ck_assert_msg(route_knows(route, name), "%s: no parameter %s", path, name);
                    continue;
                }
                json_t *schema = resolve(json_object_get(parameter, "schema"));
                json_object_foreach(json_object_get(schema, "properties"), name, property)
                    ck_assert_msg(route_knows(route, name), "%s: no parameter %s", path, name);
            }
        }
    }
}
END_TEST

/* "$ref"s at any depth lead somewhere. */
static void check_refs(json_t *value)
{
    const char *key;
    json_t *part;
    size_t i;
    if (json_is_object(value)) {
        resolve(value);
        json_object_foreach(value, key, part)
            check_refs(part);
    }
    json_array_foreach(value, i, part)
        check_refs(part);
}

START_TEST(references_resolve)
{
    check_refs(document);
}
END_TEST

static void check_bound(const json_t *property, const char *name, bool open, double want)
{
    char inclusive[32], exclusive[32];
    snprintf(inclusive, sizeof inclusive, "%simum", name);
    snprintf(exclusive, sizeof exclusive, "exclusive%c%simum", name[0] - 'a' + 'A', name + 1);
    json_t *bound = json_object_get(property, open ? exclusive : inclusive);
    ck_assert_ptr_nonnull(bound);
    ck_assert_double_eq(json_number_value(bound), want);
    ck_assert_ptr_null(json_object_get(property, open ? inclusive : exclusive));
}

static void check_default(const json_t *property, const struct posref_field_def *def)
{
    json_t *value = json_object_get(property, "default");
    ck_assert_msg((value != NULL) == (def->default_text != NULL), "%s: default", def->name);
    if (!value)
        return;
    if (json_is_string(value))
        ck_assert_str_eq(json_string_value(value), def->default_text);
    else if (json_is_boolean(value))
        ck_assert_str_eq(json_is_true(value) ? "true" : "false", def->default_text);
    else
        ck_assert_double_eq(json_number_value(value), strtod(def->default_text, NULL));
}

START_TEST(spec_schema_is_the_table_of_fields)
{
    static const char *const types[] = {"integer", "number", "boolean", "string",
                                        "array", "array"};
    json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");
    json_t *properties = json_object_get(json_object_get(schemas, "Spec"), "properties");
    ck_assert_uint_eq(json_object_size(properties), POSREF_N_FIELDS);
    for (int field = 0; field < POSREF_N_FIELDS; field++) {
        const struct posref_field_def *def = posref_field_def((enum posref_field)field);
        json_t *property = json_object_get(properties, def->name);
        ck_assert_msg(property != NULL, "Spec has no %s", def->name);
        ck_assert_str_eq(json_string_value(json_object_get(property, "type")), types[def->type]);
        check_default(property, def);
        if (def->type == POSREF_TYPE_INT || def->type == POSREF_TYPE_REAL) {
            check_bound(property, "min", def->min_open, def->min);
            check_bound(property, "max", def->max_open, def->max);
        }
        json_t *names = json_object_get(property, "enum");
        size_t n = 0;
        for (; def->choices && def->choices[n]; n++)
            ck_assert_str_eq(json_string_value(json_array_get(names, n)), def->choices[n]);
        ck_assert_uint_eq(json_array_size(names), n);
    }
}
END_TEST

START_TEST(ops_are_documented)
{
    json_t *components = json_object_get(document, "components");
    json_t *op = json_object_get(json_object_get(components, "parameters"), "op");
    json_t *names = json_object_get(json_object_get(op, "schema"), "enum");
    ck_assert_uint_eq(json_array_size(names), POSREF_N_OPS);
    for (int i = 0; i < POSREF_N_OPS; i++)
        ck_assert_str_eq(json_string_value(json_array_get(names, (size_t)i)),
                         posref_op_name((enum posref_op)i));
}
END_TEST

START_TEST(finds_routes)
{
    char argument[POSREF_ROUTE_ARGUMENT];
    unsigned methods;
    const struct posref_route *route =
        posref_route_find("/v1/vectors/rope/half", POSREF_METHOD_GET, argument, &methods);
    ck_assert_str_eq(route->path, "/v1/vectors/");
    ck_assert_str_eq(argument, "rope/half");
    route = posref_route_find("/v1/vectors/rope/half/check", POSREF_METHOD_POST, argument,
                              &methods);
    ck_assert_str_eq(route->suffix, "/check");
    ck_assert_str_eq(argument, "rope/half");
    ck_assert_ptr_null(
        posref_route_find("/v1/vectors/a/check", POSREF_METHOD_GET, argument, &methods));
    ck_assert_uint_eq(methods, POSREF_METHOD_POST);
    route = posref_route_find("/v1/vectors/check", POSREF_METHOD_GET, argument, &methods);
    ck_assert_str_eq(argument, "check"); /* nothing stands before the suffix */
    route = posref_route_find("/v1/eval", POSREF_METHOD_POST, argument, &methods);
    ck_assert_int_eq(route->method, POSREF_METHOD_POST);
    static const char *const nowhere[] = {"/v1/vectors/", "/v1/eval/", "/v1", "//", "/V1/eval",
                                          "/problems/", ""};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        ck_assert_ptr_null(
            posref_route_find(nowhere[i], POSREF_METHOD_GET, argument, &methods));
        ck_assert_uint_eq(methods, 0);
    }
    ck_assert_ptr_null(posref_route_find("/v1/eval", 0, argument, &methods));
    ck_assert_uint_eq(methods, POSREF_METHOD_GET | POSREF_METHOD_POST);
    char text[32];
    posref_methods_text(text, sizeof text, methods);
    ck_assert_str_eq(text, "GET, HEAD, POST, OPTIONS");
}
END_TEST

START_TEST(nearest_parameter)
{
    char argument[POSREF_ROUTE_ARGUMENT];
    unsigned methods;
    const struct posref_route *eval =
        posref_route_find("/v1/eval", POSREF_METHOD_GET, argument, &methods);
    ck_assert_str_eq(posref_route_nearest(eval, "pairng"), "pairing");
    ck_assert_str_eq(posref_route_nearest(eval, "dmi"), "dim");
    ck_assert_str_eq(posref_route_nearest(eval, "position"), "positions");
    ck_assert_ptr_null(posref_route_nearest(eval, "colour"));
    const struct posref_route *vectors =
        posref_route_find("/v1/vectors", POSREF_METHOD_GET, argument, &methods);
    ck_assert_str_eq(posref_route_nearest(vectors, "limits"), "limit");
    const struct posref_route *suites =
        posref_route_find("/v1/suites", POSREF_METHOD_GET, argument, &methods);
    ck_assert_ptr_null(posref_route_nearest(suites, "dim"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("routes");
    TCase *tests = tcase_create("routes");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_route_is_documented);
    tcase_add_test(tests, everything_documented_exists);
    tcase_add_test(tests, references_resolve);
    tcase_add_test(tests, spec_schema_is_the_table_of_fields);
    tcase_add_test(tests, ops_are_documented);
    tcase_add_test(tests, finds_routes);
    tcase_add_test(tests, nearest_parameter);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
