/* SPDX-License-Identifier: Apache-2.0 */
/* Rotation fused with an RMS norm: exact results, what is refused, and what the judge makes of
 * honest and of wrong kernels. */
#include "eval_fixture.h"
#include "harness/trial.h"
#include "reference/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ELEMENTS (4 * 3 * 256)

/* ---- the reference ---- */

static enum posref_status run_normed(struct evaluation *e, double *y, const double *gain,
                                     double eps, bool after)
{
    const struct posref_norm norm = {.gain = gain, .eps = eps, .after = after};
    return posref_rotate_normed(y, &norm, &e->spec, &e->in, &e->arena, &e->err);
}

/* Fourteen ones of 18 channels and eps 1: the mean and eps are 16/9, the factor is 3/4. Products of
 * 53 bits with it tie. */
START_TEST(ties_are_decided)
{
    struct evaluation e;
    double x[18], gain[18], y[18];
    const double position = 0;
    evaluation_open(&e, "dim=18 rotary_dim=8");
    for (int k = 0; k < 18; k++) {
        x[k] = k < 14;
        gain[k] = 1 + ldexp(2 * (k % 2) + 1, -52); /* 3/4 (2^52 + 1) and 3/4 (2^52 + 3): halves */
    }
    evaluation_positions(&e, &position, 1);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){1, 18});
    for (int after = 0; after < 2; after++) {
        ck_assert_int_eq(run_normed(&e, y, gain, 1, after), POSREF_OK);
        for (int k = 0; k < 18; k++) {
            /* 3 2^50 + 3/4 or 9/4, in units of 2^-52, where a half is the last place. */
            const double want = k >= 14 ? 0 : ldexp(3 * 0x1p50 + (k % 2 ? 2 : 1), -52);
            ck_assert_msg(y[k] == want && !signbit(y[k]), "%d: %a, not %a", k, y[k], want);
        }
    }
    evaluation_close(&e);
}
END_TEST

/* Against the formula in long double, with a factor on the turned channels. */
START_TEST(near_the_formula)
{
    const double positions[] = {0, 3, 100};
    double x[3 * 2 * 12], y[3 * 2 * 12], gain[12];
    uint64_t seed = 7;
    for (int k = 0; k < 72; k++)
        x[k] = next_random(&seed);
    for (int k = 0; k < 12; k++)
        gain[k] = next_random(&seed);
    struct evaluation e;
    evaluation_open(&e, "dim=12 rotary_dim=8 partial=trailing pairing=interleaved scaling=yarn "
                        "factor=4 original_max_position_embeddings=64");
    evaluation_positions(&e, positions, 3);
    evaluation_input(&e, "x", x, 3, (const int64_t[]){3, 2, 12});
    const double *c = evaluation_run(&e, POSREF_OP_TABLE, "cos", NULL);
    const double *s = evaluation_output(&e, "sin");
    for (int after = 0; after < 2; after++) {
        ck_assert_int_eq(run_normed(&e, y, gain, 0.25, after), POSREF_OK);
        for (int row = 0; row < 6; row++) {
            double z[12], squares = 0;
            for (int k = 0; k < 12; k++)
                z[k] = x[row * 12 + k] * (after ? 1 : gain[k]);
            for (int k = 0; k < 12 && !after; k++)
                squares += x[row * 12 + k] * x[row * 12 + k];
            for (int i = 0; i < 4; i++) {
                const double a = z[4 + 2 * i], b = z[5 + 2 * i];
                const double cosine = c[row / 2 * 4 + i], sine = s[row / 2 * 4 + i];
                z[4 + 2 * i] = a * cosine - b * sine;
                z[5 + 2 * i] = b * cosine + a * sine;
            }
            for (int k = 0; k < 12 && after; k++)
                squares += z[k] * z[k];
            for (int k = 0; k < 12; k++)
                ck_assert_close(y[row * 12 + k],
                                z[k] * (after ? gain[k] : 1) / sqrt(squares / 12 + 0.25), 4e-15);
        }
    }
    evaluation_close(&e);
}
END_TEST

