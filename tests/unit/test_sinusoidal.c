/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal embeddings: published tables, orders and exponents, the embedding sum, and the two
 * properties that the paper chose them for. */
#include "eval_fixture.h"
#include "reference/frequencies.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void table_of(double *out, const char *spec, const double *positions, int64_t n)
{
    struct evaluation e;
    int64_t count;
    evaluation_open(&e, spec);
    evaluation_positions(&e, positions, n);
    const double *table = evaluation_run(&e, POSREF_OP_TABLE, "table", &count);
    ck_assert_int_eq(count, n * e.spec.dim);
    ck_assert_int_eq(e.out.n, 1);
    memcpy(out, table, (size_t)count * sizeof *out);
    evaluation_close(&e);
}

START_TEST(positions_0_to_3_of_dim_4)
{
    const double at[] = {0, 1, 2, 3};
    const double want[] = {0, 1, 0, 1,
                           0.84147098480789651, 0.54030230586813972, 0.0099998333341666647,
                           0.99995000041666528,
                           0.9092974268256817, -0.41614683654714239, 0.019998666693333079,
                           0.99980000666657778,
                           0.14112000805986722, -0.98999249660044546, 0.029995500202495661,
                           0.99955003374898752};
    double got[16];
    table_of(got, "scheme=sinusoidal dim=4", at, 4);
    ck_assert_same(got, want, 16);
}
END_TEST

START_TEST(orders_and_exponents)
{
    const double at = 3;
    const double vaswani[] = {0.14112000805986722, -0.98999249660044546, 0.29552020666133958,
                              0.95533648912560602, 0.029995500202495661, 0.99955003374898752,
                              0.002999995500002025, 0.999995500003375};
    /* theta = 1, 10000^(-1/3), 10000^(-2/3), 1/10000 */
    const double halves[] = {0.14112000805986722, 0.13879810108005053, 0.0064632590701896432,
                             0.00029999999550000002, -0.98999249660044546, 0.99032069913567498,
                             0.99997911292296081, 0.99999995500000034};
    double got[8], concat[8];
    table_of(got, "scheme=sinusoidal dim=8", &at, 1);
    ck_assert_same(got, vaswani, 8);
    table_of(concat, "scheme=sinusoidal dim=8 order=concat", &at, 1);
    for (int i = 0; i < 4; i++) {
        ck_assert_same(&concat[i], &got[2 * i], 1);
        ck_assert_same(&concat[4 + i], &got[2 * i + 1], 1);
    }
    table_of(concat, "scheme=sinusoidal dim=8 order=concat exponent=half_minus_one", &at, 1);
    ck_assert_same(concat, halves, 8);
    table_of(got, "scheme=sinusoidal dim=8 exponent=half_minus_one", &at, 1);
    for (int i = 0; i < 4; i++)
        ck_assert_same(&got[2 * i], &halves[i], 1);
    table_of(got, "scheme=sinusoidal dim=4 exponent=half_minus_one base=65536", &at, 1);
    ck_assert_double_eq(got[2], sin(3.0 / 65536)); /* the last wavelength is 2 pi base */
}
END_TEST

START_TEST(same_angles_as_rope)
{
    const double at[] = {0, -17, 131071, 2147483647};
    double table[4 * 96];
    struct evaluation e;
    table_of(table, "scheme=sinusoidal dim=96 base=500000", at, 4);
    evaluation_open(&e, "dim=96 base=500000");
    evaluation_positions(&e, at, 4);
    const double *cosines = evaluation_run(&e, POSREF_OP_TABLE, "cos", NULL);
    const double *sines = posref_tensors_find(&e.out, "sin")->data;
    for (int k = 0; k < 4 * 48; k++) {
        ck_assert_same(&table[2 * k], &sines[k], 1);
        ck_assert_same(&table[2 * k + 1], &cosines[k], 1);
    }
    evaluation_close(&e);
}
END_TEST

START_TEST(embedding_is_rounded_once)
{
    /* 1 + cos 0 and friends are exact; ties go to even; the sum of 2^53 and sin 1 rounds once. */
    const double at[] = {0, 1};
    const double x[] = {-0.0, 0x1p53, 0x1p53, -1, 0x1p53, -0.5403023058681398, DBL_MAX, 5e-324};
    const double want[] = {0, 0x1p53, 0x1p53, 0, /* 2^53 + 1 is a tie, to even */
                           0x1p53, -0x1.80d6a61a72f0cp-55, DBL_MAX, 0.99995000041666528};
    struct evaluation e;
    evaluation_open(&e, "scheme=sinusoidal dim=4");
    evaluation_positions(&e, at, 2);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){2, 4});
    const double *y = evaluation_run(&e, POSREF_OP_EMBED, "y", NULL);
    for (int k = 0; k < 8; k++)
        ck_assert_msg(k == 5 || y[k] == want[k], "%d: got %a, want %a", k, y[k], want[k]);
    /* What is left of cos 1 below its double: 0.540302305868139717400936607442976603733 less
     * 0.540302305868139765010482733487151563167572021484375 */
    ck_assert_close(y[5], -4.7609546126044174959433e-17, 1e-32);
    ck_assert(!signbit(y[0]) && !signbit(y[3]));
    evaluation_run(&e, POSREF_OP_ALL, "y", NULL);
    ck_assert_int_eq(e.out.n, 2);
    evaluation_close(&e);
}
END_TEST

