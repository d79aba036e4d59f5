/* SPDX-License-Identifier: Apache-2.0 */
/* What rope was made for, as tests: scores that depend on the distance alone, composition, kept
 * norms, decay with distance. Inputs are rounded outputs, so tolerances are a few ulps. */
#include "eval_fixture.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char *const specs[] = {
    "dim=64 pairing=half",
    "dim=64 pairing=interleaved",
    "dim=80 rotary_dim=24 pairing=half base=500000",
    "dim=80 rotary_dim=24 pairing=interleaved base=500000",
    "dim=64 pairing=half direction=inverse",
    "dim=64 pairing=interleaved scaling=linear factor=4",
    "dim=64 pairing=half scaling=ntk factor=8",
    "dim=128 base=500000 scaling=llama3 factor=8 original_max_position_embeddings=8192",
    "dim=64 scaling=yarn factor=40 original_max_position_embeddings=4096 attention_factor=1",
};
#define N_SPECS ((int)(sizeof specs / sizeof *specs))
#define MAX_DIM 128

static int dim_of(const char *spec)
{
    struct evaluation e;
    evaluation_open(&e, spec);
    int dim = e.spec.dim;
    evaluation_close(&e);
    return dim;
}

static void random_x(double *x, int n, uint64_t seed)
{
    for (int k = 0; k < n; k++)
        x[k] = next_random(&seed);
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum = fma(a[k], b[k], sum);
    return sum;
}

/* <R(m) q, R(n) k> */
static double score(const char *spec, int dim, const double *q, double m, const double *k,
                    double n)
{
    double rotated_q[MAX_DIM], rotated_k[MAX_DIM];
    rotate_rows(rotated_q, spec, &m, q, 1);
    rotate_rows(rotated_k, spec, &n, k, 1);
    return dot(rotated_q, rotated_k, dim);
}

START_TEST(scores_depend_on_the_distance_alone)
{
    static const double starts[] = {0, 1, 17, 4095, 131071, 1048575, -300};
    static const double distances[] = {0, 1, -1, 5, 255, -2049};
    for (int s = 0; s < N_SPECS; s++) {
        const int dim = dim_of(specs[s]);
        double q[MAX_DIM], k[MAX_DIM];
        random_x(q, dim, 1);
        random_x(k, dim, 2);
        for (size_t d = 0; d < sizeof distances / sizeof *distances; d++) {
            double want = score(specs[s], dim, q, 0, k, distances[d]);
            for (size_t p = 0; p < sizeof starts / sizeof *starts; p++)
                ck_assert_close(score(specs[s], dim, q, starts[p], k, starts[p] + distances[d]),
                                want, 1e-13);
        }
        /* and it does depend on it */
        ck_assert_double_gt(fabs(score(specs[s], dim, q, 0, k, 1) -
                                 score(specs[s], dim, q, 0, k, 2)), 1e-3);
    }
}
END_TEST

START_TEST(rotations_compose)
{
    for (int s = 0; s < N_SPECS; s++) {
        const int dim = dim_of(specs[s]);
        const double m = 1234, n = -77, sum = m + n;
        double x[MAX_DIM], once[MAX_DIM], twice[MAX_DIM], at_sum[MAX_DIM];
        random_x(x, dim, 3);
        rotate_rows(once, specs[s], &m, x, 1);
        rotate_rows(twice, specs[s], &n, once, 1);
        rotate_rows(at_sum, specs[s], &sum, x, 1);
        for (int c = 0; c < dim; c++)
            ck_assert_close(twice[c], at_sum[c], 4e-15);
    }
}
END_TEST

START_TEST(transpose_and_product_is_the_difference)
{
    /* R(m)^T R(n) = R(n - m), entry by entry: column j is the image of basis vector j, and entry
     * (i, j) of the product is the product of columns i of R(m) and j of R(n). */
    enum { DIM = 8 };
    static const char *const small[] = {"dim=8 pairing=half", "dim=8 pairing=interleaved"};
    const double m = 5, n = 4099, difference = n - m;
    for (size_t s = 0; s < 2; s++) {
        double at_m[DIM][DIM], at_n[DIM][DIM], want[DIM][DIM];
        for (int j = 0; j < DIM; j++) {
            double e[DIM] = {0};
            e[j] = 1;
            rotate_rows(at_m[j], small[s], &m, e, 1);
            rotate_rows(at_n[j], small[s], &n, e, 1);
            rotate_rows(want[j], small[s], &difference, e, 1);
        }
        for (int i = 0; i < DIM; i++)
            for (int j = 0; j < DIM; j++)
                ck_assert_close(dot(at_m[i], at_n[j], DIM), want[j][i], 4e-16);
    }
}
END_TEST

