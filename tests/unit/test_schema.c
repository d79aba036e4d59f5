/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON Schemas: the spec's is what the table of fields says (POSREF_UPDATE=1 rewrites the
 * file), every vector of smoke fits the vector's, and those of a run and of its report name what
 * the tables do and describe each field. (The end-to-end tests hold reports against the latter.)
 * Runs in the project's directory. */
#include "harness/verdict.h"
#include "json_schema.h"
#include "reference/judge.h"
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPEC_SCHEMA "schema/spec.schema.json"
#define VECTOR_SCHEMA "schema/vector.schema.json"

START_TEST(spec_schema_is_current)
{
    struct posref_buffer want;
    posref_buffer_init(&want, 1 << 20);
    posref_spec_schema(&want);
    FILE *file = fopen(SPEC_SCHEMA, getenv("POSREF_UPDATE") ? "w+" : "r");
    ck_assert_msg(file, SPEC_SCHEMA);
    if (getenv("POSREF_UPDATE"))
        fwrite(want.data, 1, want.length, file);
    rewind(file);
    char *got = calloc(1, want.length + 2);
    size_t n = fread(got, 1, want.length + 1, file);
    ck_assert_msg(n == want.length && memcmp(got, want.data, n) == 0,
                  SPEC_SCHEMA " differs from the table of fields; POSREF_UPDATE=1 %s",
                  "build/tests/unit/test_schema writes it anew");
    free(got);
    fclose(file);
    posref_buffer_clear(&want);
}
END_TEST

static bool check_vector(void *ctx, const struct posref_vector *vector)
{
    char why[512] = "";
    struct posref_buffer json;
    posref_buffer_init(&json, 1 << 24);
    posref_vector_json(&json, vector, true, POSREF_NUMBERS_DECIMAL);
    json_t *value = json_loadb(json.data, json.length, 0, NULL);
    ck_assert_ptr_nonnull(value);
    ck_assert_msg(json_schema_valid(VECTOR_SCHEMA, value, why, sizeof why), "%s: %s", vector->id,
                  why);
    json_decref(value);
    posref_buffer_clear(&json);
    ++*(int *)ctx;
    return true;
}

START_TEST(vectors_fit)
{
    char path[64];
    struct posref_db *db;
    struct posref_error err = {{0}, {0}};
    int n = 0;
    snprintf(path, sizeof path, "/tmp/posref-test-schema-%ld.db", (long)getpid());
    ck_assert(posref_generate(path, "smoke", 1, NULL, NULL, &err) == POSREF_OK);
    ck_assert(posref_db_open(&db, path, &err) == POSREF_OK);
    ck_assert(posref_db_each(db, NULL, NULL, NULL, -1, check_vector, &n, &err) == POSREF_OK);
    ck_assert_int_gt(n, 50);
    posref_db_close(db);
    unlink(path);
}
END_TEST

static void check_unfit(const char *json, const char *want)
{
    char why[512] = "";
    json_t *value = json_loads(json, 0, NULL);
    ck_assert_ptr_nonnull(value);
    ck_assert_msg(!json_schema_valid(VECTOR_SCHEMA, value, why, sizeof why), "%s", json);
    ck_assert_msg(strstr(why, want), "%s: %s", json, why);
    json_decref(value);
}

#define VECTOR(id, spec, inputs)                                                                  \
    "{\"id\": \"" id "\", \"suite\": \"core\", \"op\": \"rotate\", \"spec\": " spec               \
    ", \"flags\": [], \"source\": \"s\", \"inputs\": " inputs "}"
#define ROPE "{\"scheme\": \"rope\"}"

START_TEST(what_does_not_fit)
{
    check_unfit("{}", "no member id");
    check_unfit(VECTOR("A/b", ROPE, "{}"), "pattern");
    check_unfit(VECTOR("a/b", "{}", "{}"), "no member scheme");
    check_unfit(VECTOR("a/b", "{\"scheme\": \"ropes\"}", "{}"), "enum");
    check_unfit(VECTOR("a/b", "{\"scheme\": \"rope\", \"dmi\": 4}", "{}"), "unknown member dmi");
    check_unfit(VECTOR("a/b", "{\"scheme\": \"rope\", \"dim\": 4.5}", "{}"), "type");
    check_unfit(VECTOR("a/b", "{\"scheme\": \"rope\", \"base\": 1}", "{}"), "exclusiveMinimum");
    check_unfit(VECTOR("a/b", ROPE, "{\"x\": {\"shape\": [1]}}"), "no member data");
    check_unfit(VECTOR("a/b", ROPE, "{\"x\": {\"shape\": [0], \"data\": []}}"), "minimum");
    check_unfit(VECTOR("a/b", ROPE, "{\"x\": {\"shape\": [1], \"data\": [\"1\"]}}"), "anyOf");
}
END_TEST

