/* SPDX-License-Identifier: Apache-2.0 */
/* Rope without scaling: the worked example of the literature, layouts, the complex and the matrix
 * formulation, hard inputs, and bad ones. */
#include "eval_fixture.h"
#include "reference/plan.h"

#include <float.h>
#include <math.h>
#include <string.h>

START_TEST(worked_example)
{
    /* dim 4, base 10000, position 1, interleaved; from mpmath at 200 bits */
    const double x[] = {1, 0.5, -0.5, 1.5}, position = 1;
    const double want[] = {0.11956681346419146407, 1.1116221377419664, -0.51497475020958264,
                           1.4949250839579146};
    double y[4];
    rotate_rows(y, "dim=4 pairing=interleaved", &position, x, 1);
    ck_assert_same(y, want, 4);
}
END_TEST

START_TEST(example_of_the_fault_list)
{
    const double x[] = {1, 2, 3, 4}, position = 1;
    const double half[] = {-1.984111, 1.959901, 2.462378, 4.019800};
    const double interleaved[] = {-1.142640, 1.922076, 2.959851, 4.029800};
    double y[4];
    rotate_rows(y, "dim=4", &position, x, 1);
    for (int k = 0; k < 4; k++)
        ck_assert_close(y[k], half[k], 5e-7);
    rotate_rows(y, "dim=4 pairing=interleaved", &position, x, 1);
    for (int k = 0; k < 4; k++)
        ck_assert_close(y[k], interleaved[k], 5e-7);
}
END_TEST

START_TEST(rotation_matrices)
{
    /* Columns of R(a) are the images of the basis vectors; position p turns pair 0 by p and pair 1
     * by p / 100, so that positions 1, 2 and 10 hold R(1), R(2), R(0.01) and R(0.1). */
    static const struct {
        double position, cos, sin;
        int pair;
    } matrices[] = {{1, 0.54030230586813972, 0.84147098480789651, 0},
                    {2, -0.41614683654714239, 0.9092974268256817, 0},
                    {1, 0.99995000041666528, 0.0099998333341666647, 1},
                    {10, 0.99500416527802577, 0.099833416646828152, 1}};
    for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) {
        const int first = 2 * matrices[k].pair;
        for (int column = 0; column < 2; column++) {
            double x[4] = {0}, y[4], want[4] = {0};
            x[first + column] = 1;
            want[first] = column ? -matrices[k].sin : matrices[k].cos;
            want[first + 1] = column ? matrices[k].cos : matrices[k].sin;
            rotate_rows(y, "dim=4 pairing=interleaved", &matrices[k].position, x, 1);
            for (int channel = 0; channel < 4; channel++)
                ck_assert_double_eq(y[channel], want[channel]);
        }
    }
}
END_TEST

START_TEST(score_is_a_complex_product)
{
    /* <R(1) q, R(3) k> = sum over pairs of Re[q conj(k) e^(i (1 - 3) theta)]; mpmath */
    const double q[] = {1, 0.5, -0.5, 1.5}, k[] = {0.5, -1, 2, 0.25}, at[] = {1, 3};
    double x[8], y[8], score = 0;
    memcpy(x, q, sizeof q);
    memcpy(x + 4, k, sizeof k);
    rotate_rows(y, "dim=4 pairing=interleaved", at, x, 2);
    for (int c = 0; c < 4; c++)
        score += y[c] * y[4 + c];
    ck_assert_close(score, 0.57424261278215688, 1e-15);
    ck_assert_double_gt(fabs(score - -2.4153487490896155), 1); /* without conj(k) */
}
END_TEST

static const char *const pairings[] = {"half", "interleaved"};

static void random_x(double *x, int n, uint64_t seed)
{
    for (int k = 0; k < n; k++)
        x[k] = next_random(&seed);
}

START_TEST(position_zero_and_unrotated_channels_are_copies)
{
    const double extremes[] = {-0.0, 0.0, DBL_MAX, -DBL_MAX, 5e-324, -5e-324, DBL_MIN, 0.1};
    const double zero = 0, minus_zero = -0.0, far = 1048575;
    for (int p = 0; p < 2; p++) {
        char spec[64];
        double y[8];
        snprintf(spec, sizeof spec, "dim=8 pairing=%s", pairings[p]);
        rotate_rows(y, spec, &zero, extremes, 1);
        for (int c = 1; c < 8; c++) /* -0 and its partner: the sum -0 + +0 may be +0 */
            ck_assert_msg(y[c] == extremes[c], "channel %d", c);
        double other[8];
        rotate_rows(other, spec, &minus_zero, extremes, 1);
        ck_assert_same(other, y, 8);
        const double x[] = {1, 2, -0.0, 0.0, DBL_MAX, -5e-324, 0.1, -0.0};
        snprintf(spec, sizeof spec, "dim=8 rotary_dim=2 pairing=%s", pairings[p]);
        rotate_rows(y, spec, &far, x, 1);
        ck_assert_same(y + 2, x + 2, 6);
        ck_assert_double_ne(y[0], x[0]);
    }
}
END_TEST

