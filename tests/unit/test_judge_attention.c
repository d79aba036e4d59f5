/* SPDX-License-Identifier: Apache-2.0 */
/* The error model of scores and attention: honest kernels in float32 and in 16 bits pass, seeded
 * faults fail. */
#include "reference/judge.h"
#include "tests/unit/suite.h"
#include "vectors/vectors.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { N_Q = 3, N_K = 6, DIM_V = 4, MAX_HEADS = 12, MAX_DIM = 64 };

enum fault { NONE, NO_SCALE, SCALE_OF_MODEL, TOP_LEFT, NO_MASK, BIAS_SIGN, BIAS_OF_NEXT_HEAD,
             ROW_CONSTANT, Q_SHIFTED, K_UNROTATED, WRONG_GROUP, NO_TEMPERATURE, N_FAULTS };
static const char *const names[] = {"none", "no scale", "scale of model", "top left", "no mask",
                                    "bias sign", "bias of next head", "row constant", "q shifted",
                                    "k unrotated", "wrong group", "no temperature"};

struct subject {
    const char *spec;
    int heads, kv_heads, dim;
    bool rope, alibi, causal;
    const double *q_at;
};

static const double q_near[N_Q] = {3, 4, 5}, q_far[N_Q] = {2049, 4096, 20000};
static const double k_at[N_K] = {0, 1, 2, 3, 4, 5};

static const struct subject subjects[] = {
    {"scheme=none causal=true", 2, 2, 64, false, false, true, q_near},
    {"scheme=none causal=true temperature=ministral temperature_length=2048", 4, 2, 24, false,
     false, true, q_far},
    {"scheme=rope dim=24 causal=true", 4, 2, 24, true, false, true, q_near},
    {"scheme=rope dim=64 causal=false", 2, 2, 64, true, false, false, q_far},
    {"scheme=alibi num_heads=12 causal=true", 12, 12, 12, false, true, true, q_near},
};

struct fixture {
    struct posref_heap *heap;
    struct posref_arena arena;
    struct posref_spec spec;
    struct posref_tensors in, golden;
};

static void add(struct fixture *f, const char *name, int64_t n, int64_t heads, int64_t width)
{
    struct posref_tensor *t = &f->in.item[f->in.n++];
    *t = (struct posref_tensor){.dtype = POSREF_F64, .rank = 3, .shape = {n, heads, width}};
    snprintf(t->name, sizeof t->name, "%s", name);
    double *x = t->data = f->arena.alloc(f->arena.ctx, (size_t)(n * heads * width) * sizeof *x);
    uint32_t state = 7 + (uint32_t)name[0];
    for (int64_t k = 0; k < n * heads * width; k++) {
        state = state * 1664525 + 1013904223;
        x[k] = (int)(state >> 24) / 64.0 - 2;
    }
}

static void add_positions(struct fixture *f, const char *name, const double *at, int64_t n)
{
    struct posref_tensor *t = &f->in.item[f->in.n++];
    *t = (struct posref_tensor){.dtype = POSREF_F64, .rank = 1, .shape = {n}};
    snprintf(t->name, sizeof t->name, "%s", name);
    t->data = f->arena.alloc(f->arena.ctx, (size_t)n * sizeof *at);
    memcpy(t->data, at, (size_t)n * sizeof *at);
}

static void set_up(struct fixture *f, const struct subject *s, enum posref_op op)
{
    struct posref_error err = {"", ""};
    memset(f, 0, sizeof *f);
    f->heap = posref_heap_new(0);
    f->arena = posref_heap_arena(f->heap);
    posref_spec_init(&f->spec);
    ck_assert_int_eq(posref_spec_parse(&f->spec, s->spec, &err), POSREF_OK);
    ck_assert_int_eq(posref_spec_complete(&f->spec, &err), POSREF_OK);
    add_positions(f, "q_positions", s->q_at, N_Q);
    add_positions(f, "k_positions", k_at, N_K);
    add(f, "q", N_Q, s->heads, s->dim);
    add(f, "k", N_K, s->kv_heads, s->dim);
    add(f, "v", N_K, s->kv_heads, DIM_V);
    ck_assert_msg(posref_eval(&f->golden, &f->spec, op, &f->in, &f->arena, &err) == POSREF_OK,
                  "%s: %s", err.key, err.text);
}

