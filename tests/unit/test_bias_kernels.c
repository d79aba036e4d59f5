/* SPDX-License-Identifier: Apache-2.0 */
/* Biases that are computed: KERPLE, FIRE, Sandwich, SwinV2; and ALiBi's alignments and slopes. */
#include "eval_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double row[] = {0, 1, 4, 9, 100};

static void open_rows(struct evaluation *e, const char *spec, const double *q, int64_t n_q,
                             const double *k, int64_t n_k)
{
    evaluation_open(e, spec);
    evaluation_input(e, "q_positions", q, 1, &n_q);
    evaluation_input(e, "k_positions", k, 1, &n_k);
}

START_TEST(kerple_kernels)
{
    struct evaluation e;
    const double r1[] = {1, 0.5}, r2[] = {1, 0.25}, half[] = {0.5, 2};
    open_rows(&e, "scheme=kerple num_heads=2", (const double[]){0}, 1, row, 5);
    evaluation_input(&e, "r1", r1, 1, (const int64_t[]){2});
    evaluation_input(&e, "r2", r2, 1, (const int64_t[]){2});
    const double *bias = evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
    for (int j = 0; j < 5; j++) {
        ck_assert_close(bias[j], -log1p(row[j]), 1e-15);
        ck_assert_close(bias[5 + j], -0.5 * log1p(row[j] / 4), 1e-15);
    }
    ck_assert_same(bias, (const double[]){0.0}, 1); /* not -0 */
    evaluation_close(&e);
    open_rows(&e, "scheme=kerple kernel=power num_heads=2", (const double[]){0}, 1, row, 5);
    evaluation_input(&e, "r1", r1, 1, (const int64_t[]){2});
    evaluation_input(&e, "r2", half, 1, (const int64_t[]){2});
    bias = evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
    ck_assert_same(bias, ((const double[]){0, -1, -2, -3, -10, 0, -0.5, -8, -40.5, -5000}), 10);
    evaluation_close(&e);
}
END_TEST

START_TEST(kerple_parameters)
{
    struct evaluation e;
    const double r1[] = {1}, zero[] = {0}, three[] = {3};
    for (int which = 0; which < 3; which++) {
        open_rows(&e, which == 2 ? "scheme=kerple num_heads=1 kernel=power"
                               : "scheme=kerple num_heads=1", row, 1, row, 5);
        evaluation_input(&e, "r1", which == 0 ? zero : r1, 1, (const int64_t[]){1});
        evaluation_input(&e, "r2", which == 1 ? zero : three, 1, (const int64_t[]){1});
        evaluation_refused(&e, POSREF_OP_BIAS, which ? "r2" : "r1");
        evaluation_close(&e);
    }
}
END_TEST

/* A bias of 0 at distance 0, symmetric, and divided by 8 (h + 1) / H. */
START_TEST(sandwich_sums)
{
    struct evaluation e;
    open_rows(&e, "scheme=sandwich dim=8 num_heads=4", row, 5, row, 5);
    const double *bias = evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
    for (int at = 0; at < 25; at++) {
        const double d = row[at / 5] - row[at % 5];
        double want = cos(d * 0.1) + cos(d * 0.01) + cos(d * 0.001) + cos(d * 0.0001) - 4;
        for (int h = 0; h < 4; h++)
            ck_assert_close(bias[25 * h + at], want * 4 / (8 * (h + 1)), 1e-15);
        ck_assert_double_eq(bias[at], bias[at % 5 * 5 + at / 5]);
        ck_assert(d != 0 || (bias[at] == 0 && !signbit(bias[at])));
    }
    evaluation_close(&e);
}
END_TEST

static double fire_input(double q, double k, double epsilon)
{
    return log1p(0.1 * fabs(q - k)) / (log1p(0.1 * fmax(8, q)) + epsilon);
}

START_TEST(fire_network)
{
    const char *const specs[] = {
        "scheme=fire num_heads=2 log_scale=0.1 threshold=8 mlp_width=3",
        "scheme=fire num_heads=2 log_scale=0.1 threshold=8 mlp_width=3 epsilon=0.001"};
    const double w1[] = {1, -2, 0.5}, b1[] = {0.25, 0.5, -1}, w2[] = {1, 2, 3, -1, 0.5, 4};
    const double b2[] = {0.125, -0.5};
    for (int s = 0; s < 2; s++) {
        struct evaluation e;
        open_rows(&e, specs[s], row, 5, row, 5);
        evaluation_input(&e, "w1", w1, 2, (const int64_t[]){3, 1});
        evaluation_input(&e, "b1", b1, 1, (const int64_t[]){3});
        evaluation_input(&e, "w2", w2, 2, (const int64_t[]){2, 3});
        evaluation_input(&e, "b2", b2, 1, (const int64_t[]){2});
        const double *bias = evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
        for (int at = 0; at < 50; at++) {
            double x = fire_input(row[at / 5 % 5], row[at % 5], s ? 0.001 : 0), sum = b2[at / 25];
            for (int m = 0; m < 3; m++)
                sum += w2[3 * (at / 25) + m] * fmax(0, w1[m] * x + b1[m]);
            ck_assert_close(bias[at], sum, 1e-14);
        }
        ck_assert_double_eq(bias[0], 0.125 + 0.25 + 2 * 0.5); /* distance 0: exact */
        evaluation_close(&e);
    }
}
END_TEST