START_TEST(half_is_interleaved_permuted)
{
    enum { DIM = 24, R = 20, N = 5 };
    const double at[N] = {0, 1, 257, -131071, 2147483647};
    double x[N * DIM], permuted[N * DIM], half[N * DIM], interleaved[N * DIM];
    random_x(x, N * DIM, 7);
    /* permuted = P x: the channel 2i of x goes to i, 2i + 1 to i + R/2 */
    memcpy(permuted, x, sizeof x);
    for (int n = 0; n < N; n++)
        for (int c = 0; c < R; c++)
            permuted[n * DIM + c / 2 + (c % 2) * (R / 2)] = x[n * DIM + c];
    rotate_rows(interleaved, "dim=24 rotary_dim=20 pairing=interleaved", at, x, N);
    rotate_rows(half, "dim=24 rotary_dim=20 pairing=half", at, permuted, N);
    for (int n = 0; n < N; n++)
        for (int c = 0; c < R; c++)
            ck_assert_same(&half[n * DIM + c / 2 + (c % 2) * (R / 2)], &interleaved[n * DIM + c],
                           1);
}
END_TEST

START_TEST(inverse_is_the_negative_position)
{
    enum { DIM = 16, N = 4 };
    const double at[N] = {1, 17, 4096.5, 2147483647}, back[N] = {-1, -17, -4096.5, -2147483647};
    double x[N * DIM], inverse[N * DIM], negative[N * DIM], forward[N * DIM], again[N * DIM];
    random_x(x, N * DIM, 3);
    rotate_rows(inverse, "dim=16 direction=inverse", at, x, N);
    rotate_rows(negative, "dim=16", back, x, N);
    ck_assert_same(inverse, negative, N * DIM);
    rotate_rows(forward, "dim=16", at, x, N);
    rotate_rows(again, "dim=16 direction=inverse", at, forward, N);
    for (int k = 0; k < N * DIM; k++)
        ck_assert_close(again[k], x[k], 4e-16 * 4);
    struct evaluation e, f;
    evaluation_open(&e, "dim=16 direction=inverse");
    evaluation_open(&f, "dim=16");
    evaluation_positions(&e, at, N);
    evaluation_positions(&f, at, N);
    ck_assert_same(evaluation_run(&e, POSREF_OP_TABLE, "sin", NULL),
                   evaluation_run(&f, POSREF_OP_TABLE, "sin", NULL), N * DIM / 2);
    evaluation_close(&e);
    evaluation_close(&f);
}
END_TEST

START_TEST(heads_are_rotated_alike)
{
    enum { DIM = 6, HEADS = 3, N = 2 };
    const double at[N] = {5, 2049};
    double x[N * HEADS * DIM], flat[N * DIM], y[N * DIM];
    random_x(x, N * HEADS * DIM, 11);
    struct evaluation e;
    evaluation_open(&e, "dim=6 rotary_dim=4 pairing=interleaved");
    evaluation_positions(&e, at, N);
    evaluation_input(&e, "x", x, 3, (const int64_t[]){N, HEADS, DIM});
    const double *all = evaluation_run(&e, POSREF_OP_ALL, "y", NULL);
    ck_assert_int_eq(posref_tensors_find(&e.out, "y")->rank, 3);
    for (int head = 0; head < HEADS; head++) {
        for (int n = 0; n < N; n++)
            memcpy(flat + n * DIM, x + (n * HEADS + head) * DIM, DIM * sizeof *x);
        rotate_rows(y, "dim=6 rotary_dim=4 pairing=interleaved", at, flat, N);
        for (int n = 0; n < N; n++)
            ck_assert_same(all + (n * HEADS + head) * DIM, y + n * DIM, DIM);
    }
    evaluation_close(&e);
}
END_TEST

/* y = M x with M the block-diagonal matrix of [[cos, -sin], [sin, cos]], rows summed over every
 * channel, in balls of 512 bits: the third formulation. */
