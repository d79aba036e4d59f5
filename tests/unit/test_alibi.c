/* SPDX-License-Identifier: Apache-2.0 */
/* ALiBi: published slopes, the three forms, and softmax weights. */
#include "eval_fixture.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void slopes_of(double *out, const char *spec)
{
    struct evaluation e;
    int64_t count;
    evaluation_open(&e, spec);
    const double *slopes = evaluation_run(&e, POSREF_OP_FREQUENCIES, "slopes", &count);
    ck_assert_int_eq(count, e.spec.num_heads);
    memcpy(out, slopes, (size_t)count * sizeof *out);
    evaluation_close(&e);
}

START_TEST(powers_of_two_are_exact)
{
    double slopes[16];
    slopes_of(slopes, "scheme=alibi num_heads=8");
    for (int h = 0; h < 8; h++)
        ck_assert_double_eq(slopes[h], ldexp(1, -(h + 1)));
    slopes_of(slopes, "scheme=alibi num_heads=1");
    ck_assert_double_eq(slopes[0], 0x1p-8);
    slopes_of(slopes, "scheme=alibi num_heads=16");
    for (int h = 1; h < 16; h += 2)
        ck_assert_double_eq(slopes[h], ldexp(1, -(h + 1) / 2));
    ck_assert_double_eq(slopes[0], 0.70710678118654752440);
    slopes_of(slopes, "scheme=alibi num_heads=4 alibi_bias_max=256");
    ck_assert_double_eq(slopes[3], 0x1p-256);
}
END_TEST

START_TEST(other_head_counts)
{
    double slopes[112];
    const double twelve[] = {0.5, 0.25, 0.125, 0.0625, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8,
                             0.70710678118654752440, 0.35355339059327376220,
                             0.17677669529663688110, 0.088388347648318440550};
    slopes_of(slopes, "scheme=alibi num_heads=12");
    ck_assert_same(slopes, twelve, 12);
    slopes_of(slopes, "scheme=alibi num_heads=71");
    ck_assert_double_eq(slopes[70], 0.56939431737834583);
    slopes_of(slopes, "scheme=alibi num_heads=3"); /* c = 2: 2^-4, 2^-8, and 2^-2 of four heads */
    ck_assert_same(slopes, ((const double[]){0x1p-4, 0x1p-8, 0x1p-2}), 3);
    slopes_of(slopes, "scheme=alibi num_heads=112");
    double doubled[128];
    slopes_of(doubled, "scheme=alibi num_heads=128");
    for (int h = 64; h < 112; h++)
        ck_assert_double_eq(slopes[h], doubled[2 * (h - 64)]);
    for (int h = 0; h < 64; h++)
        ck_assert_double_eq(slopes[h], doubled[2 * h + 1]);
}
END_TEST

static void grid(struct evaluation *e, const char *spec, const double *q, int64_t n_q,
                 const double *k, int64_t n_k)
{
    evaluation_open(e, spec);
    evaluation_input(e, "q_positions", q, 1, &n_q);
    evaluation_input(e, "k_positions", k, 1, &n_k);
}

