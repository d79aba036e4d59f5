/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: inputs, JSON bodies, and what is refused, by key. */
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct posref_heap *heap;
static struct posref_arena arena;

static void setup(void)
{
    heap = posref_heap_new(0);
    arena = posref_heap_arena(heap);
}

static void teardown(void)
{
    posref_heap_free(heap);
}

/* Sets KEY=VALUE, KEY=VALUE, ..., NULL and returns the last status. */
static enum posref_status set_all(struct posref_request *request, struct posref_error *err,
                                  const char *const *pairs)
{
    enum posref_status status = POSREF_OK;
    posref_request_init(request);
    for (; *pairs && status == POSREF_OK; pairs += 2)
        status = posref_request_set(request, pairs[0], pairs[1], &arena, err);
    return status;
}

START_TEST(set_refused)
{
    struct posref_request request;
    struct posref_error err = {{0}, {0}};
    ck_assert(set_all(&request, &err, (const char *[]){"dim", "4", "dim", "4", NULL}) != POSREF_OK);
    ck_assert_str_eq(err.key, "dim");
    ck_assert(set_all(&request, &err, (const char *[]){"x", "1", "x", "1", NULL}) != POSREF_OK);
    ck_assert_str_eq(err.key, "x");
    ck_assert(set_all(&request, &err, (const char *[]){"x", "1,,2", NULL}) != POSREF_OK);
    ck_assert_str_eq(err.key, "x");
    ck_assert(set_all(&request, &err, (const char *[]){"x", "", NULL}) != POSREF_OK);
    ck_assert(set_all(&request, &err, (const char *[]){"x", "1,nan", NULL}) != POSREF_OK);
    ck_assert(set_all(&request, &err, (const char *[]){"op", "turn", NULL}) != POSREF_OK);
    ck_assert_str_eq(err.key, "op");
    ck_assert(strstr(err.text, "rotate"));
    ck_assert(set_all(&request, &err, (const char *[]){"op", "all", "op", "all", NULL}) !=
              POSREF_OK);
    ck_assert(set_all(&request, &err, (const char *[]){"postions", "4", NULL}) != POSREF_OK);
    ck_assert_str_eq(err.key, "postions");
    ck_assert(strstr(err.text, "did you mean positions?"));
}
END_TEST

START_TEST(x_gets_its_shape)
{
    struct posref_request request;
    struct posref_error err = {{0}, {0}};
    ck_assert(set_all(&request, &err, (const char *[]){"scheme", "rope", "x", "1,2,3,4,5,6,7,8",
                                                       "dim", "4", "positions", "0,1", NULL}) ==
              POSREF_OK);
    ck_assert(posref_request_complete(&request, &err) == POSREF_OK);
    const struct posref_tensor *x = posref_tensors_find(&request.inputs, "x");
    ck_assert(x->rank == 2 && x->shape[0] == 2 && x->shape[1] == 4);
    ck_assert(set_all(&request, &err, (const char *[]){"scheme", "rope", "x", "1,2,3", "dim", "4",
                                                       "positions", "0,1", NULL}) == POSREF_OK);
    ck_assert(posref_request_complete(&request, &err) == POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "x");
    ck_assert(set_all(&request, &err, (const char *[]){"scheme", "rope", "x", "1,2,3,4", "dim",
                                                       "4", NULL}) == POSREF_OK);
    ck_assert(posref_request_complete(&request, &err) == POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "positions");
}
END_TEST

static enum posref_status read_json(struct posref_request *request, const char *json,
                                    struct posref_error *err)
{
    memset(err, 0, sizeof *err);
    posref_request_init(request);
    return posref_request_json(request, json, strlen(json), &arena, err);
}

START_TEST(json_read)
{
    struct posref_request request;
    struct posref_error err;
    enum posref_status status = read_json(
        &request,
        "{\"spec\": {\"scheme\": \"rope\", \"dim\": 4, \"base\": \"0x1.388p+13\"},"
        " \"op\": \"rotate\", \"inputs\": {\"positions\": {\"shape\": [2], \"data\": [0, 1]},"
        " \"x\": {\"shape\": [2, 1, 4], \"data\": [1, 2, 3, 4, \"0x1p-1\", \"3ff0000000000000\","
        " \"4000000000000000\", -0.0]}}}",
        &err);
    ck_assert_msg(status == POSREF_OK, "%s: %s", err.key, err.text);
    ck_assert(request.op == POSREF_OP_ROTATE && request.spec.dim == 4 && request.spec.base == 1e4);
    const struct posref_tensor *x = posref_tensors_find(&request.inputs, "x");
    const double *value = x->data;
    ck_assert(x->rank == 3 && x->shape[1] == 1);
    ck_assert(value[4] == 0.5 && value[5] == 1 && value[6] == 2 && signbit(value[7]));
    ck_assert(read_json(&request, "{\"spec\": {\"dim\": 4}, \"inputs\": {\"positions\": \"0..3\","
                                  " \"x\": [1, 2]}}", &err) == POSREF_OK);
    ck_assert(posref_tensors_find(&request.inputs, "positions")->shape[0] == 4);
}
END_TEST

