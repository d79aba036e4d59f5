/* SPDX-License-Identifier: Apache-2.0 */
/* Dtypes of 8 bits: which vectors they have, and which values their limits admit, by looking at
 * every code. */
#include "harness/float8.h"
#include "reference/judge.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

static const enum posref_dtype dtypes[] = {POSREF_F8E4M3, POSREF_F8E5M2};

/* ---- limits ---- */

static int is_number(int code, enum posref_dtype dtype)
{
    return isfinite(posref_widen((uint32_t)code, dtype));
}

/* By its distance from all others: the code is one that a value of [low, high] is nearest to. */
static bool is_reached(int code, double low, double high, enum posref_dtype dtype)
{
    const double x = posref_widen((uint32_t)code, dtype);
    double below = -HUGE_VAL, above = HUGE_VAL;
    for (int other = 0; other < 256; other++) {
        const double y = posref_widen((uint32_t)other, dtype);
        if (!is_number(other, dtype))
            continue;
        below = y < x ? fmax(below, y) : below;
        above = y > x ? fmin(above, y) : above;
    }
    return high >= (below + x) / 2 && low <= (x + above) / 2;
}

START_TEST(limits_admit_what_rounding_reaches)
{
    const enum posref_dtype dtype = dtypes[_i];
    uint32_t state = 11;
    int n_one = 0, n_two = 0, n_more = 0;
    for (int k = 0; k < 400; k++) {
        state = state * 1664525 + 1013904223;
        const double want = ldexp((int)(state >> 16) - 32768, -10 - (int)(state >> 8 & 3));
        const double arithmetic = fabs(want) * ldexp(1, -5 - (int)(state >> 10 & 15));
        const double limit = posref_float8_limit(want, arithmetic, dtype);
        int n = 0;
        for (int code = 0; code < 256; code++) {
            if (!is_number(code, dtype) || code == 128)
                continue;
            const bool admitted = fabs(posref_widen((uint32_t)code, dtype) - want) <= limit;
            const bool reached = is_reached(code, want - arithmetic, want + arithmetic, dtype);
            /* What only a tie reaches goes to the even code. Next to a power of two, where spacings
             * change, the limit of one side may take one code more in on the other. */
            ck_assert_msg(admitted || !reached || !is_reached(code, want - 0.999 * arithmetic,
                                                              want + 0.999 * arithmetic, dtype),
                          "code %02x, want %a +- %a, limit %a", (unsigned)code, want, arithmetic,
                          limit);
            n_more += admitted && !reached;
            n += admitted;
        }
        ck_assert_int_ge(n, 1);
        n_one += n == 1;
        n_two += n == 2;
    }
    ck_assert_int_gt(n_one, 150);
    ck_assert_int_gt(n_two, 10);
    ck_assert_int_lt(n_more, 8);
}
END_TEST

/* ---- vectors ---- */

struct fixture {
    struct posref_heap *heap;
    struct posref_arena arena;
    struct posref_vector vector;
};

static void set_up(struct fixture *f, const char *text, double size)
{
    struct posref_error err = {"", ""};
    struct posref_vector *v = &f->vector;
    f->heap = posref_heap_new(0);
    f->arena = posref_heap_arena(f->heap);
    *v = (struct posref_vector){.id = "rope/some", .op = POSREF_OP_ROTATE};
    posref_spec_init(&v->spec);
    ck_assert_int_eq(posref_spec_parse(&v->spec, text, &err), POSREF_OK);
    ck_assert_int_eq(posref_spec_complete(&v->spec, &err), POSREF_OK);
    double *positions = f->arena.alloc(f->arena.ctx, 4 * sizeof *positions);
    double *x = f->arena.alloc(f->arena.ctx, 4 * 64 * sizeof *x);
    for (int k = 0; k < 4; k++)
        positions[k] = k * 257;
    for (int k = 0; k < 4 * 64; k++)
        x[k] = size * ((k * 37 + 11) % 127 - 63) / 64;
    v->inputs.n = 2;
    v->inputs.item[0] = (struct posref_tensor){.name = "positions", .rank = 1, .shape = {4},
                                               .data = positions};
    v->inputs.item[1] = (struct posref_tensor){.name = "x", .rank = 2, .shape = {4, 64},
                                               .data = x};
    ck_assert_int_eq(posref_eval(&v->outputs, &v->spec, v->op, &v->inputs, &f->arena, &err),
                     POSREF_OK);
}

static double largest_of(const struct posref_tensor *t)
{
    double largest = 0;
    for (int64_t k = 0; k < posref_tensor_count(t); k++)
        largest = fmax(largest, fabs(((const double *)t->data)[k]));
    return largest;
}