static double matrix_row(const struct posref_frequencies *of, int row, double position,
                         const double *x, int r, int sign)
{
    struct posref_ball sum, term, c, s;
    posref_ball_set_int(&sum, 0);
    for (int column = 0; column < r; column++) {
        posref_ball_set_int(&term, 0);
        if (row / 2 == column / 2) {
            ck_assert_int_eq(posref_frequencies_cos_sin_ball(&c, &s, of, row / 2, position, 512),
                             POSREF_OK);
            if (row == column)
                posref_ball_set(&term, &c);
            else if ((row < column) == (sign > 0))
                posref_ball_neg(&term, &s);
            else
                posref_ball_set(&term, &s);
        }
        posref_ball_set_double(&c, x[column]);
        posref_ball_mul(&term, &term, &c, 512);
        posref_ball_add(&sum, &sum, &term, 512);
    }
    double out = 0;
    ck_assert(posref_ball_round(&out, &sum));
    return out;
}

static void compare_formulations(const char *spec_text, const double *x, double position)
{
    struct evaluation e;
    struct posref_frequencies of;
    evaluation_open(&e, spec_text);
    const int dim = e.spec.dim, sign = e.spec.direction == POSREF_DIRECTION_INVERSE ? -1 : 1;
    evaluation_positions(&e, &position, 1);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){1, dim});
    const double *real = evaluation_run(&e, POSREF_OP_ROTATE, "y", NULL);
    posref_frequencies_rope(&of, &e.spec);
    for (int i = 0; i < dim / 2; i++) {
        double y1, y2;
        ck_assert_int_eq(posref_rotate_complex(&y1, &y2, &of, i, sign * position, x[2 * i],
                                               x[2 * i + 1]), POSREF_OK);
        ck_assert_msg(y1 == real[2 * i] && y2 == real[2 * i + 1],
                      "%s position %.17g pair %d: complex %a %a, real %a %a", spec_text, position,
                      i, y1, y2, real[2 * i], real[2 * i + 1]);
    }
    for (int row = 0; row < dim; row++)
        ck_assert_double_eq(matrix_row(&of, row, position, x, dim, sign), real[row]);
    evaluation_close(&e);
}

START_TEST(complex_real_and_matrix_agree)
{
    static const char *const specs[] = {
        "dim=8 pairing=interleaved",
        "dim=8 pairing=interleaved direction=inverse base=500000",
        "dim=6 pairing=interleaved scaling=yarn factor=4 original_max_position_embeddings=64",
        ("dim=8 pairing=interleaved scaling=yarn factor=4 original_max_position_embeddings=4096 "
         "attention_factor=1.2079441542"),
        "dim=10 pairing=interleaved scaling=ntk factor=8",
    };
    static const double positions[] = {0, 1, -1, 257, 131071, -2147483647};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (size_t p = 0; p < sizeof positions / sizeof *positions; p++) {
            double x[10];
            random_x(x, 10, s * 100 + p);
            compare_formulations(specs[s], x, positions[p]);
        }
}
END_TEST

START_TEST(hard_inputs_agree_too)
{
    /* Subnormal, huge, lopsided, and nearly cancelling: cos 1 * tan 1 = sin 1. */
    static const double hard[][8] = {
        {5e-324, -5e-324, DBL_MIN, 5e-324, 0, 5e-324, -0.0, DBL_MIN},
        {DBL_MAX, 1, DBL_MAX, DBL_MAX, -DBL_MAX, 5e-324, 1e300, -1e300},
        {1e308, 1e-308, 1e-200, 1e200, 1, 1e-320, 1e-320, 1},
        {1.5574077246549023, 1, 0.64209261593433065, 1, 1e-160, -1e160, 0x1p-1000, 0x1p1000},
    };
    static const double positions[] = {0, 1, 2, 1048575};
    for (size_t k = 0; k < sizeof hard / sizeof *hard; k++)
        for (size_t p = 0; p < sizeof positions / sizeof *positions; p++) {
            compare_formulations("dim=8 pairing=interleaved", hard[k], positions[p]);
            compare_formulations("dim=8 pairing=interleaved scaling=yarn factor=2 "
                                 "original_max_position_embeddings=4096 attention_factor=0.3",
                                 hard[k], positions[p]);
        }
}
END_TEST

START_TEST(tables_and_frequencies)
{
    struct evaluation e;
    int64_t count;
    const double at[] = {3};
    evaluation_open(&e, "dim=8");
    evaluation_positions(&e, at, 1);
    const double *inv_freq = evaluation_run(&e, POSREF_OP_ALL, "inv_freq", &count);
    ck_assert_int_eq(count, 4);
    ck_assert_same(inv_freq, ((const double[]){1, 0.1, 0.01, 0.001}), 4);
    ck_assert_int_eq(e.out.n, 4);
    const struct posref_tensor *factor = posref_tensors_find(&e.out, "attention_factor");
    ck_assert_int_eq(factor->rank, 0);
    ck_assert_double_eq(*(const double *)factor->data, 1);
    const double cosines[] = {-0.98999249660044546, 0.95533648912560602, 0.99955003374898752,
                              0.999995500003375};
    const double sines[] = {0.14112000805986722, 0.29552020666133958, 0.029995500202495661,
                            0.002999995500002025};
    ck_assert_same(posref_tensors_find(&e.out, "cos")->data, cosines, 4);
    ck_assert_same(posref_tensors_find(&e.out, "sin")->data, sines, 4);
    evaluation_run(&e, POSREF_OP_FREQUENCIES, "inv_freq", NULL);
    ck_assert_int_eq(e.out.n, 2);
    evaluation_run(&e, POSREF_OP_TABLE, "sin", NULL);
    ck_assert_int_eq(e.out.n, 2);
    evaluation_close(&e);
}
END_TEST