START_TEST(json_refused)
{
    static const struct {
        const char *json, *key;
    } bad[] = {
        {"", "body"},
        {"[]", "body"},
        {"{\"spec\": {\"dim\": 4}", "body"},
        {"{\"spec\": {\"dim\": NaN}}", "body"},
        {"{\"spec\": {\"dim\": 4, \"dim\": 4}}", "body"},
        {"{\"spec\": {\"dim\": 1e999}}", "body"},
        {"{\"spec\": {\"dim\": 4}} {}", "body"},
        {"{\"spec\": []}", "spec"},
        {"{\"spec\": {\"dim\": null}}", "dim"},
        {"{\"spec\": {\"dim\": [4]}}", "dim"},
        {"{\"spec\": {\"dimm\": 4}}", "dimm"},
        {"{\"inputs\": 3}", "inputs"},
        {"{\"inputs\": {\"y\": [1]}}", "y"},
        {"{\"inputs\": {\"x\": []}}", "x"},
        {"{\"inputs\": {\"x\": {\"data\": [1, \"NaN\"]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"data\": [1, \"7ff0000000000000\"]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"data\": [1, null]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"data\": [[1], [2]]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"shape\": [3], \"data\": [1, 2]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"shape\": [0], \"data\": [1, 2]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"shape\": [-1, -2], \"data\": [1, 2]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"shape\": [1e30, 2], \"data\": [1, 2]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"shape\": [1.5], \"data\": [1, 2]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"shape\": \"2\", \"data\": [1, 2]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"shape\": [1,1,1,1,1,1,1,1,1,2], \"data\": [1, 2]}}}", "x"},
        {"{\"inputs\": {\"x\": {\"dtype\": \"f32\", \"data\": [1, 2]}}}", "x"},
        {"{\"outputs\": {}}", "outputs"},
        {"{\"sepc\": {}}", "sepc"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct posref_request request;
        struct posref_error err;
        ck_assert_msg(read_json(&request, bad[i].json, &err) == POSREF_BAD_INPUT, "%s",
                      bad[i].json);
        ck_assert_msg(strcmp(err.key, bad[i].key) == 0, "%s: %s: %s", bad[i].json, err.key,
                      err.text);
    }
}
END_TEST

START_TEST(json_deep_nesting)
{
    struct posref_request request;
    struct posref_error err;
    char *deep = malloc(100001);
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    ck_assert(read_json(&request, deep, &err) == POSREF_BAD_INPUT);
    free(deep);
}
END_TEST

START_TEST(outputs_may_be_special)
{
    struct posref_tensors outputs;
    struct posref_error err = {{0}, {0}};
    const char *json = "{\"outputs\": {\"y\": {\"shape\": [4], \"data\": "
                       "[\"NaN\", \"Infinity\", \"-Infinity\", 1]}}}";
    ck_assert(posref_body_json(NULL, &outputs, json, strlen(json), &arena, &err) == POSREF_OK);
    const double *value = posref_tensors_find(&outputs, "y")->data;
    ck_assert(isnan(value[0]) && value[1] == HUGE_VAL && value[2] == -HUGE_VAL && value[3] == 1);
    json = "{\"spec\": {}}";
    ck_assert(posref_body_json(NULL, &outputs, json, strlen(json), &arena, &err) ==
              POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "spec");
}
END_TEST

START_TEST(nearest_names)
{
    const char *const names[] = {"positions", "pairing", "scaling", "dim", NULL};
    ck_assert_str_eq(posref_nearest("possitions", names), "positions");
    ck_assert_str_eq(posref_nearest("paring", names), "pairing");
    ck_assert_str_eq(posref_nearest("dmi", names), "dim");
    ck_assert_ptr_null(posref_nearest("temperature", names));
    ck_assert_ptr_null(posref_nearest("", names));
}
END_TEST

START_TEST(heap_and_buffer_have_limits)
{
    struct posref_heap *small = posref_heap_new(200000);
    struct posref_arena from = posref_heap_arena(small);
    ck_assert_ptr_null(from.alloc(from.ctx, 300000));
    ck_assert_ptr_null(from.alloc(from.ctx, SIZE_MAX));
    ck_assert_ptr_nonnull(from.alloc(from.ctx, 100000));
    ck_assert_ptr_null(from.alloc(from.ctx, 100000));
    posref_heap_reset(small);
    ck_assert_ptr_nonnull(from.alloc(from.ctx, 100000));
    posref_heap_free(small);
    struct posref_buffer buffer;
    posref_buffer_init(&buffer, 10);
    posref_buffer_text(&buffer, "12345");
    posref_buffer_text(&buffer, "123456");
    ck_assert(buffer.failed && buffer.length == 5);
    posref_buffer_text(&buffer, "1");
    ck_assert_uint_eq(buffer.length, 5);
    posref_buffer_clear(&buffer);
    posref_buffer_init(&buffer, 100);
    posref_buffer_json_string(&buffer, "a\"b\\c\n\x01");
    ck_assert_str_eq(buffer.data, "\"a\\\"b\\\\c\\u000a\\u0001\"");
    posref_buffer_clear(&buffer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request");
    TCase *tests = tcase_create("request");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, set_refused);
    tcase_add_test(tests, x_gets_its_shape);
    tcase_add_test(tests, json_read);
    tcase_add_test(tests, json_refused);
    tcase_add_test(tests, json_deep_nesting);
    tcase_add_test(tests, outputs_may_be_special);
    tcase_add_test(tests, nearest_names);
    tcase_add_test(tests, heap_and_buffer_have_limits);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