/* What the kernel holds: float32, or (low) everything but sums in the dtype. */
static float held(float x, enum posref_dtype dtype, bool low)
{
    return low ? (float)posref_widen(posref_narrow((double)x, dtype), dtype) : x;
}

static void rotate(float *y, const double *x, double position, const struct subject *s,
                   enum posref_dtype dtype, bool low)
{
    const int half = s->dim / 2;
    for (int i = 0; i < half; i++) {
        float a = (float)position * powf(10000, -2.0F * (float)i / (float)s->dim);
        float c = held(cosf(a), dtype, low), n = held(sinf(a), dtype, low);
        float x1 = (float)x[i], x2 = (float)x[i + half];
        y[i] = held(x1 * c - x2 * n, dtype, low);
        y[i + half] = held(x2 * c + x1 * n, dtype, low);
    }
}

static float slope_of(int h)
{
    return h < 8 ? exp2f(-(float)(h + 1)) : exp2f(-(float)(2 * (h - 8) + 1) / 2);
}

static float score(const struct fixture *f, const struct subject *s, int h, int i, int j,
                   enum fault fault, enum posref_dtype dtype, bool low)
{
    const double *q = (const double *)f->in.item[2].data + (i * s->heads + h) * s->dim;
    const int group = fault == WRONG_GROUP ? h % s->kv_heads : h * s->kv_heads / s->heads;
    const double *k = (const double *)f->in.item[3].data + (j * s->kv_heads + group) * s->dim;
    float a[MAX_DIM], b[MAX_DIM], sum = 0;
    for (int c = 0; c < s->dim; c++) {
        a[c] = (float)q[c];
        b[c] = (float)k[c];
    }
    if (s->rope) {
        rotate(a, q, s->q_at[i] + (fault == Q_SHIFTED), s, dtype, low);
        if (fault != K_UNROTATED)
            rotate(b, k, k_at[j], s, dtype, low);
    }
    for (int c = 0; c < s->dim; c++)
        sum += a[c] * b[c];
    if (fault != NO_SCALE)
        sum *= 1 / sqrtf((float)(fault == SCALE_OF_MODEL ? s->dim * s->heads : s->dim));
    if (strstr(s->spec, "ministral") && fault != NO_TEMPERATURE)
        sum *= 1 + 0.1F * logf(1 + floorf((float)s->q_at[i] / 2048));
    if (s->alibi) {
        float slope = held(slope_of(fault == BIAS_OF_NEXT_HEAD ? (h + 1) % 12 : h), dtype, low);
        float distance = (float)(k_at[j] - s->q_at[i]);
        float bias = fault == ROW_CONSTANT ? slope * (float)k_at[j] : slope * distance;
        sum += held(fault == BIAS_SIGN ? -bias : bias, dtype, low);
    }
    return held(sum, dtype, low);
}

static bool sees(const struct subject *s, int i, int j, enum fault fault)
{
    return !s->causal || fault == NO_MASK || j <= i + (fault == TOP_LEFT ? 0 : N_K - N_Q);
}

static void attend(float *out, const float *scores, const struct fixture *f,
                   const struct subject *s, int h)
{
    const double *v = f->in.item[4].data;
    float largest = -HUGE_VALF, sum = 0;
    for (int j = 0; j < N_K; j++)
        largest = fmaxf(largest, scores[j]);
    for (int c = 0; c < DIM_V; c++)
        out[c] = 0;
    for (int j = 0; j < N_K; j++) {
        float w = expf(scores[j] - largest);
        sum += w;
        for (int c = 0; c < DIM_V; c++)
            out[c] += w * (float)v[(j * s->kv_heads + h * s->kv_heads / s->heads) * DIM_V + c];
    }
    for (int c = 0; c < DIM_V; c++)
        out[c] /= sum;
}

/* The finite element of golden that is furthest from what came back. */
static int64_t farthest(const struct posref_tensor *want, const struct posref_tensor *got)
{
    int64_t found = 0;
    double most = 0;
    for (int64_t k = 0; k < posref_tensor_count(want); k++) {
        const double expected = posref_tensor_value(want, k);
        const double off = fabs(posref_tensor_value(got, k) - expected);
        if (isfinite(expected) && off > most) {
            most = off;
            found = k;
        }
    }
    return found;
}