START_TEST(what_is_refused)
{
    static const struct {
        const char *spec, *key;
        double gain, eps;
    } cases[] = {
        {"dim=2", "eps", 1, 0},
        {"dim=2", "eps", 1, -1},
        {"dim=2", "eps", 1, HUGE_VAL},
        {"dim=2", "gain", 1 + 0x1p-52, 1},
        {"dim=2", "gain", HUGE_VAL, 1},
        {"dim=2 pairing=mismatched", "pairing", 1, 1},
        {"dim=2 xpos_scale_base=512", "pairing", 1, 1},
        {"dim=4", "x", 1, 1},
    };
    const double x[] = {1 + 0x1p-50, 1}, position = 1;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const double gain[] = {cases[k].gain, cases[k].gain, 1, 1};
        double y[4];
        struct evaluation e;
        evaluation_open(&e, cases[k].spec);
        evaluation_positions(&e, &position, 1);
        evaluation_input(&e, "x", x, 2, (const int64_t[]){1, 2});
        ck_assert_int_eq(run_normed(&e, y, gain, cases[k].eps, k % 2), POSREF_BAD_INPUT);
        ck_assert_str_eq(e.err.key, cases[k].key);
        evaluation_close(&e);
    }
}
END_TEST

/* ---- kernels ---- */

enum wrong { RIGHT, EPS_OUTSIDE, EPS_MISSING, ALL_HEADS, ONE_ADDED, NO_WEIGHT, OTHER_ORDER,
             MEAN_SUBTRACTED, REST_NOT_NORMED, N_WRONG };

struct kernel {
    enum posref_dtype dtype;
    bool low; /* every step is rounded to the dtype */
    enum wrong wrong;
    int heads, dim, pairs;
    double base, eps;
    const double *gain;
};

static double step(const struct kernel *k, double value)
{
    if (k->dtype == POSREF_F64)
        return value;
    return k->low ? posref_rounded(value, k->dtype) : (double)(float)value;
}

static double factor_of(const struct kernel *k, const double *x, int n)
{
    double sum = 0; /* float32 whatever the dtype, one after another: the worst order */
    for (int i = 0; i < n; i++) {
        const double square = x[i] * x[i];
        sum = k->dtype == POSREF_F64 ? sum + square : (double)((float)sum + (float)square);
    }
    const double mean = sum / n;
    if (k->wrong == EPS_OUTSIDE)
        return 1 / (sqrt(mean) + k->eps);
    const double root = sqrt(mean + (k->wrong == EPS_MISSING ? 0 : k->eps));
    return k->dtype == POSREF_F64 ? 1 / root : (double)(1 / (float)root);
}

static void norm(const struct kernel *k, double *x)
{
    const double whole = factor_of(k, x, k->heads * k->dim);
    for (int h = 0; h < k->heads; h++, x += k->dim) {
        double mean = 0;
        for (int c = 0; c < k->dim && k->wrong == MEAN_SUBTRACTED; c++)
            mean += x[c] / k->dim;
        for (int c = 0; c < k->dim; c++)
            x[c] -= mean;
        const double factor = k->wrong == ALL_HEADS ? whole : factor_of(k, x, k->dim);
        const int n = k->wrong == REST_NOT_NORMED ? 2 * k->pairs : k->dim;
        for (int c = 0; c < n; c++) {
            const double gain = k->wrong == NO_WEIGHT ? 1 : k->gain[c] + (k->wrong == ONE_ADDED);
            x[c] = step(k, step(k, x[c] * factor) * gain);
        }
    }
}

static void turn(const struct kernel *k, double *x, double position)
{
    for (int h = 0; h < k->heads; h++, x += k->dim)
        for (int i = 0; i < k->pairs; i++) {
            const double theta = pow(k->base, -(double)i / k->pairs);
            const double angle = k->dtype == POSREF_F64 ? position * theta
                                                        : (double)((float)position * (float)theta);
            const double c = step(k, cos(angle)), s = step(k, sin(angle));
            const double a = x[i], b = x[i + k->pairs];
            x[i] = step(k, step(k, a * c) - step(k, b * s));
            x[i + k->pairs] = step(k, step(k, b * c) + step(k, a * s));
        }
}