/* What a $ref of the same directory leads to, in *root's file, which changes with it. */
static const json_t *follow(const json_t *node, json_t **root)
{
    for (const char *reference; (reference = json_string_value(json_object_get(node, "$ref")));) {
        char path[64];
        snprintf(path, sizeof path, "schema/%.*s", (int)strcspn(reference, "#"), reference);
        if (*reference != '#') {
            json_decref(*root);
            *root = json_load_file(path, 0, NULL);
        }
        node = json_schema_at(*root, reference + strcspn(reference, "#"));
        ck_assert_msg(node, "%s leads nowhere", reference);
        if (json_object_get(node, "description"))
            return node;
    }
    return node;
}

/* Each property has a description, of its own or where its reference leads. */
static int check_described(const char *path, const json_t *node)
{
    const char *name;
    json_t *inner;
    int n = 0;
    json_object_foreach(json_object_get(node, "properties"), name, inner) {
        json_t *root = json_load_file(path, 0, NULL);
        const json_t *of = json_object_get(inner, "description") ? inner : follow(inner, &root);
        const char *text = json_string_value(json_object_get(of, "description"));
        ck_assert_msg(text && *text, "%s: %s has no description", path, name);
        json_decref(root);
        n++;
    }
    json_object_foreach((json_t *)(uintptr_t)node, name, inner)
        n += json_is_object(inner) ? check_described(path, inner) : 0;
    return n;
}

START_TEST(reports_are_described)
{
    static const char *const paths[] = {"schema/run.schema.json", "schema/report.schema.json"};
    for (int k = 0; k < 2; k++) {
        json_t *root = json_load_file(paths[k], 0, NULL);
        ck_assert_ptr_nonnull(root);
        ck_assert_int_gt(check_described(paths[k], root), 50);
        json_decref(root);
    }
}
END_TEST

/* Each name is in the schema's list or members, and no other is. */
static void check_names(const json_t *names, const char *(*name_of)(int), int n)
{
    ck_assert_int_eq((int)(json_is_array(names) ? json_array_size(names)
                                                : json_object_size(names)), n);
    for (int k = 0; k < n; k++) {
        bool found = json_object_get(names, name_of(k)) != NULL;
        for (size_t j = 0; j < json_array_size(names); j++)
            found = found || strcmp(json_string_value(json_array_get(names, j)), name_of(k)) == 0;
        ck_assert_msg(found, "no %s", name_of(k));
    }
}

static const char *verdict_at(int k) { return posref_verdict_name((enum posref_verdict)k); }
static const char *grade_at(int k) { return posref_grade_name((enum posref_grade)k); }
static const char *dtype_at(int k) { return posref_dtype_name((enum posref_dtype)k); }
/* The first is all, which no vector has. */
static const char *op_at(int k) { return posref_op_name((enum posref_op)(k + 1)); }

START_TEST(names_are_those_of_the_tables)
{
    json_t *run = json_load_file("schema/run.schema.json", 0, NULL);
    json_t *vector = json_load_file(VECTOR_SCHEMA, 0, NULL), *defs = json_object_get(run, "$defs");
    const struct {
        const char *def, *member;
        const char *(*name_of)(int);
        int n;
    } lists[] = {{"verdict", "enum", verdict_at, POSREF_N_VERDICTS},
                 {"counts", "properties", verdict_at, POSREF_N_VERDICTS},
                 {"counts", "required", verdict_at, POSREF_N_VERDICTS},
                 {"grade", "enum", grade_at, POSREF_N_GRADES},
                 {"grades", "properties", grade_at, POSREF_N_GRADES},
                 {"dtype", "enum", dtype_at, 6}};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        check_names(json_object_get(json_object_get(defs, lists[k].def), lists[k].member),
                    lists[k].name_of, lists[k].n);
    const json_t *op = json_object_get(json_object_get(vector, "properties"), "op");
    check_names(json_object_get(op, "enum"), op_at, POSREF_N_OPS - 1);
    json_decref(run);
    json_decref(vector);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schema");
    TCase *tests = tcase_create("schema");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, spec_schema_is_current);
    tcase_add_test(tests, vectors_fit);
    tcase_add_test(tests, what_does_not_fit);
    tcase_add_test(tests, reports_are_described);
    tcase_add_test(tests, names_are_those_of_the_tables);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