/* A glance fails nothing that the judge passes, at any element; and where it is looked, whatever is
 * wrong with every score. */
static void check_glance(struct fixture *f, enum posref_op op, const struct posref_tensors *actual,
                         enum posref_dtype dtype, enum posref_grade grade, enum fault fault)
{
    struct posref_error err = {"", ""};
    const int64_t n = posref_tensor_count(&actual->item[0]);
    const int64_t at[] = {farthest(&f->golden.item[0], &actual->item[0]), 0, n / 2, n - 1, n};
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        bool fails = false;
        ck_assert_msg(posref_judge_glance(&fails, &f->spec, op, at[k], &f->in, actual, dtype,
                                          &f->arena, &err) == POSREF_OK,
                      "%s: %s", err.key, err.text);
        ck_assert_msg(!fails || grade == POSREF_GRADE_FAIL, "op %d, dtype %d: %s", op, dtype,
                      names[fault]);
        ck_assert_msg(fails || k > 0 || fault != NO_SCALE || grade != POSREF_GRADE_FAIL,
                      "op %d, dtype %d", op, dtype);
    }
}

static bool passes(struct fixture *f, const struct subject *s, enum posref_op op,
                   enum fault fault, enum posref_dtype dtype, bool low)
{
    static float row[N_K], result[N_Q * MAX_HEADS * N_K];
    static uint16_t halves[N_Q * MAX_HEADS * N_K];
    for (int h = 0; h < s->heads; h++)
        for (int i = 0; i < N_Q; i++) {
            for (int j = 0; j < N_K; j++) {
                row[j] = sees(s, i, j, fault) ? score(f, s, h, i, j, fault, dtype, low)
                                              : -HUGE_VALF;
                if (op == POSREF_OP_SCORES) /* some kernels fill in -10000, others add it */
                    result[(h * N_Q + i) * N_K + j] =
                        row[j] >= -1e30F ? row[j]
                        : j % 2          ? -10000
                                         : score(f, s, h, i, j, fault, dtype, low) - 10000;
            }
            if (op == POSREF_OP_ATTENTION)
                attend(result + (i * s->heads + h) * DIM_V, row, f, s, h);
        }
    struct posref_tensors actual = {.n = 1};
    struct posref_judgement out;
    struct posref_error err = {"", ""};
    actual.item[0] = f->golden.item[0];
    actual.item[0].dtype = dtype;
    actual.item[0].data = dtype == POSREF_F32 ? (void *)result : (void *)halves;
    for (int64_t k = 0; k < posref_tensor_count(&actual.item[0]); k++)
        halves[k] = (uint16_t)posref_narrow((double)result[k], dtype == POSREF_F32 ? POSREF_F16
                                                                                   : dtype);
    /* Rotated vectors and scores held in bfloat16 hide factors near 1 in the weights: gate fast
     * tells them. */
    const bool fine = fault == NO_TEMPERATURE || fault == SCALE_OF_MODEL || fault == Q_SHIFTED;
    const enum posref_grade gate = fine && dtype == POSREF_BF16 ? POSREF_GRADE_FAST
                                                                : posref_grade_default(dtype);
    ck_assert_msg(posref_judge(&out, &f->spec, op, &f->in, &f->golden, &actual, dtype, gate,
                               &f->arena, &err) == POSREF_OK,
                  "%s: %s", err.key, err.text);
    check_glance(f, op, &actual, dtype, out.grade, fault);
    if (fault == NONE)
        ck_assert_msg(out.pass && (low || out.grade <= POSREF_GRADE_RECURRENCE),
                      "%s op %d dtype %d low %d: %s, %g limits at %lld: got %g want %g", s->spec,
                      (int)op, (int)dtype, low, posref_grade_name(out.grade), out.error_limits,
                      (long long)out.element, out.got, out.want);
    return out.pass;
}

START_TEST(honest_kernels_pass)
{
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++)
        for (int op = POSREF_OP_SCORES; op <= POSREF_OP_ATTENTION; op++) {
            struct fixture f;
            set_up(&f, &subjects[k], (enum posref_op)op);
            for (int d = POSREF_F32; d <= POSREF_BF16; d++)
                for (int low = 0; low <= (d != POSREF_F32); low++)
                    passes(&f, &subjects[k], (enum posref_op)op, NONE, (enum posref_dtype)d, low);
            posref_heap_free(f.heap);
        }
}
END_TEST

