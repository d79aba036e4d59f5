/* SPDX-License-Identifier: Apache-2.0 */
/* The error model where it is easily too narrow or too wide: attention factors and softmax weights
 * in 16 bits, recurrences in double. */
#include "reference/judge.h"
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define N 8 /* positions, queries and keys */

struct fixture {
    struct posref_heap *heap;
    struct posref_arena arena;
    struct posref_spec spec;
    struct posref_tensors in, golden;
    enum posref_op op;
};

static const double positions[N] = {1, 2, 3, 17, 40, 257, 511, 1023};

static void add_input(struct fixture *f, const char *name, int rank, const int64_t *shape)
{
    struct posref_tensor *t = &f->in.item[f->in.n++];
    *t = (struct posref_tensor){.dtype = POSREF_F64, .rank = rank};
    snprintf(t->name, sizeof t->name, "%s", name);
    memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
    double *data = f->arena.alloc(f->arena.ctx, (size_t)posref_tensor_count(t) * sizeof *data);
    uint32_t state = 7;
    for (int64_t k = 0; k < posref_tensor_count(t); k++) {
        state = state * 1664525 + 1013904223;
        data[k] = rank == 1 ? positions[k] : (int)(state >> 24) / 64.0 - 2;
    }
    t->data = data;
}

static void set_up(struct fixture *f, const char *text, enum posref_op op)
{
    struct posref_error err = {"", ""};
    memset(f, 0, sizeof *f);
    f->heap = posref_heap_new(0);
    f->arena = posref_heap_arena(f->heap);
    f->op = op;
    posref_spec_init(&f->spec);
    ck_assert_int_eq(posref_spec_parse(&f->spec, text, &err), POSREF_OK);
    ck_assert_int_eq(posref_spec_complete(&f->spec, &err), POSREF_OK);
    if (op == POSREF_OP_ROTATE) {
        add_input(f, "positions", 1, (const int64_t[]){N});
        add_input(f, "x", 3, (const int64_t[]){N, 2, f->spec.dim});
    } else {
        add_input(f, "q_positions", 1, (const int64_t[]){N});
        add_input(f, "k_positions", 1, (const int64_t[]){N});
        add_input(f, "logits", 3, (const int64_t[]){f->spec.num_heads, N, N});
    }
    ck_assert_msg(posref_eval(&f->golden, &f->spec, op, &f->in, &f->arena, &err) == POSREF_OK,
                  "%s: %s", err.key, err.text);
}

static double rounded(double x, enum posref_dtype dtype)
{
    return dtype == POSREF_F64 ? x : posref_widen(posref_narrow(x, dtype), dtype);
}

/* Judges values that the dtype holds. */
static struct posref_judgement judge(struct fixture *f, const double *values,
                                     enum posref_dtype dtype)
{
    struct posref_judgement out;
    struct posref_error err = {"", ""};
    struct posref_tensors actual = {.n = 1};
    int64_t count = posref_tensor_count(&f->golden.item[0]);
    double *wide = f->arena.alloc(f->arena.ctx, (size_t)count * sizeof *wide);
    uint16_t *half = f->arena.alloc(f->arena.ctx, (size_t)count * sizeof *half);
    for (int64_t k = 0; k < count; k++) {
        wide[k] = values[k];
        half[k] = dtype == POSREF_F64 ? 0 : (uint16_t)posref_narrow(values[k], dtype);
    }
    actual.item[0] = f->golden.item[0];
    actual.item[0].dtype = dtype;
    actual.item[0].data = dtype == POSREF_F64 ? (void *)wide : (void *)half;
    ck_assert_msg(posref_judge(&out, &f->spec, f->op, &f->in, &f->golden, &actual, dtype,
                               posref_grade_default(dtype), &f->arena, &err) == POSREF_OK,
                  "%s: %s", err.key, err.text);
    return out;
}

/* factor * cos and sin in the dtype, as are products and sums; steps: the angle by repeated
 * multiplication in double. */
