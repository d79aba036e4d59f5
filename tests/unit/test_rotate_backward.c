/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a rotation: R^T dy, by its definition and as the rotation the other way. */
#include "eval_fixture.h"

#include <math.h>
#include <string.h>

#define MAX_DIM 32

static void draw(double *x, int64_t n, uint64_t seed)
{
    for (int64_t k = 0; k < n; k++)
        x[k] = next_random(&seed);
}

/* dx [n, dim] of dy. */
static void gradient(double *dx, const char *spec, const double *positions, const double *dy,
                     int64_t n)
{
    struct evaluation e;
    evaluation_open(&e, spec);
    evaluation_positions(&e, positions, n);
    evaluation_input(&e, "dy", dy, 2, (const int64_t[]){n, e.spec.dim});
    memcpy(dx, evaluation_run(&e, POSREF_OP_ROTATE_BACKWARD, "dx", NULL),
           (size_t)(n * e.spec.dim) * sizeof *dx);
    ck_assert_int_eq(e.out.n, 1);
    evaluation_close(&e);
}

static const double positions[] = {0, 1, -257, 131071};
#define N 4

static const char *const specs[] = {
    "dim=8",
    "dim=8 pairing=interleaved direction=inverse",
    "dim=12 rotary_dim=6",
    "dim=12 rotary_dim=8 partial=trailing pairing=interleaved",
    "dim=20 partial=proportional partial_rotary_factor=0.3",
    "dim=12 rotary_dim=8 pairing=interleaved_to_half",
    "dim=12 rotary_dim=8 partial=trailing pairing=interleaved_to_half direction=inverse",
    "dim=8 scaling=yarn factor=4 original_max_position_embeddings=64",
};

/* R x . dy = x . R^T dy for every x and dy. */
START_TEST(adjoint)
{
    double x[N * MAX_DIM], dy[N * MAX_DIM], y[N * MAX_DIM], dx[N * MAX_DIM];
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct evaluation e;
            evaluation_open(&e, specs[s]);
            const int dim = e.spec.dim;
            evaluation_close(&e);
            draw(x, N * dim, seed);
            draw(dy, N * dim, seed + 100);
            rotate_rows(y, specs[s], positions, x, N);
            gradient(dx, specs[s], positions, dy, N);
            for (int row = 0; row < N; row++) {
                double left = 0, right = 0, size = 0;
                for (int k = row * dim; k < (row + 1) * dim; k++) {
                    left += y[k] * dy[k];
                    right += x[k] * dx[k];
                    size += fabs(y[k] * dy[k]);
                }
                ck_assert_msg(fabs(left - right) <= 1e-14 * size, "%s row %d: %.17g, %.17g",
                              specs[s], row, left, right);
            }
        }
}
END_TEST

/* A row of the matrix R^T is a column of R: basis vectors, bit for bit. */
START_TEST(transposed)
{
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        double r[MAX_DIM * MAX_DIM], t[MAX_DIM * MAX_DIM], basis[MAX_DIM * MAX_DIM] = {0};
        double at[MAX_DIM];
        struct evaluation e;
        evaluation_open(&e, specs[s]);
        const int dim = e.spec.dim;
        evaluation_close(&e);
        for (int k = 0; k < dim; k++) {
            basis[k * dim + k] = 1;
            at[k] = 259;
        }
        rotate_rows(r, specs[s], at, basis, dim);
        gradient(t, specs[s], at, basis, dim);
        for (int i = 0; i < dim; i++)
            for (int j = 0; j < dim; j++)
                ck_assert_msg(r[i * dim + j] == t[j * dim + i], "%s [%d, %d]: %a, %a", specs[s], i,
                              j, r[i * dim + j], t[j * dim + i]);
    }
}
END_TEST

START_TEST(the_other_way)
{
    double dy[N * 8], dx[N * 8], y[N * 8];
    draw(dy, N * 8, 7);
    dy[0] = -0.0; /* position 0: copied */
    gradient(dx, "dim=8 scaling=linear factor=3", positions, dy, N);
    rotate_rows(y, "dim=8 scaling=linear factor=3 direction=inverse", positions, dy, N);
    ck_assert_same(dx, y, N * 8);
    gradient(dx, "dim=8 direction=inverse", positions, dy, N);
    rotate_rows(y, "dim=8", positions, dy, N);
    ck_assert_same(dx, y, N * 8);
}
END_TEST

START_TEST(heads_and_all)
{
    double dy[12], x[12];
    struct evaluation e;
    draw(dy, 12, 3);
    draw(x, 12, 4);
    evaluation_open(&e, "dim=4");
    evaluation_positions(&e, (const double[]){5}, 1);
    evaluation_input(&e, "dy", dy, 3, (const int64_t[]){1, 3, 4});
    const double *whole = evaluation_run(&e, POSREF_OP_ALL, "dx", NULL);
    ck_assert_int_eq(e.out.n, 5); /* inv_freq, attention_factor, cos, sin */
    for (int head = 0; head < 3; head++) {
        double one[4];
        gradient(one, "dim=4", (const double[]){5}, dy + 4 * head, 1);
        ck_assert_same(one, whole + 4 * head, 4);
    }
    evaluation_input(&e, "x", x, 3, (const int64_t[]){1, 3, 4});
    evaluation_run(&e, POSREF_OP_ALL, "y", NULL);
    ck_assert_int_eq(e.out.n, 6);
    evaluation_close(&e);
}
END_TEST

START_TEST(refused)
{
    static const double dy[8] = {1};
    struct evaluation e;
    evaluation_open(&e, "dim=4");
    evaluation_positions(&e, (const double[]){5}, 1);
    evaluation_refused(&e, POSREF_OP_ROTATE_BACKWARD, "dy");
    evaluation_input(&e, "dy", dy, 2, (const int64_t[]){2, 4});
    evaluation_refused(&e, POSREF_OP_ROTATE_BACKWARD, "dy");
    evaluation_close(&e);
    evaluation_open(&e, "dim=4 pairing=mismatched");
    evaluation_positions(&e, (const double[]){5}, 1);
    evaluation_input(&e, "dy", dy, 2, (const int64_t[]){1, 4});
    evaluation_refused(&e, POSREF_OP_ROTATE_BACKWARD, "pairing");
    evaluation_close(&e);
    evaluation_open(&e, "scheme=sinusoidal dim=4");
    evaluation_refused(&e, POSREF_OP_ROTATE_BACKWARD, "op");
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {adjoint, transposed, the_other_way, heads_and_all, refused};
    return RUN_EVALUATIONS("rotate_backward", tests);
}