/* Whether the fault changes the subject's output at all. */
static bool applies(const struct subject *s, enum posref_op op, enum fault fault)
{
    switch (fault) {
    case TOP_LEFT:
    case NO_MASK: return s->causal;
    case BIAS_SIGN:
    case BIAS_OF_NEXT_HEAD: return s->alibi;
    case ROW_CONSTANT: return s->alibi && op == POSREF_OP_SCORES; /* equal after the softmax */
    case Q_SHIFTED:
    case K_UNROTATED: return s->rope;
    case WRONG_GROUP: return s->kv_heads < s->heads;
    case NO_TEMPERATURE: return strstr(s->spec, "ministral") != NULL;
    default: return true;
    }
}

START_TEST(faults_fail)
{
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++)
        for (int op = POSREF_OP_SCORES; op <= POSREF_OP_ATTENTION; op++) {
            const struct subject *s = &subjects[k];
            struct fixture f;
            set_up(&f, s, (enum posref_op)op);
            for (int fault = NONE + 1; fault < N_FAULTS; fault++)
                for (int d = POSREF_F32; d <= POSREF_BF16; d++)
                    if (applies(s, (enum posref_op)op, (enum fault)fault))
                        ck_assert_msg(!passes(&f, s, (enum posref_op)op, (enum fault)fault,
                                              (enum posref_dtype)d, false),
                                      "%s, op %d, dtype %d: %s passes", s->spec, op, d,
                                      names[fault]);
            if (s->alibi && op == POSREF_OP_ATTENTION) /* legitimate: the softmax takes it out */
                ck_assert(passes(&f, s, POSREF_OP_ATTENTION, ROW_CONSTANT, POSREF_F32, false));
            posref_heap_free(f.heap);
        }
}
END_TEST

/* Equal scores, of terms so large that in bfloat16 the weights may be any: a value of one key is
 * then right, and what lies beyond all that are seen is not. */
START_TEST(results_are_means)
{
    const struct subject *s = &subjects[0];
    struct fixture f;
    struct posref_error err = {"", ""};
    set_up(&f, s, POSREF_OP_ATTENTION);
    double *q = f.in.item[2].data, *key = f.in.item[3].data;
    const double *v = f.in.item[4].data;
    for (int64_t k = 0; k < posref_tensor_count(&f.in.item[2]); k++)
        q[k] *= 256;
    for (int64_t k = s->heads * s->dim; k < posref_tensor_count(&f.in.item[3]); k++)
        key[k] = key[k - s->heads * s->dim];
    ck_assert_int_eq(posref_eval(&f.golden, &f.spec, POSREF_OP_ATTENTION, &f.in, &f.arena, &err),
                     POSREF_OK);
    for (int beyond = 0; beyond <= 1; beyond++) {
        static uint16_t result[N_Q * MAX_HEADS * DIM_V];
        struct posref_tensors actual = f.golden;
        struct posref_judgement out;
        actual.item[0].dtype = POSREF_BF16;
        actual.item[0].data = result;
        for (int k = 0; k < N_Q * s->heads * DIM_V; k++) {
            double largest = -HUGE_VAL;
            for (int j = 0; sees(s, k / DIM_V / s->heads, j, NONE) && j < N_K; j++)
                largest = fmax(largest, v[(j * s->kv_heads + k / DIM_V % s->heads) * DIM_V +
                                          k % DIM_V]);
            result[k] = (uint16_t)posref_narrow(largest + 0.25 * beyond, POSREF_BF16);
        }
        ck_assert_int_eq(posref_judge(&out, &f.spec, POSREF_OP_ATTENTION, &f.in, &f.golden, &actual,
                                      POSREF_BF16, POSREF_GRADE_LOW, &f.arena, &err), POSREF_OK);
        ck_assert_msg(out.pass == !beyond, "beyond %d: %g limits, got %g want %g", beyond,
                      out.error_limits, out.got, out.want);
    }
    posref_heap_free(f.heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge_attention");
    TCase *tests = tcase_create("attention");
    tcase_add_test(tests, honest_kernels_pass);
    tcase_add_test(tests, faults_fail);
    tcase_add_test(tests, results_are_means);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