static const double *rotate(struct fixture *f, double factor, enum posref_dtype dtype, bool steps)
{
    const int half = f->spec.dim / 2;
    const double *x = f->in.item[1].data;
    double *y = f->arena.alloc(f->arena.ctx, (size_t)(N * 4 * half) * sizeof *y);
    for (int row = 0; row < 2 * N; row++) {
        double angle = positions[row / 2], step = pow(f->spec.base, -2.0 / f->spec.dim);
        for (int i = 0; i < half; i++, angle *= step) {
            double a = steps ? angle : positions[row / 2] * pow(f->spec.base, -1.0 * i / half);
            double c = rounded(factor * cos(a), dtype), s = rounded(factor * sin(a), dtype);
            double u = x[row * 2 * half + i], v = x[row * 2 * half + half + i];
            y[row * 2 * half + i] =
                rounded(rounded(u * c, dtype) - rounded(v * s, dtype), dtype);
            y[row * 2 * half + half + i] =
                rounded(rounded(u * s, dtype) + rounded(v * c, dtype), dtype);
        }
    }
    return y;
}

START_TEST(attention_factor_wrong_by_a_hundredth)
{
    /* yarn with factor 1: its attention factor and no change of frequencies. */
    static const double factors[] = {0.9, 1.0693147180559945, 1.2079441541679836, 1.5};
    for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
        struct fixture f;
        char text[200];
        snprintf(text, sizeof text, "scheme=rope dim=128 scaling=yarn factor=1 "
                 "original_max_position_embeddings=4096 attention_factor=%.17g", factors[k]);
        set_up(&f, text, POSREF_OP_ROTATE);
        for (int d = POSREF_F16; d <= POSREF_BF16; d++) {
            enum posref_dtype dtype = (enum posref_dtype)d;
            double held = rounded(factors[k], dtype);
            ck_assert(judge(&f, rotate(&f, factors[k], dtype, false), dtype).pass);
            ck_assert(judge(&f, rotate(&f, held, dtype, false), dtype).pass);
            ck_assert(!judge(&f, rotate(&f, 1.01 * factors[k], dtype, false), dtype).pass);
            ck_assert(!judge(&f, rotate(&f, 0.99 * factors[k], dtype, false), dtype).pass);
        }
        posref_heap_free(f.heap);
    }
}
END_TEST

START_TEST(recurrence_in_double_is_exact)
{
    struct fixture f;
    set_up(&f, "scheme=rope dim=512 base=500000", POSREF_OP_ROTATE);
    struct posref_judgement j = judge(&f, rotate(&f, 1, POSREF_F64, true), POSREF_F64);
    ck_assert_int_eq(j.grade, POSREF_GRADE_EXACT);
    posref_heap_free(f.heap);
}
END_TEST

/* Softmax in double of scores whose slope, bias and sum are held in the dtype. */
static const double *weights(struct fixture *f, double slope_off, enum posref_dtype dtype)
{
    const double *logits = f->in.item[2].data;
    const int heads = f->spec.num_heads;
    double *w = f->arena.alloc(f->arena.ctx, (size_t)(heads * N * N) * sizeof *w);
    for (int row = 0; row < heads * N; row++) {
        double slope = rounded(exp2(-8.0 * (row / N + 1) / heads) * slope_off, dtype), sum = 0;
        double *at = w + row * N, largest = -HUGE_VAL;
        for (int j = 0; j < N; j++) {
            double bias = rounded(-slope * fabs(positions[row % N] - positions[j]), dtype);
            at[j] = rounded(logits[row * N + j] + bias, dtype);
            largest = fmax(largest, at[j]);
        }
        for (int j = 0; j < N; j++)
            sum += at[j] = exp(at[j] - largest);
        for (int j = 0; j < N; j++)
            at[j] = rounded(at[j] / sum, dtype);
    }
    return w;
}

START_TEST(scores_held_in_16_bits)
{
    struct fixture f;
    set_up(&f, "scheme=alibi num_heads=16 form=symmetric", POSREF_OP_WEIGHTS);
    for (int d = POSREF_F16; d <= POSREF_BF16; d++) {
        enum posref_dtype dtype = (enum posref_dtype)d;
        struct posref_judgement j = judge(&f, weights(&f, 1, dtype), dtype);
        ck_assert_msg(j.grade == POSREF_GRADE_LOW, "%s %g", posref_grade_name(j.grade),
                      j.error_limits);
        ck_assert(!judge(&f, weights(&f, 1.05, dtype), dtype).pass);
        ck_assert(!judge(&f, weights(&f, sqrt(2), dtype), dtype).pass);
    }
    posref_heap_free(f.heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge_low");
    TCase *tests = tcase_create("low");
    tcase_add_test(tests, attention_factor_wrong_by_a_hundredth);
    tcase_add_test(tests, recurrence_in_double_is_exact);
    tcase_add_test(tests, scores_held_in_16_bits);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
