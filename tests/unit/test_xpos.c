/* SPDX-License-Identifier: Apache-2.0 */
/* xPos: values from mpmath, what drops out of scores, exact and refused cases. */
#include "eval_fixture.h"
#include "vectors/vectors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define D8 "dim=8 pairing=interleaved xpos_scale_base=512 "

static double table_at(const char *spec, double position, const char *name, int pair)
{
    struct evaluation e;
    evaluation_open(&e, spec);
    evaluation_positions(&e, &position, 1);
    evaluation_run(&e, POSREF_OP_TABLE, "cos", NULL);
    const double value = ((const double *)posref_tensors_find(&e.out, name)->data)[pair];
    evaluation_close(&e);
    return value;
}

/* zeta = 2/7, 13/28, 9/14, 23/28 of 4 pairs. */
START_TEST(known_values)
{
    ck_assert_double_eq(table_at(D8, 600, "cos", 0), -0.230142038498656381550263);
    ck_assert_double_eq(table_at(D8, 600, "sin", 3), 0.448394248468916008662881);
    ck_assert_double_eq(table_at(D8 "xpos_side=key", 600, "cos", 0), -4.33666060216646674356227);
    ck_assert_double_eq(table_at(D8 "xpos_center=300", 600, "cos", 1), -0.607550426066080327542923);
}
END_TEST

START_TEST(exact_where_the_scale_is_rational)
{
    /* At the centre the scale is 1; a scale base from it, zeta itself; at 0 the cosine is 1. */
    ck_assert_double_eq(table_at(D8 "xpos_center=5", 5, "cos", 2), table_at("dim=8", 5, "cos", 2));
    ck_assert_double_eq(table_at(D8 "xpos_center=-512", 0, "cos", 0), 2.0 / 7);
    ck_assert_double_eq(table_at(D8 "xpos_center=512", 0, "cos", 0), 3.5);
    ck_assert_double_eq(table_at(D8 "xpos_center=-512", 0, "sin", 0), 0);
    /* 40 channels: pair 6 has 1/2, pair 13 3/4, and 3^34 has 54 bits, a tie that goes to even. */
#define D40 "dim=40 xpos_scale_base=512 xpos_side=key "
    ck_assert_double_eq(table_at(D40 "xpos_center=5120", 0, "cos", 6), 0x1p-10);
    ck_assert_double_eq(table_at(D40 "xpos_center=17408", 0, "cos", 13), 0x1.d9fe779881944p-15);
    /* 18 channels: pair 2 has 4/9, whose root is 2/3: x 2/3 is exact for 3 and 6 */
    struct evaluation e;
    const double at = 0;
    double x[18] = {0};
    x[2] = 3;
    x[11] = 6;
    evaluation_open(&e, "dim=18 xpos_scale_base=512 xpos_center=256 xpos_side=key");
    evaluation_positions(&e, &at, 1);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){1, 18});
    const double *y = evaluation_run(&e, POSREF_OP_ROTATE, "y", NULL);
    ck_assert_double_eq(y[2], 2);
    ck_assert_double_eq(y[11], 4);
    evaluation_close(&e);
}
END_TEST

enum { N = 3, DIM = 8 };

static void scores_of(double *out, const char *spec, const double *q_at, const double *k_at)
{
    struct evaluation e;
    double q[N * DIM], k[N * DIM];
    uint64_t seed = 5;
    for (int n = 0; n < N * DIM; n++) {
        q[n] = next_random(&seed);
        k[n] = next_random(&seed);
    }
    evaluation_open(&e, spec);
    evaluation_input(&e, "q_positions", q_at, 1, (const int64_t[]){N});
    evaluation_input(&e, "k_positions", k_at, 1, (const int64_t[]){N});
    evaluation_input(&e, "q", q, 2, (const int64_t[]){N, DIM});
    evaluation_input(&e, "k", k, 2, (const int64_t[]){N, DIM});
    memcpy(out, evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL), N * N * sizeof *out);
    evaluation_close(&e);
}

static const double q_at[N] = {5, 700, 64}, k_at[N] = {0, 5, 300};

START_TEST(scores_depend_on_the_distance_alone)
{
    double here[N * N], there[N * N], centred[N * N], plain[N * N], q[N], k[N];
    for (int n = 0; n < N; n++) {
        q[n] = q_at[n] + 70001;
        k[n] = k_at[n] + 70001;
    }
    scores_of(here, D8, q_at, k_at);
    scores_of(there, D8, q, k);
    scores_of(centred, D8 "xpos_center=350.5", q_at, k_at);
    ck_assert_same(here, there, N * N);
    ck_assert_same(here, centred, N * N);
    scores_of(plain, "dim=8 pairing=interleaved", q_at, k_at);
    ck_assert_double_eq(here[1], plain[1]); /* distance 0 */
    ck_assert_double_ne(here[3], plain[3]);
}
END_TEST

/* q and k scaled apart multiply to the scores: rotated rows, each with its own side. */
START_TEST(scores_are_products_of_scaled_rows)
{
    double want[N * N], q[N * DIM], k[N * DIM], y[2][N * DIM];
    uint64_t seed = 5;
    for (int n = 0; n < N * DIM; n++) {
        q[n] = next_random(&seed);
        k[n] = next_random(&seed);
    }
    scores_of(want, D8 "softmax_scale=1", q_at, k_at);
    rotate_rows(y[0], D8 "xpos_center=77", q_at, q, N);
    rotate_rows(y[1], D8 "xpos_center=77 xpos_side=key", k_at, k, N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0, size = 0;
            for (int c = 0; c < DIM; c++) {
                sum += y[0][i * DIM + c] * y[1][j * DIM + c];
                size += fabs(y[0][i * DIM + c] * y[1][j * DIM + c]);
            }
            ck_assert_close(sum, want[i * N + j], 4e-15 * size);
        }
}
END_TEST

START_TEST(refused)
{
    static const struct { const char *spec, *key; } rows[] = {
        {"dim=8 xpos_side=key", "xpos_side"},
        {"dim=8 xpos_center=1", "xpos_center"},
        {D8 "scaling=yarn factor=4 original_max_position_embeddings=64", "xpos_scale_base"},
        {"dim=8 xpos_scale_base=512 axes_dims=4,4", "xpos_scale_base"},
        {"dim=8 xpos_scale_base=512 pairing=mismatched", "xpos_scale_base"},
        {D8 "attention_kind=linear", "xpos_scale_base"},
        {"dim=8 xpos_scale_base=0", "xpos_scale_base"},
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        struct posref_spec spec;
        struct posref_error err = {{0}, {0}};
        enum posref_status status = posref_spec_parse(&spec, rows[n].spec, &err);
        if (status == POSREF_OK)
            status = posref_spec_complete(&spec, &err);
        ck_assert_msg(status == POSREF_BAD_INPUT && strcmp(err.key, rows[n].key) == 0, "%s: %s %s",
                      rows[n].spec, err.key, err.text);
    }
    struct evaluation e;
    const double far = 512 * 512 + 1;
    evaluation_open(&e, D8);
    evaluation_positions(&e, &far, 1);
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        known_values, exact_where_the_scale_is_rational, scores_depend_on_the_distance_alone,
        scores_are_products_of_scaled_rows, refused,
    };
    return RUN_EVALUATIONS("xpos", tests);
}
