/* SPDX-License-Identifier: Apache-2.0 */
/* Judging rope over several axes: kernels in float32, written here without the reference's tables,
 * pass in every dtype; exchanged axes, another order of sections, a ladder that goes on over the
 * axes and half pairs of the wrong span fail. */
#include "reference/judge.h"
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { CHUNKED, INTERLEAVED, HW_T, BLOCKS, DEALT };

/* A kernel: which axis and ladder entry each pair has, and which channels. */
struct kernel {
    const char *spec;
    enum kind kind;
    int dim, part[3]; /* pairs an axis (sections or dims / 2) */
    float base;
    bool half, head_span, in_turns;
};

static const struct kernel kernels[] = {
    {"dim=128 base=1000000 mrope_section=16,24,24", CHUNKED, 128, {16, 24, 24}, 1e6f, true, true,
     false},
    {"dim=128 base=5000000 mrope_section=24,20,20 mrope_interleaved=true", INTERLEAVED, 128,
     {24, 20, 20}, 5e6f, true, true, false},
    {"dim=128 base=500000 mrope_section=22,22,20 mrope_order=hw_t pairing=interleaved", HW_T, 128,
     {22, 22, 20}, 5e5f, false, true, false},
    {"dim=128 base=10000 axes_dims=44,42,42", BLOCKS, 128, {22, 21, 21}, 1e4f, false, false, false},
    {"dim=60 base=256 axes_dims=16,24,20 pairing=half", BLOCKS, 60, {8, 12, 10}, 256, true, false,
     false},
    {"dim=60 base=10000 axes_dims=16,24,20 pairing=half axes_span=head", BLOCKS, 60, {8, 12, 10},
     1e4f, true, true, false},
    {"dim=60 base=100 axes_dims=20,20,20 axes_order=frequency angle_unit=turn", DEALT, 60,
     {10, 10, 10}, 100, false, true, true},
};
#define N_KERNELS ((int)(sizeof kernels / sizeof *kernels))

enum fault { NONE, AXES_EXCHANGED, OTHER_ORDER, LADDER_GOES_ON, LADDER_RESTARTS, OTHER_SPAN,
             ANOTHER_UNIT, N_FAULTS };

struct place {
    int axis, entry, width; /* ladder entry of width / 2 */
    int first, second;      /* channels */
};

/* Axis and number in the axis of pair i when axes lie in blocks. */
static void in_blocks(int *axis, int *j, const int part[3], int i)
{
    for (*axis = 0, *j = i; *j >= part[*axis]; ++*axis)
        *j -= part[*axis];
}

static struct place place_of(const struct kernel *k, int i, enum fault fault)
{
    struct place p = {.entry = i, .width = k->dim};
    enum kind kind = k->kind;
    int j;
    if (fault == OTHER_ORDER)
        kind = kind == CHUNKED ? INTERLEAVED : kind == BLOCKS ? DEALT : kind == DEALT ? BLOCKS
                                                                                  : CHUNKED;
    in_blocks(&p.axis, &j, k->part, i);
    if (kind == INTERLEAVED)
        p.axis = i % 3 && i < 3 * k->part[i % 3] ? i % 3 : 0;
    if (kind == HW_T)
        p.axis = i < 2 * k->part[0] ? 1 + i % 2 : 0;
    if (kind == DEALT) {
        p.axis = i % 3;
        j = i / 3;
    }
    bool restarts = k->kind == BLOCKS || k->kind == DEALT;
    if (fault == LADDER_GOES_ON)
        restarts = false;
    if (fault == LADDER_RESTARTS)
        restarts = true;
    if (restarts) {
        p.entry = j;
        p.width = 2 * k->part[p.axis];
    }
    if (fault == AXES_EXCHANGED && p.axis > 0)
        p.axis = 3 - p.axis;
    int start = 0, n = k->dim / 2, at = i;
    if (k->kind == BLOCKS && k->head_span == (fault == OTHER_SPAN)) {
        int axis;
        in_blocks(&axis, &at, k->part, i);
        n = k->part[axis];
        start = 2 * (i - at);
    }
    p.first = start + (k->half ? at : 2 * at);
    p.second = start + (k->half ? at + n : 2 * at + 1);
    return p;
}

#define N 5
static const double positions[3][N] = {{1, 17, 257, 4095, -3}, {2, 5, 256, 131071, 2049},
                                       {3, 11, 255, 77, -70}};

/* float32 throughout, as published code computes it. */
static void rotate(float y[N][128], const struct kernel *k, const double x[N][128],
                   enum fault fault)
{
    for (int i = 0; i < k->dim / 2; i++) {
        struct place p = place_of(k, i, fault);
        float exponent = (float)(2 * p.entry) / (float)p.width;
        float inv_freq = 1.0f / powf(k->base, exponent);
        if (k->in_turns != (fault == ANOTHER_UNIT))
            inv_freq *= 6.28318530717958647692f;
        for (int n = 0; n < N; n++) {
            float angle = (float)positions[p.axis][n] * inv_freq;
            float c = cosf(angle), s = sinf(angle);
            float u = (float)x[n][p.first], v = (float)x[n][p.second];
            y[n][p.first] = u * c - v * s;
            y[n][p.second] = v * c + u * s;
        }
    }
}

