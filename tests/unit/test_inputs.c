/* SPDX-License-Identifier: Apache-2.0 */
/* The table of inputs and their shapes. */
#include "reference/reference.h"
#include "spec_build.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static double values[] = {1, 2, 3};

static struct posref_tensor positions(const char *name, int64_t n)
{
    struct posref_tensor tensor = {.dtype = POSREF_F64, .rank = 1, .shape = {n}, .data = values};
    memcpy(tensor.name, name, strlen(name) + 1);
    return tensor;
}

/* The shape of `name` as text, or the key of the error. */
static const char *shape_of(const struct posref_spec *spec, const struct posref_tensors *in,
                            const char *name, int64_t count, int64_t free_size)
{
    static char text[80];
    int64_t shape[POSREF_MAX_RANK];
    int rank;
    struct posref_error err = {{0}, {0}};
    size_t length = 0;
    text[0] = '\0';
    if (posref_input_shape(shape, &rank, spec, in, name, count, free_size, &err) != POSREF_OK) {
        memcpy(text, err.key, sizeof err.key);
        ck_assert(err.text[0]);
        return text;
    }
    for (int axis = 0; axis < rank; axis++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%lld",
                                   axis ? "," : "", (long long)shape[axis]);
    return text;
}

START_TEST(names)
{
    ck_assert_str_eq(posref_input_def(0)->name, "positions");
    ck_assert_ptr_null(posref_input_def(-1));
    for (int i = 0; posref_input_def(i); i++) {
        ck_assert_int_eq(posref_input_find(posref_input_def(i)->name), i);
        ck_assert(posref_input_def(i)->meaning[0]);
    }
    ck_assert_int_eq(posref_input_find("y"), -1);
    ck_assert_ptr_null(posref_input_shape_text(POSREF_SCHEME_ROPE, "logits"));
    ck_assert_str_eq(posref_input_shape_text(POSREF_SCHEME_ROPE, "positions"), "");
}
END_TEST

START_TEST(shapes)
{
    struct posref_spec rope, alibi;
    struct posref_tensors in = {.n = 1}, grid = {.n = 2}, none = {.n = 0};
    in.item[0] = positions("positions", 3);
    grid.item[0] = positions("q_positions", 2);
    grid.item[1] = positions("k_positions", 3);
    posref_spec_init(&rope);
    spec_put(&rope, POSREF_FIELD_DIM, 4);
    ck_assert(posref_spec_complete(&rope, NULL) == POSREF_OK);
    posref_spec_init(&alibi);
    spec_put(&alibi, POSREF_FIELD_SCHEME, POSREF_SCHEME_ALIBI);
    spec_put(&alibi, POSREF_FIELD_NUM_HEADS, 5);
    ck_assert(posref_spec_complete(&alibi, NULL) == POSREF_OK);
    ck_assert_str_eq(shape_of(&rope, &in, "x", 12, 0), "3,4");
    ck_assert_str_eq(shape_of(&rope, &in, "x", 24, 0), "3,2,4");
    ck_assert_str_eq(shape_of(&rope, &in, "x", -1, 0), "3,4");
    ck_assert_str_eq(shape_of(&rope, &in, "x", -1, 1), "3,1,4");
    ck_assert_str_eq(shape_of(&rope, &in, "x", 13, 0), "x");
    ck_assert_str_eq(shape_of(&rope, &in, "x", 0, 0), "x");
    ck_assert_str_eq(shape_of(&rope, &none, "x", 12, 0), "positions");
    ck_assert_str_eq(shape_of(&rope, &in, "logits", 12, 0), "logits");
    ck_assert_str_eq(shape_of(&rope, &in, "positions", 3, 0), "positions");
    ck_assert_str_eq(shape_of(&alibi, &in, "logits", 45, 0), "5,3,3");
    ck_assert_str_eq(shape_of(&alibi, &grid, "logits", -1, 0), "5,2,3");
    ck_assert_str_eq(shape_of(&alibi, &grid, "logits", 31, 0), "logits");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inputs");
    TCase *tests = tcase_create("inputs");
    tcase_add_test(tests, names);
    tcase_add_test(tests, shapes);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