START_TEST(vectors_are_exact_and_far_from_the_largest)
{
    static const char *const specs[] = {
        "scheme=rope dim=64", "scheme=rope dim=64 scaling=yarn factor=4 "
        "original_max_position_embeddings=4096 attention_factor=100"};
    static const double sizes[] = {0x1p-30, 0.1, 1, 3, 0x1p40};
    const enum posref_dtype dtype = dtypes[_i];
    for (int k = 0; k < 10; k++) {
        struct fixture f;
        struct posref_vector out;
        struct posref_error err = {"", ""};
        set_up(&f, specs[k / 5], sizes[k % 5]);
        ck_assert(posref_float8_offers(&f.vector));
        ck_assert_int_eq(posref_float8_vector(&out, &f.vector, dtype, &f.arena, &err), POSREF_OK);
        ck_assert_str_eq(out.id, f.vector.id);
        ck_assert_ptr_eq(out.inputs.item[0].data, f.vector.inputs.item[0].data);
        const double *x = out.inputs.item[1].data, *stored = f.vector.inputs.item[1].data;
        int n_rounded = 0;
        const double scale = x[5] / stored[5];
        for (int e = 0; e < 4 * 64; e++) {
            ck_assert(posref_rounded(x[e], dtype) == x[e]);
            ck_assert(fabs(x[e] - ldexp(stored[e], (int)rint(log2(scale)))) <=
                      posref_unit(dtype) * fabs(x[e]) + 0x1p-10);
            n_rounded += x[e] != stored[e] * scale;
        }
        ck_assert_int_gt(n_rounded, 50);
        if (k < 5)
            ck_assert(largest_of(&out.inputs.item[1]) >= 16 &&
                      largest_of(&out.inputs.item[1]) <= 32);
        ck_assert(largest_of(&out.outputs.item[0]) < (dtype == POSREF_F8E4M3 ? 112 : 14336));
        ck_assert(largest_of(&out.outputs.item[0]) > 8);
        posref_heap_free(f.heap);
    }
}
END_TEST

START_TEST(what_is_offered)
{
    struct posref_vector v = {.id = "rope/some", .op = POSREF_OP_ROTATE_BACKWARD};
    ck_assert(posref_float8_offers(&v));
    v.id = "rope/some@bhsd";
    ck_assert(!posref_float8_offers(&v));
    v.id = "property/rope/some/f";
    ck_assert(!posref_float8_offers(&v));
    v = (struct posref_vector){.id = "rope/some", .op = POSREF_OP_TABLE};
    ck_assert(!posref_float8_offers(&v));
    ck_assert(posref_float8_is_named("f8e4m3 f8e5m2", POSREF_F8E4M3));
    ck_assert(posref_float8_is_named("  f8e4m3  f8e5m2", POSREF_F8E5M2));
    ck_assert(!posref_float8_is_named("f8e4m3fn f8e5m", POSREF_F8E4M3));
    ck_assert(!posref_float8_is_named("f8e4m3fn f8e5m", POSREF_F8E5M2));
    ck_assert(!posref_float8_is_named("", POSREF_F8E5M2));
}
END_TEST

/* ---- judging ---- */

static enum posref_grade grade_of(const struct posref_vector *v, const double *y,
                                  enum posref_dtype dtype, struct fixture *f)
{
    struct posref_judgement out;
    struct posref_error err = {"", ""};
    struct posref_tensors actual = v->outputs;
    uint8_t code[4 * 64];
    for (int k = 0; k < 4 * 64; k++)
        code[k] = (uint8_t)posref_narrow(y[k], dtype);
    actual.item[0].dtype = dtype;
    actual.item[0].data = code;
    ck_assert_int_eq(posref_judge(&out, &v->spec, v->op, &v->inputs, &v->outputs, &actual, dtype,
                                  posref_grade_default(dtype), &f->arena, &err), POSREF_OK);
    return out.grade;
}

/* A rotation in float32, with tables rounded to `table` and products to `products`. */
static void rotate(double y[4 * 64], const struct posref_vector *v, enum posref_dtype table,
                   enum posref_dtype products)
{
    const double *x = v->inputs.item[1].data, *position = v->inputs.item[0].data;
    for (int e = 0; e < 4 * 32; e++) {
        const int n = e / 32, i = e % 32, a = n * 64 + i, b = a + 32;
        const float angle = (float)position[n] * powf(10000, -(float)i / 32);
        const double c = posref_rounded((double)cosf(angle), table);
        const double s = posref_rounded((double)sinf(angle), table);
        y[a] = (double)(float)(posref_rounded(x[a] * c, products) -
                               posref_rounded(x[b] * s, products));
        y[b] = (double)(float)(posref_rounded(x[a] * s, products) +
                               posref_rounded(x[b] * c, products));
    }
}

START_TEST(one_rounding_passes_two_do_not)
{
    const enum posref_dtype dtype = dtypes[_i];
    struct fixture f;
    struct posref_vector v;
    struct posref_error err = {"", ""};
    double y[4 * 64];
    set_up(&f, "scheme=rope dim=64", 1);
    ck_assert_int_eq(posref_float8_vector(&v, &f.vector, dtype, &f.arena, &err), POSREF_OK);
    rotate(y, &v, POSREF_F32, POSREF_F32);
    ck_assert_int_eq(grade_of(&v, y, dtype, &f), POSREF_GRADE_FLOAT32);
    rotate(y, &v, POSREF_BF16, POSREF_BF16);
    ck_assert_int_eq(grade_of(&v, y, dtype, &f), POSREF_GRADE_LOW);
    rotate(y, &v, dtype, POSREF_F32);
    ck_assert_int_eq(grade_of(&v, y, dtype, &f), POSREF_GRADE_FAIL);
    rotate(y, &v, POSREF_F32, dtype);
    ck_assert_int_eq(grade_of(&v, y, dtype, &f), POSREF_GRADE_FAIL);
    /* One code beside the right one, in one element. */
    rotate(y, &v, POSREF_F32, POSREF_F32);
    y[70] = posref_widen(posref_narrow(y[70], dtype) + 1, dtype);
    ck_assert_int_eq(grade_of(&v, y, dtype, &f), POSREF_GRADE_FAIL);
    posref_heap_free(f.heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("float8");
    TCase *tcase = tcase_create("float8");
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, limits_admit_what_rounding_reaches, 0, 2);
    tcase_add_loop_test(tcase, vectors_are_exact_and_far_from_the_largest, 0, 2);
    tcase_add_test(tcase, what_is_offered);
    tcase_add_loop_test(tcase, one_rounding_passes_two_do_not, 0, 2);
    return run_suite(suite);
}