static void judge(struct posref_judgement *out, const struct kernel *k, enum fault fault,
                  enum posref_dtype dtype)
{
    static double x[N][128], flat[N * 128];
    static float y[N][128];
    static unsigned char packed[N * 128 * 4];
    struct posref_heap *heap = posref_heap_new(0);
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_error err = {"", ""};
    struct posref_spec spec;
    struct posref_tensors in = {.n = 2}, golden, actual;
    uint64_t state = 7;
    posref_spec_init(&spec);
    ck_assert_msg(posref_spec_parse(&spec, k->spec, &err) == POSREF_OK, "%s", err.text);
    ck_assert_msg(posref_spec_complete(&spec, &err) == POSREF_OK, "%s: %s", err.key, err.text);
    for (int n = 0; n < N; n++)
        for (int c = 0; c < k->dim; c++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            x[n][c] = flat[n * k->dim + c] = (double)((int)(state >> 56) - 128) / 64 + 1.0 / 128;
        }
    in.item[0] = (struct posref_tensor){.name = "positions", .rank = 2, .shape = {3, N},
                                        .data = (void *)(uintptr_t)positions};
    in.item[1] = (struct posref_tensor){.name = "x", .rank = 2, .shape = {N, k->dim}, .data = flat};
    ck_assert_msg(posref_eval(&golden, &spec, POSREF_OP_ROTATE, &in, &arena, &err) == POSREF_OK,
                  "%s: %s", err.key, err.text);
    rotate(y, k, (const double(*)[128])x, fault);
    for (int n = 0; n < N; n++)
        for (int c = 0; c < k->dim; c++) {
            uint32_t bits = posref_narrow((double)y[n][c], dtype);
            uint16_t half = (uint16_t)bits;
            size_t size = posref_dtype_size(dtype);
            memcpy(packed + (size_t)(n * k->dim + c) * size,
                   size == 4 ? (const void *)&bits : (const void *)&half, size);
        }
    actual = golden;
    actual.item[0].dtype = dtype;
    actual.item[0].data = packed;
    ck_assert_msg(posref_judge(out, &spec, POSREF_OP_ROTATE, &in, &golden, &actual, dtype,
                               posref_grade_default(dtype), &arena, &err) == POSREF_OK,
                  "%s: %s", err.key, err.text);
    posref_heap_free(heap);
}

static const enum posref_dtype dtypes[] = {POSREF_F32, POSREF_F16, POSREF_BF16};

START_TEST(float32_passes)
{
    for (int k = 0; k < N_KERNELS; k++)
        for (int d = 0; d < 3; d++) {
            struct posref_judgement got;
            judge(&got, &kernels[k], NONE, dtypes[d]);
            ck_assert_msg(got.pass && got.grade == POSREF_GRADE_FLOAT32,
                          "%s %s: %s, %s, pair %d, position %g: %g not %g, %g limits",
                          kernels[k].spec, posref_dtype_name(dtypes[d]),
                          posref_grade_name(got.grade), posref_breach_text(got.breach), got.pair,
                          got.position, got.got, got.want, got.error_limits);
            ck_assert_int_gt(got.n_judged, got.n_compared / 2);
        }
}
END_TEST

/* A fault that changes nothing for a kernel: its order or ladder is the other one's too. */
static bool is_the_same(const struct kernel *k, enum fault fault)
{
    const bool restarts = k->kind == BLOCKS || k->kind == DEALT;
    return (fault == LADDER_GOES_ON && !restarts) || (fault == LADDER_RESTARTS && restarts) ||
           (fault == OTHER_SPAN && (k->kind != BLOCKS || !k->half));
}

START_TEST(faults_fail)
{
    int n_tried = 0;
    for (int k = 0; k < N_KERNELS; k++)
        for (enum fault fault = AXES_EXCHANGED; fault < N_FAULTS; fault++)
            for (int d = 0; d < 3 && !is_the_same(&kernels[k], fault); d++) {
                struct posref_judgement got;
                judge(&got, &kernels[k], fault, dtypes[d]);
                ck_assert_msg(!got.pass, "%s fault %d %s passed as %s", kernels[k].spec,
                              (int)fault, posref_dtype_name(dtypes[d]),
                              posref_grade_name(got.grade));
                n_tried++;
            }
    ck_assert_int_gt(n_tried, 60);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge_axes");
    TCase *tests = tcase_create("judge_axes");
    tcase_add_test(tests, float32_passes);
    tcase_add_test(tests, faults_fail);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
