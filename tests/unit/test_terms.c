/* SPDX-License-Identifier: Apache-2.0 */
/* Scores in several terms: Shaw's vectors and Transformer-XL's four terms, by hand-made values, by
 * their sum, by common shifts, and by the shift of a matrix that kernels use. */
#include "eval_fixture.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void random_values(double *x, int n, uint64_t seed)
{
    for (int k = 0; k < n; k++)
        x[k] = next_random(&seed);
}

static void rows(struct evaluation *e, const char *name, const double *x, int64_t n, int64_t dim)
{
    evaluation_input(e, name, x, 2, (const int64_t[]){n, dim});
}

START_TEST(shaw_rows)
{
    /* The first channel alone: content_position is the row's; rows -1, 0, 1 of key - query. */
    const double one[] = {1, 0, 1, 0, 1, 0}, table[] = {100, 0, 10, 0, 1, 0}, zero[3] = {0};
    const double values[] = {100, 10, 1};
    static const struct {
        const char *spec;
        double want[9];
    } cases[] = {
        {"scheme=shaw dim=2 max_relative_position=1 softmax_scale=1",
         {10, 1, 1, 100, 10, 1, 100, 100, 10}},
        {"scheme=shaw dim=2 max_relative_position=1 softmax_scale=1 "
         "position_embedding_type=relative_key",
         {10, 100, 0, 1, 10, 100, 0, 1, 10}},
    };
    for (int c = 0; c < 2; c++) {
        const int64_t n = c == 0 ? 3 : 2;
        struct evaluation e;
        evaluation_open(&e, cases[c].spec);
        rows(&e, "q", one, n, 2);
        rows(&e, "k", one, n, 2);
        rows(&e, "v", zero, n, 1);
        rows(&e, "key_weights", table, 3, 2);
        if (c == 0)
            rows(&e, "value_weights", values, 3, 1);
        evaluation_run(&e, POSREF_OP_ALL, "scores", NULL);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double want = cases[c].want[i * 3 + j];
                ck_assert_double_eq(evaluation_output(&e, "content_position")[i * n + j], want);
                ck_assert_double_eq(evaluation_output(&e, "scores")[i * n + j], 1 + want);
            }
        if (c == 0) /* the first query: weights e^11, e^2, e^2 of values 10, 1, 1 */
            ck_assert_close(evaluation_output(&e, "attention")[0],
                            (10 * exp(9) + 2) / (exp(9) + 2), 4e-15);
        evaluation_close(&e);
    }
}
END_TEST

static void open_txl(struct evaluation *e, const char *spec, int64_t n, const double *at,
                     const double *q, const double *k, const double *w, const double *u)
{
    evaluation_open(e, spec);
    evaluation_positions(e, at, n);
    rows(e, "q", q, n, 4);
    rows(e, "k", k, n, 4);
    rows(e, "key_weights", w, 4, 6);
    evaluation_input(e, "u", u, 1, (const int64_t[]){4});
    evaluation_input(e, "v_bias", u + 4, 1, (const int64_t[]){4});
}

START_TEST(four_terms)
{
    enum { N = 4 };
    const double at[N] = {0, 1, 2, 3}, later[N] = {1000, 1001, 1002, 1003};
    double q[N * 4], k[N * 4], w[4 * 6], u[8], first[N * N];
    random_values(q, N * 4, 1);
    random_values(k, N * 4, 2);
    random_values(w, 24, 3);
    random_values(u, 8, 4);
    struct evaluation e;
    open_txl(&e, "scheme=transformer_xl dim=4 model_dim=6", N, at, q, k, w, u);
    const double *scores = evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
    static const char *const names[] = {"content_content", "content_position", "u_content",
                                        "v_position"};
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double want[4] = {0}, sum = 0, s[6];
            for (int n = 0; n < 3; n++) {
                double angle = (i - j) * pow(10000, -2.0 * n / 6);
                s[n] = sin(angle);
                s[n + 3] = cos(angle);
            }
            for (int c = 0; c < 4; c++) {
                double r = 0;
                for (int n = 0; n < 6; n++)
                    r += w[c * 6 + n] * s[n];
                want[0] += q[i * 4 + c] * k[j * 4 + c] / 2;
                want[1] += q[i * 4 + c] * r / 2;
                want[2] += u[c] * k[j * 4 + c] / 2;
                want[3] += u[4 + c] * r / 2;
            }
            for (int t = 0; t < 4; t++) {
                const double got = evaluation_output(&e, names[t])[i * N + j];
                ck_assert_close(got, want[t], 64 * DBL_EPSILON);
                sum += got;
            }
            ck_assert_close(scores[i * N + j], sum, 64 * DBL_EPSILON);
        }
    memcpy(first, scores, sizeof first);
    evaluation_close(&e);
    open_txl(&e, "scheme=transformer_xl dim=4 model_dim=6", N, later, q, k, w, u);
    ck_assert_same(evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL), first, N * N);
    evaluation_close(&e);
}
END_TEST