/* The corner of a window has log2(9)/3; one eighth of it 1/3; and a window one token wide 0. */
START_TEST(swinv2_coordinates)
{
    struct evaluation e;
    const double q[] = {0, 0}, k[] = {8, 1, 0, 0, 0, 7}; /* keys 8:0, 1:0, 0:7 */
    evaluation_open(&e, "scheme=swinv2 window_size=9,9");
    evaluation_input(&e, "q_positions", q, 2, (const int64_t[]){2, 1});
    evaluation_input(&e, "k_positions", k, 2, (const int64_t[]){2, 3});
    const double *c = evaluation_run(&e, POSREF_OP_TABLE, "coordinates", NULL);
    ck_assert_close(c[0], -log2(9) / 3, 1e-15);
    ck_assert_double_eq(c[2], -1.0 / 3);
    ck_assert_double_eq(c[5], -1);
    ck_assert_double_eq(c[1], 0);
    evaluation_close(&e);
    evaluation_open(&e, "scheme=swinv2 window_size=1,3");
    evaluation_input(&e, "positions", (const double[]){0, 0, 0, 2}, 2, (const int64_t[]){2, 2});
    c = evaluation_run(&e, POSREF_OP_TABLE, "coordinates", NULL);
    ck_assert_double_eq(c[2], 0);
    ck_assert_close(c[3], -log2(9) / 3, 1e-15);
    evaluation_close(&e);
}
END_TEST

/* All hidden channels off: sigmoid(0) = 1/2, so 8 exactly. */
START_TEST(swinv2_bias)
{
    struct evaluation e;
    const double positions[] = {0, 1, 0, 2}, w1[] = {1, 0.5, -1, 2}, b1[] = {0.25, -0.5};
    const double w2[] = {0.5, -0.25}, off[] = {-9, -9};
    for (int dead = 0; dead < 2; dead++) {
        evaluation_open(&e, "scheme=swinv2 window_size=4 num_heads=1 mlp_width=2");
        evaluation_input(&e, "positions", positions, 2, (const int64_t[]){2, 2});
        evaluation_input(&e, "w1", w1, 2, (const int64_t[]){2, 2});
        evaluation_input(&e, "b1", dead ? off : b1, 1, (const int64_t[]){2});
        evaluation_input(&e, "w2", w2, 2, (const int64_t[]){1, 2});
        const double *bias = evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
        const double y = log2(1 + 8.0 / 3) / 3, x = log2(1 + 16.0 / 3) / 3;
        if (dead) {
            for (int at = 0; at < 4; at++)
                ck_assert_double_eq(bias[at], 8);
        } else {
            double sum = 0.5 * fmax(0, y + 0.5 * x + 0.25) - 0.25 * fmax(0, 2 * x - y - 0.5);
            ck_assert_close(bias[2], 16 / (1 + exp(-sum)), 1e-14);
            ck_assert_close(bias[0], 16 / (1 + exp(-0.125)), 1e-14);
        }
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(alibi_alignment)
{
    struct evaluation e;
    const double q[] = {5, 6}, k[] = {2, 3, 4, 5, 6}, moved[] = {2, 3};
    open_rows(&e, "scheme=alibi num_heads=2 form=symmetric align=top_left", q, 2, k, 5);
    double got[20];
    memcpy(got, evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL), sizeof got);
    evaluation_close(&e);
    open_rows(&e, "scheme=alibi num_heads=2 form=symmetric", moved, 2, k, 5);
    ck_assert_same(got, evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL), 20);
    evaluation_close(&e);
    open_rows(&e, "scheme=alibi num_heads=2 form=symmetric align=bottom_right", q, 2, k, 5);
    const double *bias = evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
    for (int at = 0; at < 20; at++) /* flash-attn: |i + Sk - Sq - j| */
        ck_assert_double_eq(bias[at],
                            -abs(at / 5 % 2 + 5 - 2 - at % 5) * (at < 10 ? 0x1p-4 : 0x1p-8));
    evaluation_close(&e);
}
END_TEST

START_TEST(alibi_slope_rules)
{
    struct evaluation e;
    evaluation_open(&e, "scheme=alibi num_heads=12 slopes=geometric");
    const double *slopes = evaluation_run(&e, POSREF_OP_FREQUENCIES, "slopes", NULL);
    for (int h = 0; h < 12; h++)
        ck_assert_close(slopes[h], exp2(-8.0 * (h + 1) / 12), 1e-16);
    ck_assert_double_eq(slopes[2], 0.25); /* whole exponents are exact */
    ck_assert_double_eq(slopes[11], 0x1p-8);
    evaluation_close(&e);
    evaluation_open(&e, "scheme=alibi num_heads=12 slopes=published_bf16");
    slopes = evaluation_run(&e, POSREF_OP_FREQUENCIES, "slopes", NULL);
    ck_assert_double_eq(slopes[0], 0.5);
    ck_assert_double_eq(slopes[8], 0.70703125);     /* 2^-0.5 in bfloat16 */
    ck_assert_double_eq(slopes[11], 0.08837890625); /* 2^-3.5 */
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {kerple_kernels,     kerple_parameters, sandwich_sums,
                                  fire_network,       swinv2_coordinates, swinv2_bias,
                                  alibi_alignment,    alibi_slope_rules};
    return RUN_EVALUATIONS("bias_kernels", tests);
}