START_TEST(norms_are_kept)
{
    for (int s = 0; s < N_SPECS; s++) {
        const int dim = dim_of(specs[s]);
        const double at[] = {1, 2047, 2147483647};
        double x[MAX_DIM], y[MAX_DIM];
        random_x(x, dim, 4);
        for (size_t p = 0; p < sizeof at / sizeof *at; p++) {
            rotate_rows(y, specs[s], &at[p], x, 1);
            ck_assert_close(dot(y, y, dim) / dot(x, x, dim), 1, 4e-15);
        }
    }
}
END_TEST

START_TEST(yarn_scales_scores_by_the_factor_squared)
{
    const char *plain = "dim=64 scaling=yarn factor=40 original_max_position_embeddings=4096 "
                        "attention_factor=1";
    const char *warm = "dim=64 scaling=yarn factor=40 original_max_position_embeddings=4096 "
                       "attention_factor=1.5";
    double q[MAX_DIM], k[MAX_DIM];
    random_x(q, 64, 5);
    random_x(k, 64, 6);
    ck_assert_close(score(warm, 64, q, 10, k, 3), 2.25 * score(plain, 64, q, 10, k, 3), 1e-13);
}
END_TEST

START_TEST(position_zero_is_the_identity)
{
    for (int s = 0; s < N_SPECS; s++) {
        const int dim = dim_of(specs[s]);
        const double zero = 0;
        double x[MAX_DIM], y[MAX_DIM];
        random_x(x, dim, 7);
        rotate_rows(y, specs[s], &zero, x, 1);
        for (int c = 0; c < dim; c++)
            ck_assert_double_eq(y[c], x[c]);
    }
}
END_TEST

/* Mean over j = 1 ... d/2 of |S_j|, S_j the sum of e^(i m theta) over the first j pairs: the
 * factor of RoFormer's bound (section 3.4.3) on the score at distance m. */
static double decay_bound(double distance)
{
    struct evaluation e;
    evaluation_open(&e, "dim=128");
    evaluation_positions(&e, &distance, 1);
    const double *cosines = evaluation_run(&e, POSREF_OP_TABLE, "cos", NULL);
    const double *sines = posref_tensors_find(&e.out, "sin")->data;
    double re = 0, im = 0, total = 0;
    for (int i = 0; i < 64; i++) {
        re += cosines[i];
        im += sines[i];
        total += hypot(re, im);
    }
    evaluation_close(&e);
    return total / 64;
}

START_TEST(scores_decay_with_distance)
{
    /* dim 128, mpmath; the bound falls with distance, not at every step but over each octave. */
    ck_assert_close(decay_bound(0), 32.5, 1e-13);
    ck_assert_close(decay_bound(1), 31.538166, 5e-7);
    ck_assert_close(decay_bound(5), 20.845358, 5e-7);
    ck_assert_close(decay_bound(20), 15.24243, 5e-6);
    ck_assert_close(decay_bound(100), 10.22733, 5e-6);
    ck_assert_close(decay_bound(256), 6.5430973, 5e-8);
    double last = 32.5;
    for (int from = 1; from <= 128; from *= 2) {
        double mean = 0;
        for (int m = from; m < 2 * from; m++)
            mean += decay_bound(m) / from;
        ck_assert_double_lt(mean, last);
        last = mean;
    }
}
END_TEST

START_TEST(the_tail_of_a_partial_rotation_is_untouched)
{
    static const char *const partial[] = {"dim=80 rotary_dim=24 pairing=half",
                                          "dim=80 rotary_dim=24 pairing=interleaved "
                                          "direction=inverse",
                                          "dim=80 rotary_dim=24 scaling=yarn factor=4 "
                                          "original_max_position_embeddings=2048"};
    for (size_t s = 0; s < 3; s++) {
        const double at = 131071;
        double x[80], y[80];
        random_x(x, 80, 8);
        x[24] = -0.0;
        x[25] = 5e-324;
        x[79] = DBL_MAX;
        rotate_rows(y, partial[s], &at, x, 1);
        ck_assert_same(y + 24, x + 24, 56);
        for (int c = 0; c < 2; c++)
            ck_assert_double_ne(y[c], x[c]);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        scores_depend_on_the_distance_alone, rotations_compose,
        transpose_and_product_is_the_difference, norms_are_kept,
        yarn_scales_scores_by_the_factor_squared, position_zero_is_the_identity,
        scores_decay_with_distance, the_tail_of_a_partial_rotation_is_untouched,
    };
    return RUN_EVALUATIONS("properties", tests);
}