START_TEST(powers_of_two_are_exact)
{
    struct evaluation e;
    evaluation_open(&e, "dim=8 base=65536");
    ck_assert_same(evaluation_run(&e, POSREF_OP_FREQUENCIES, "inv_freq", NULL),
                   ((const double[]){1, 0x1p-4, 0x1p-8, 0x1p-12}), 4);
    evaluation_close(&e);
    evaluation_open(&e, "dim=2 base=1.0000000000000002");
    ck_assert_same(evaluation_run(&e, POSREF_OP_FREQUENCIES, "inv_freq", NULL),
                   ((const double[]){1}), 1);
    evaluation_close(&e);
}
END_TEST

START_TEST(bad_inputs_are_named)
{
    struct evaluation e;
    double values[64] = {0};
    evaluation_open(&e, "dim=4");
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    evaluation_refused(&e, POSREF_OP_BIAS, "op");
    evaluation_input(&e, "x", values, 2, (const int64_t[]){1, 4});
    evaluation_refused(&e, POSREF_OP_ALL, "positions");
    evaluation_positions(&e, values, 2);
    evaluation_refused(&e, POSREF_OP_ROTATE, "x"); /* 2 positions, 1 row */
    e.in.n = 0;
    evaluation_input(&e, "logits", values, 2, (const int64_t[]){1, 4});
    evaluation_refused(&e, POSREF_OP_ALL, "logits");
    e.in.n = 0;
    evaluation_positions(&e, values, 1);
    evaluation_positions(&e, values, 1);
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    e.in.n = 1;
    e.in.item[0].dtype = POSREF_F32;
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    e.in.n = 0;
    evaluation_input(&e, "positions", values, 2, (const int64_t[]){3, 2});
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    static const double wrong[] = {2147483648.0, -2147483648.0, (double)NAN, (double)INFINITY};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        e.in.n = 0;
        evaluation_positions(&e, &wrong[k], 1);
        evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    }
    for (size_t k = 2; k < sizeof wrong / sizeof *wrong; k++) {
        e.in.n = 0;
        values[3] = wrong[k];
        evaluation_positions(&e, values, 1);
        evaluation_input(&e, "x", values, 2, (const int64_t[]){1, 4});
        evaluation_refused(&e, POSREF_OP_ROTATE, "x");
    }
    evaluation_close(&e);
}
END_TEST

struct budget {
    struct posref_arena arena;
    int allocations;
};

static void *until_spent(void *ctx, size_t size_bytes)
{
    struct budget *budget = ctx;
    return budget->allocations-- > 0 ? budget->arena.alloc(budget->arena.ctx, size_bytes) : NULL;
}

/* Every allocation fails once. */
START_TEST(out_of_memory_is_said)
{
    struct evaluation e;
    const double at = 1, x[8] = {1};
    evaluation_open(&e, "dim=8");
    evaluation_positions(&e, &at, 1);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){1, 8});
    struct budget budget = {.arena = e.arena};
    e.arena = (struct posref_arena){until_spent, &budget};
    enum posref_status status = POSREF_NO_MEMORY;
    int failures = 0;
    for (; status != POSREF_OK; failures++) {
        budget.allocations = failures;
        e.out.n = -1;
        status = posref_eval(&e.out, &e.spec, POSREF_OP_ALL, &e.in, &e.arena, &e.err);
        ck_assert(status == POSREF_OK || (status == POSREF_NO_MEMORY && e.out.n == -1));
    }
    ck_assert_int_gt(failures, 8);
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        worked_example, example_of_the_fault_list, rotation_matrices, score_is_a_complex_product,
        position_zero_and_unrotated_channels_are_copies, half_is_interleaved_permuted,
        inverse_is_the_negative_position, heads_are_rotated_alike, complex_real_and_matrix_agree,
        hard_inputs_agree_too, tables_and_frequencies, powers_of_two_are_exact,
        bad_inputs_are_named, out_of_memory_is_said,
    };
    return RUN_EVALUATIONS("rope", tests);
}