/* Music Transformer's skew: q E^T with a zero column in front, read as [n + 1, n], its first row
 * dropped; rows of E fall in distance, the last is distance 0; missing ones are zeros in front. */
START_TEST(skew_is_the_distance)
{
    enum { N = 5, ROWS = 3, DIM = 2 };
    const double at[N] = {0, 1, 2, 3, 4};
    double q[N * DIM], k[N * DIM], table[ROWS * DIM], padded[N][N + 1] = {{0}}, *flat = padded[0];
    random_values(q, N * DIM, 5);
    random_values(k, N * DIM, 6);
    random_values(table, ROWS * DIM, 7);
    for (int i = 0; i < N; i++)
        for (int r = 0; r < ROWS; r++)
            padded[i][1 + N - ROWS + r] = q[i * DIM] * table[r * DIM] +
                                          q[i * DIM + 1] * table[r * DIM + 1];
    struct evaluation e;
    evaluation_open(&e, "scheme=transformer_xl dim=2 relative_keys=zero_padded softmax_scale=1 "
                        "causal=true");
    evaluation_positions(&e, at, N);
    rows(&e, "q", q, N, DIM);
    rows(&e, "k", k, N, DIM);
    rows(&e, "weights", table, ROWS, DIM);
    evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
    ck_assert(posref_tensors_find(&e.out, "u_content") == NULL);
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            ck_assert_close(evaluation_output(&e, "content_position")[i * N + j],
                            flat[N + i * N + j], 1e-15);
    evaluation_close(&e);
}
END_TEST

START_TEST(bad_inputs_are_named)
{
    double x[64] = {0};
    struct evaluation e;
    evaluation_open(&e, "scheme=shaw dim=2 max_relative_position=1 "
                        "position_embedding_type=relative_key");
    rows(&e, "q", x, 3, 2);
    rows(&e, "k", x, 3, 2);
    evaluation_refused(&e, POSREF_OP_SCORES, "key_weights");
    rows(&e, "key_weights", x, 3, 2);
    evaluation_refused(&e, POSREF_OP_SCORES, "max_relative_position");
    evaluation_close(&e);
    evaluation_open(&e, "scheme=shaw dim=2 max_relative_position=1");
    rows(&e, "q", x, 1, 2);
    rows(&e, "k", x, 1, 2);
    rows(&e, "key_weights", x, 3, 2);
    evaluation_positions(&e, (const double[]){0.5}, 1);
    evaluation_refused(&e, POSREF_OP_SCORES, "q_positions");
    evaluation_close(&e);
    evaluation_open(&e, "scheme=transformer_xl dim=2 relative_keys=learned");
    rows(&e, "q", x, 1, 2);
    rows(&e, "k", x, 1, 2);
    evaluation_refused(&e, POSREF_OP_SCORES, "weights");
    rows(&e, "weights", x, 1, 2);
    evaluation_refused(&e, POSREF_OP_SCORES, "u");
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        shaw_rows, four_terms, skew_is_the_distance, bad_inputs_are_named,
    };
    return RUN_EVALUATIONS("terms", tests);
}
