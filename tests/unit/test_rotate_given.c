/* SPDX-License-Identifier: Apache-2.0 */
/* Rotation by tables that are handed in: sums of two products, each rounded once. */
#include "eval_fixture.h"

#include <math.h>
#include <string.h>

static void spec_of(struct posref_spec *out, const char *text)
{
    struct evaluation e;
    evaluation_open(&e, text);
    *out = e.spec;
    evaluation_close(&e);
}

/* Products of 32 bits are exact in double, so that its sum rounds once. */
START_TEST(rounded_once)
{
    struct posref_spec spec;
    double x[8], c[4], s[4], y[8];
    uint64_t seed = 5;
    spec_of(&spec, "dim=8");
    for (int round = 0; round < 1000; round++) {
        for (int k = 0; k < 8; k++)
            x[k] = ldexp(floor(next_random(&seed) * 64), -6 + round % 5);
        for (int i = 0; i < 4; i++) {
            c[i] = (double)cosf((float)next_random(&seed));
            s[i] = (double)sinf((float)next_random(&seed) / (float)(1 << (round % 24)));
        }
        ck_assert_int_eq(posref_rotate_given(y, x, c, s, 1, 1, &spec, false), POSREF_OK);
        for (int i = 0; i < 4; i++) {
            ck_assert_double_eq(y[i], x[i] * c[i] - x[i + 4] * s[i]);
            ck_assert_double_eq(y[i + 4], x[i + 4] * c[i] + x[i] * s[i]);
        }
    }
}
END_TEST

/* What two roundings lose, ties, and zeros with their signs. */
START_TEST(hard_sums)
{
    struct posref_spec spec;
    double y[2];
    spec_of(&spec, "dim=2");
    const struct {
        double x[2], c, s, want[2];
    } cases[] = {
        {{1 + 0x1p-52, 1 + 0x1p-51}, 1 + 0x1p-52, 1, {0x1p-104, 2 + 0x1p-50}},
        {{1, 0x1p-53}, 1, 1, {1 - 0x1p-53, 1}},            /* 1 + 2^-53 ties to even */
        {{1 + 0x1p-52, -0x1p-53}, 1, 1, {1 + 0x1p-51, 1}}, /* and here upwards */
        {{3, 4}, 4, 3, {0, 25}},
        {{0x1p-800, 0x1p800}, 0x1p-60, 0x1p-60, {-0x1p740, 0x1p740}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ck_assert_int_eq(posref_rotate_given(y, cases[k].x, &cases[k].c, &cases[k].s, 1, 1, &spec,
                                             false), POSREF_OK);
        ck_assert_msg(memcmp(y, cases[k].want, sizeof y) == 0, "case %zu: %a %a", k, y[0], y[1]);
    }
    const double zero[] = {-0.0, 0.0}, one = 1;
    ck_assert_int_eq(posref_rotate_given(y, zero, &one, &one, 1, 1, &spec, false), POSREF_OK);
    ck_assert(signbit(y[0]) && !signbit(y[1]) && y[0] == 0 && y[1] == 0);
}
END_TEST

/* With tables in double the rotation is the golden one, but for their rounding. */
START_TEST(near_the_golden_one)
{
    static const char *const specs[] = {
        "dim=12 rotary_dim=8", "dim=12 rotary_dim=8 partial=trailing pairing=interleaved",
        "dim=12 rotary_dim=8 pairing=interleaved_to_half direction=inverse",
        "dim=12 scaling=yarn factor=4 original_max_position_embeddings=64"};
    const double positions[] = {3, 131071};
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int backward = 0; backward < 2; backward++) {
            struct evaluation e;
            double x[2 * 2 * 12], y[2 * 2 * 12];
            uint64_t seed = k;
            for (int i = 0; i < 48; i++)
                x[i] = next_random(&seed);
            evaluation_open(&e, specs[k]);
            evaluation_positions(&e, positions, 2);
            evaluation_input(&e, backward ? "dy" : "x", x, 3, (const int64_t[]){2, 2, 12});
            const double *want = evaluation_run(&e, POSREF_OP_ALL, backward ? "dx" : "y", NULL);
            const double *c = posref_tensors_find(&e.out, "cos")->data;
            const double *s = posref_tensors_find(&e.out, "sin")->data;
            ck_assert_int_eq(posref_rotate_given(y, x, c, s, 2, 2, &e.spec, backward), POSREF_OK);
            for (int i = 0; i < 48; i++)
                ck_assert_close(y[i], want[i], 4e-16 * 4);
            evaluation_close(&e);
        }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {rounded_once, hard_sums, near_the_golden_one};
    return RUN_EVALUATIONS("rotate_given", tests);
}
