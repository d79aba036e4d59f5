/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON Schemas: the spec's is what the table of fields says (POSREF_UPDATE=1 rewrites the
 * file), and every vector of smoke fits the vector's. Runs in the project's directory. */
#include "json_schema.h"
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

int main(void)
{
    Suite *suite = suite_create("schema");
    TCase *tests = tcase_create("schema");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, spec_schema_is_current);
    tcase_add_test(tests, vectors_fit);
    tcase_add_test(tests, what_does_not_fit);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
