/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs drawn from a nonce: exact in every dtype, of the same kind, the same again. */
#include "harness/draw.h"
#include "suite.h"

#include <math.h>
#include <string.h>

struct drawn {
    struct posref_vector vector;
    struct posref_tensors out;
    double positions[8], x[64], mask[4];
    struct posref_heap *heap;
};

static void add(struct drawn *d, const char *name, double *data, int64_t n)
{
    struct posref_tensor *tensor = &d->vector.inputs.item[d->vector.inputs.n++];
    *tensor = (struct posref_tensor){.dtype = POSREF_F64, .rank = 1, .shape = {n}, .data = data};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
}

static void draw(struct drawn *d, uint64_t nonce)
{
    struct posref_error err;
    struct posref_draw stream = posref_draw_begin(nonce, "a/vector");
    if (!d->heap)
        d->heap = posref_heap_new(0);
    const struct posref_arena arena = posref_heap_arena(d->heap);
    ck_assert(posref_draw_inputs(&d->out, &d->vector, &stream, &arena, &err) == POSREF_OK);
}

static const double *drawn(const struct drawn *d, const char *name)
{
    return posref_tensors_find(&d->out, name)->data;
}

START_TEST(values_are_exact_and_of_the_same_size)
{
    static const enum posref_dtype dtypes[] = {POSREF_F32, POSREF_F16, POSREF_BF16};
    struct drawn d = {.mask = {0, 1, 1, 0}};
    int n_changed = 0, n_turned = 0;
    for (int k = 0; k < 64; k++)
        d.x[k] = k == 7 ? 0 : ldexp(k % 2 ? -1.25 : 1.75, k % 29 - 14);
    add(&d, "x", d.x, 64);
    add(&d, "mask", d.mask, 4);
    for (uint64_t nonce = 0; nonce < 200; nonce++) {
        draw(&d, nonce);
        for (int k = 0; k < 64; k++) {
            const double value = drawn(&d, "x")[k];
            for (int i = 0; i < 3; i++)
                ck_assert(posref_widen(posref_narrow(value, dtypes[i]), dtypes[i]) == value);
            ck_assert(value == 0 ? d.x[k] == 0 : ilogb(value) == ilogb(d.x[k]));
            n_changed += fabs(value) != fabs(d.x[k]);
            n_turned += value * d.x[k] < 0;
        }
        for (int k = 0; k < 4; k++)
            ck_assert(drawn(&d, "mask")[k] == d.mask[k]);
    }
    ck_assert_int_gt(n_changed, 12000); /* of 12600; one in 128 meets its old value */
    ck_assert(n_turned > 5800 && n_turned < 6800);
    posref_heap_free(d.heap);
}
END_TEST

START_TEST(positions_stay_of_their_kind)
{
    static const double far[] = {0, 3, 3, 255, 4096, 2147483647};
    struct drawn d = {.positions = {100, 101, 102, 103}};
    bool moved = false, shrunk = false;
    add(&d, "positions", d.positions, 4);
    for (uint64_t nonce = 0; nonce < 50; nonce++) {
        draw(&d, nonce);
        const double *p = drawn(&d, "positions");
        for (int k = 1; k < 4; k++)
            ck_assert(p[k] == p[k - 1] + 1);
        ck_assert(p[0] >= 0 && p[0] <= 100);
        moved = moved || p[0] != 100;
    }
    memcpy(d.positions, far, sizeof far);
    d.vector.inputs.item[0].shape[0] = 6;
    for (uint64_t nonce = 0; nonce < 50; nonce++) {
        draw(&d, nonce);
        const double *p = drawn(&d, "positions");
        ck_assert(p[0] == 0 && p[1] == p[2] && p[5] <= far[5] && p[5] >= far[5] * 7 / 8);
        for (int k = 1; k < 6; k++)
            ck_assert(p[k] >= p[k - 1] && p[k] == floor(p[k]));
        shrunk = shrunk || p[4] < 4096;
    }
    ck_assert(moved && shrunk);
    d.positions[1] = 2.5; /* fractions stay */
    draw(&d, 5);
    for (int k = 0; k < 6; k++)
        ck_assert(drawn(&d, "positions")[k] == d.positions[k]);
    posref_heap_free(d.heap);
}
END_TEST

START_TEST(a_nonce_draws_the_same_again)
{
    struct posref_draw a = posref_draw_begin(1, "x"), b = posref_draw_begin(1, "x");
    struct posref_draw c = posref_draw_begin(2, "x"), e = posref_draw_begin(1, "y");
    const uint64_t word = posref_draw_word(&a);
    ck_assert(word == posref_draw_word(&b));
    ck_assert(word != posref_draw_word(&c) && word != posref_draw_word(&e));
    ck_assert(word == UINT64_C(0x1319f57fe45ecb68)); /* on every machine */
    for (int k = 0; k < 1000; k++) {
        const double value = posref_draw_value(&a);
        ck_assert(value != 0 && fabs(value) < 4 && value * 16 == floor(value * 16));
        ck_assert_int_lt(posref_draw_below(&b, 3), 3);
    }
}
END_TEST

START_TEST(nonces_are_read)
{
    static const char *const bad[] = {"", "g", "0x1", "12345678901234567", " 1", "-1"};
    struct posref_error err;
    uint64_t nonce = 5;
    ck_assert(posref_nonce_parse(&nonce, "00fF", &err) == POSREF_OK && nonce == 255);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert(posref_nonce_parse(&nonce, bad[i], &err) == POSREF_BAD_INPUT);
        ck_assert_str_eq(err.key, "--nonce");
        ck_assert(nonce == 255);
    }
    ck_assert(posref_nonce_new(&nonce, &err) == POSREF_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("draw");
    TCase *tests = tcase_create("draw");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, values_are_exact_and_of_the_same_size);
    tcase_add_test(tests, positions_stay_of_their_kind);
    tcase_add_test(tests, a_nonce_draws_the_same_again);
    tcase_add_test(tests, nonces_are_read);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