START_TEST(forms)
{
    const double q[] = {2, 5}, k[] = {0, 2, 7};
    static const struct {
        const char *spec;
        double want[6]; /* over the slope 2^-8 */
    } cases[] = {
        {"scheme=alibi num_heads=1", {-2, 0, 5, -5, -3, 2}},
        {"scheme=alibi num_heads=1 form=row", {0, 2, 7, 0, 2, 7}},
        {"scheme=alibi num_heads=1 form=symmetric", {-2, 0, -5, -5, -3, -2}},
    };
    for (size_t c = 0; c < 3; c++) {
        struct evaluation e;
        int64_t count;
        grid(&e, cases[c].spec, q, 2, k, 3);
        const double *bias = evaluation_run(&e, POSREF_OP_BIAS, "bias", &count);
        ck_assert_int_eq(count, 6);
        for (int at = 0; at < 6; at++) {
            ck_assert_double_eq(bias[at], cases[c].want[at] * 0x1p-8);
            ck_assert(bias[at] != 0 || !signbit(bias[at])); /* an exact zero is +0 */
        }
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(bias_is_rounded_once)
{
    /* Slope 2^-0.5 of head 8 of 12 times 1048575 and times a distance that no double holds:
     * mpmath. A slope that was rounded first would give other last bits. */
    const double q[] = {0, -0x1p-30}, k[] = {1048575, 2147483647};
    struct evaluation e;
    grid(&e, "scheme=alibi num_heads=12", q, 2, k, 2);
    const double *bias = evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL) + 8 * 4;
    ck_assert_double_eq(bias[0], 741454.493082684070398615);
    ck_assert_double_eq(bias[1], 1518500249.28091806503915);
    ck_assert_double_eq(bias[3], 1518500249.28091806569769);
    evaluation_close(&e);
    /* Slope 1/2 and a distance of 54 bits: a tie, to even; with one bit more, far below, none. */
    const double far[] = {2147483647}, near[] = {0x1p-23, 0x3p-23, 0x1.0000000000001p-23};
    grid(&e, "scheme=alibi num_heads=8", near, 3, far, 1);
    bias = evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
    ck_assert_double_eq(bias[0], 0x1.fffffffcp29);
    ck_assert_double_eq(bias[1], 0x1.fffffffbffffep29);
    ck_assert_double_eq(bias[2], 0x1.fffffffbfffffp29);
    evaluation_close(&e);
}
END_TEST

START_TEST(positions_are_the_default_of_both)
{
    const double at[] = {4, 9};
    struct evaluation e;
    evaluation_open(&e, "scheme=alibi num_heads=2");
    evaluation_positions(&e, at, 2);
    const double *bias = evaluation_run(&e, POSREF_OP_ALL, "bias", NULL);
    ck_assert_int_eq(e.out.n, 2);
    ck_assert_same(bias, ((const double[]){0, 5 * 0x1p-4, -5 * 0x1p-4, 0}), 4);
    evaluation_close(&e);
    evaluation_open(&e, "scheme=alibi num_heads=2");
    evaluation_run(&e, POSREF_OP_ALL, "slopes", NULL);
    ck_assert_int_eq(e.out.n, 1);
    evaluation_close(&e);
}
END_TEST

static void weights_of(double *out, const char *spec, const double *q, int64_t n_q,
                       const double *k, int64_t n_k, const double *logits)
{
    struct evaluation e;
    int64_t count;
    grid(&e, spec, q, n_q, k, n_k);
    evaluation_input(&e, "logits", logits, 3, (const int64_t[]){e.spec.num_heads, n_q, n_k});
    const double *weights = evaluation_run(&e, POSREF_OP_WEIGHTS, "weights", &count);
    ck_assert_int_eq(count, e.spec.num_heads * n_q * n_k);
    memcpy(out, weights, (size_t)count * sizeof *out);
    evaluation_close(&e);
}

START_TEST(weights_are_the_softmax)
{
    enum { HEADS = 3, N_Q = 2, N_K = 5, N = HEADS * N_Q * N_K };
    const double q[] = {3, 4}, k[] = {0, 1, 2, 3, 4}, slopes[] = {0x1p-4, 0x1p-8, 0x1p-2};
    double logits[N], weights[N], row_form[N];
    uint64_t seed = 5;
    for (int at = 0; at < N; at++)
        logits[at] = next_random(&seed);
    weights_of(weights, "scheme=alibi num_heads=3", q, N_Q, k, N_K, logits);
    for (int row = 0; row < HEADS * N_Q; row++) {
        long double sum = 0, total = 0, term[N_K];
        for (int j = 0; j < N_K; j++) {
            double bias = slopes[row / N_Q] * (k[j] - q[row % N_Q]);
            term[j] = expl((long double)logits[row * N_K + j] + (long double)bias);
            sum += term[j];
        }
        for (int j = 0; j < N_K; j++) {
            double want = (double)(term[j] / sum);
            ck_assert_close(weights[row * N_K + j], want, 2e-16 * want);
            total += (long double)weights[row * N_K + j];
        }
        ck_assert_close((double)total, 1, 4e-16);
    }
    /* A constant a row changes nothing. */
    weights_of(row_form, "scheme=alibi num_heads=3 form=row", q, N_Q, k, N_K, logits);
    ck_assert_same(row_form, weights, N);
}
END_TEST

START_TEST(weights_of_hard_rows)
{
    const double q = 7, one = 3, same[] = {7, 7, 7}, two[] = {6, 8};
    double weights[3];
    weights_of(weights, "scheme=alibi num_heads=1", &q, 1, &one, 1, &one);
    ck_assert_double_eq(weights[0], 1);
    weights_of(weights, "scheme=alibi num_heads=1", &q, 1, same, 3, ((const double[]){5, 5, 5}));
    for (int j = 0; j < 3; j++)
        ck_assert_double_eq(weights[j], 1.0 / 3);
    weights_of(weights, "scheme=alibi num_heads=1 form=symmetric", &q, 1, two, 2,
               ((const double[]){-1, -1}));
    ck_assert_same(weights, ((const double[]){0.5, 0.5}), 2);
    /* e^-745 is subnormal, e^-1000 is nothing, and logits may be as large as doubles are. */
    weights_of(weights, "scheme=alibi num_heads=1", &q, 1, same, 3,
               ((const double[]){0, -745, -1000}));
    ck_assert_same(weights, ((const double[]){1, 4.9406564584124654e-324, 0}), 3);
    weights_of(weights, "scheme=alibi num_heads=1", &q, 1, same, 3,
               ((const double[]){DBL_MAX, -DBL_MAX, DBL_MAX}));
    ck_assert_same(weights, ((const double[]){0.5, 0, 0.5}), 3);
    /* 1e15 + 0.5 against 1e15: the difference counts, not the size */
    weights_of(weights, "scheme=alibi num_heads=1", &q, 1, same, 3,
               ((const double[]){1e15, 1e15 + 0.5, 1e15 - 900}));
    ck_assert_close(weights[0], 1 / (1 + exp(0.5)), 1e-16);
}
END_TEST

START_TEST(bad_inputs_are_named)
{
    struct evaluation e;
    double values[64] = {0};
    evaluation_open(&e, "scheme=alibi num_heads=2");
    evaluation_refused(&e, POSREF_OP_BIAS, "positions");
    evaluation_refused(&e, POSREF_OP_ROTATE, "op");
    evaluation_input(&e, "q_positions", values, 1, (const int64_t[]){3});
    evaluation_refused(&e, POSREF_OP_ALL, "positions");
    evaluation_positions(&e, values, 2);
    evaluation_refused(&e, POSREF_OP_WEIGHTS, "logits");
    evaluation_input(&e, "logits", values, 3, (const int64_t[]){2, 2, 3});
    evaluation_refused(&e, POSREF_OP_WEIGHTS, "logits"); /* [2, 3, 2] is wanted */
    e.in.n = 2;
    values[7] = (double)INFINITY;
    evaluation_input(&e, "logits", values, 3, (const int64_t[]){2, 3, 2});
    evaluation_refused(&e, POSREF_OP_ALL, "logits");
    e.in.n = 0;
    evaluation_input(&e, "x", values, 1, (const int64_t[]){3});
    evaluation_refused(&e, POSREF_OP_ALL, "x");
    evaluation_close(&e);
    /* 1024 heads times 16384 and one pairs of positions: one row too many */
    static const double many[16385];
    evaluation_open(&e, "scheme=alibi num_heads=1024");
    evaluation_input(&e, "q_positions", many, 1, (const int64_t[]){1});
    evaluation_input(&e, "k_positions", many, 1, (const int64_t[]){16385});
    evaluation_refused(&e, POSREF_OP_BIAS, "bias");
    evaluation_close(&e);
    static const double more[65537];
    evaluation_open(&e, "scheme=alibi num_heads=1");
    evaluation_positions(&e, more, 65537);
    evaluation_refused(&e, POSREF_OP_BIAS, "positions");
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        powers_of_two_are_exact, other_head_counts, forms, bias_is_rounded_once,
        positions_are_the_default_of_both, weights_are_the_softmax, weights_of_hard_rows,
        bad_inputs_are_named,
    };
    return RUN_EVALUATIONS("alibi", tests);
}