/* The judgement of a kernel's output on four tokens of three heads. */
static struct posref_judgement judge_kernel(struct kernel *k, int dim, int rotary, bool after)
{
    static const double positions[] = {0, 1, 77, 4095};
    static double x[MAX_ELEMENTS], y[MAX_ELEMENTS], gain[256], wide[MAX_ELEMENTS];
    const int64_t shape[] = {4, 3, dim}, width = dim;
    struct evaluation e;
    struct posref_judgement out;
    struct posref_tensors actual = {.n = 1};
    char text[64];
    uint64_t seed = 11;
    k->heads = 3;
    k->dim = dim;
    k->pairs = rotary / 2;
    k->base = 10000;
    k->eps = 0.125;
    k->gain = gain;
    for (int i = 0; i < 12 * dim; i++)
        x[i] = ldexp(posref_rounded(next_random(&seed), POSREF_BF16), i / dim % 3 - 2);
    for (int i = 0; i < dim; i++)
        gain[i] = (double)(33 + 37 * i % 131) / 64;
    snprintf(text, sizeof text, "dim=%d rotary_dim=%d", dim, rotary);
    evaluation_open(&e, text);
    evaluation_positions(&e, positions, 4);
    evaluation_input(&e, "x", x, 3, shape);
    ck_assert_int_eq(run_normed(&e, y, gain, k->eps, after), POSREF_OK);
    memcpy(wide, x, sizeof wide);
    const bool first = after == (k->wrong == OTHER_ORDER);
    for (int t = 0; t < 4; t++) {
        if (first)
            norm(k, wide + t * 3 * dim);
        turn(k, wide + t * 3 * dim, positions[t]);
        if (!first)
            norm(k, wide + t * 3 * dim);
    }
    evaluation_input(&e, after ? "post_norm_weight" : "norm_weight", gain, 1, &width);
    struct posref_tensors golden = {.n = 1};
    golden.item[0] = *posref_tensors_find(&e.in, "x");
    snprintf(golden.item[0].name, sizeof golden.item[0].name, "y");
    golden.item[0].data = wide;
    ck_assert_int_eq(posref_tensor_narrow(&actual.item[0], &golden.item[0], k->dtype, &e.arena,
                                          &e.err), POSREF_OK);
    golden.item[0].data = y;
    ck_assert_int_eq(posref_judge(&out, &e.spec, POSREF_OP_ROTATE, &e.in, &golden, &actual,
                                  k->dtype, posref_grade_default(k->dtype), &e.arena, &e.err),
                     POSREF_OK);
    evaluation_close(&e);
    return out;
}

static const int sizes[][2] = {{12, 8}, {64, 64}, {96, 48}, {256, 256}};
#define N_SIZES 4

START_TEST(honest_kernels_pass)
{
    for (int s = 0; s < N_SIZES; s++)
        for (int after = 0; after < 2; after++)
            for (int dtype = POSREF_F64; dtype <= POSREF_BF16; dtype++)
                for (int low = 0; low < (dtype >= POSREF_F16 ? 2 : 1); low++) {
                    struct kernel k = {.dtype = (enum posref_dtype)dtype, .low = low};
                    const struct posref_judgement j = judge_kernel(&k, sizes[s][0], sizes[s][1],
                                                                   after);
                    const enum posref_grade want = dtype == POSREF_F64 ? POSREF_GRADE_EXACT
                                                   : low               ? POSREF_GRADE_LOW
                                                                       : POSREF_GRADE_FLOAT32;
                    ck_assert_msg(j.pass && j.grade <= want,
                                  "dim %d after %d %s low %d: grade %s, %.3g limits",
                                  sizes[s][0], after, posref_dtype_name(k.dtype), low,
                                  posref_grade_name(j.grade), j.error_limits);
                }
}
END_TEST

START_TEST(wrong_kernels_fail)
{
    for (int s = 0; s < N_SIZES; s++)
        for (int after = 0; after < 2; after++)
            for (int wrong = RIGHT + 1; wrong < N_WRONG; wrong++)
                for (int dtype = POSREF_F64; dtype <= POSREF_BF16; dtype++) {
                    struct kernel k = {.dtype = (enum posref_dtype)dtype,
                                       .wrong = (enum wrong)wrong};
                    const bool turns_all = sizes[s][0] == sizes[s][1];
                    if (wrong == REST_NOT_NORMED && turns_all)
                        continue;
                    const struct posref_judgement j = judge_kernel(&k, sizes[s][0], sizes[s][1],
                                                                   after);
                    ck_assert_msg(j.grade == POSREF_GRADE_FAIL, "dim %d after %d %s wrong %d: %s",
                                  sizes[s][0], after, posref_dtype_name(k.dtype), wrong,
                                  posref_grade_name(j.grade));
                }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {ties_are_decided, near_the_formula, what_is_refused,
                                  honest_kernels_pass, wrong_kernels_fail};
    return RUN_EVALUATIONS("norm", tests);
}