/* x + sin or cos, in balls of 512 bits; rope's angles are the same. */
static double exact_sum(const struct posref_frequencies *of, int channel, double position, double x)
{
    struct posref_ball cosine, sine, sum;
    double out = 0;
    ck_assert_int_eq(posref_frequencies_cos_sin_ball(&cosine, &sine, of, channel / 2, position,
                                                     512), POSREF_OK);
    posref_ball_set_double(&sum, x);
    posref_ball_add(&sum, &sum, channel % 2 ? &cosine : &sine, 512);
    ck_assert(posref_ball_round(&out, &sum));
    return out;
}

START_TEST(embeddings_of_every_size)
{
    struct evaluation e, rope;
    struct posref_frequencies of;
    const double at = 257;
    double x[64];
    uint64_t seed = 9;
    for (int c = 0; c < 64; c++) /* 2^-96 ... 2^93 */
        x[c] = ldexp(next_random(&seed), 3 * (c - 32)) + ldexp(next_random(&seed), -60);
    evaluation_open(&rope, "dim=64");
    posref_frequencies_rope(&of, &rope.spec);
    evaluation_open(&e, "scheme=sinusoidal dim=64");
    evaluation_positions(&e, &at, 1);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){1, 64});
    const double *y = evaluation_run(&e, POSREF_OP_EMBED, "y", NULL);
    for (int c = 0; c < 64; c++)
        ck_assert_double_eq(y[c], exact_sum(&of, c, at, x[c]));
    evaluation_close(&e);
    evaluation_close(&rope);
}
END_TEST

START_TEST(a_shift_is_a_rotation)
{
    /* PE(p + k) = R(k) PE(p), the same R(k) for every p */
    enum { DIM = 16, SHIFT = 37 };
    const double at[] = {0, 5, 1000, 0 + SHIFT, 5 + SHIFT, 1000 + SHIFT, SHIFT};
    double pe[7 * DIM];
    table_of(pe, "scheme=sinusoidal dim=16", at, 7);
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < DIM; i += 2) {
            const double *from = pe + p * DIM + i, *to = pe + (p + 3) * DIM + i;
            double s = pe[6 * DIM + i], c = pe[6 * DIM + i + 1];
            ck_assert_close(from[0] * c + from[1] * s, to[0], 4e-16);
            ck_assert_close(from[1] * c - from[0] * s, to[1], 4e-16);
        }
}
END_TEST

START_TEST(products_depend_on_the_distance_alone)
{
    /* PE(p) . PE(p + k) = sum over i of cos(k theta_i); dim 64, mpmath */
    static const struct {
        double k, want;
    } products[] = {{0, 32}, {1, 30.916831661619026}, {5, 23.50397081044963},
                    {20, 18.879144173067106}};
    static const double starts[] = {0, 1, 17, 4095, 1048575};
    for (size_t k = 0; k < 4; k++)
        for (size_t p = 0; p < sizeof starts / sizeof *starts; p++) {
            const double at[] = {starts[p], starts[p] + products[k].k};
            double pe[128], sum = 0;
            table_of(pe, "scheme=sinusoidal dim=64", at, 2);
            for (int c = 0; c < 64; c++)
                sum += pe[c] * pe[64 + c];
            ck_assert_close(sum, products[k].want, 3e-14);
        }
}
END_TEST

START_TEST(bad_inputs_are_named)
{
    struct evaluation e;
    const double values[8] = {0};
    evaluation_open(&e, "scheme=sinusoidal dim=4");
    evaluation_refused(&e, POSREF_OP_ALL, "positions");
    evaluation_refused(&e, POSREF_OP_ROTATE, "op");
    evaluation_refused(&e, POSREF_OP_FREQUENCIES, "op");
    evaluation_positions(&e, values, 1);
    evaluation_refused(&e, POSREF_OP_EMBED, "x");
    evaluation_input(&e, "x", values, 1, (const int64_t[]){4});
    evaluation_refused(&e, POSREF_OP_ALL, "x");
    e.in.n = 1;
    evaluation_input(&e, "logits", values, 1, (const int64_t[]){4});
    evaluation_refused(&e, POSREF_OP_TABLE, "logits");
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        positions_0_to_3_of_dim_4, orders_and_exponents, same_angles_as_rope,
        embedding_is_rounded_once, embeddings_of_every_size, a_shift_is_a_rotation,
        products_depend_on_the_distance_alone, bad_inputs_are_named,
    };
    return RUN_EVALUATIONS("sinusoidal", tests);
}
