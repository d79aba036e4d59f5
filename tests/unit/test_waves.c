/* SPDX-License-Identifier: Apache-2.0 */
/* Variants of sinusoidal tables and timestep embeddings: witnesses of the literature, how the
 * variants hang together, odd widths, masks, and bad inputs. */
#include "eval_fixture.h"
#include "reference/waves.h"

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
    memcpy(out, table, (size_t)count * sizeof *out);
    evaluation_close(&e);
}

START_TEST(frequencies_of_dim_8)
{
    /* Angles at position 1, so below a quarter turn: 1, 0.1, 0.01, 0.001 over dim, and the ladder
     * that ends at 1/10000 over dim/2 - 1. */
    const double at = 1, over_d[] = {1, 0.1, 0.01, 0.001};
    const double half[] = {1, 0.0464158883361278, 0.00215443469003188, 0.0001};
    double got[8];
    table_of(got, "scheme=sinusoidal dim=8 order=concat", &at, 1);
    for (int i = 0; i < 4; i++)
        ck_assert_close(atan2(got[i], got[4 + i]), over_d[i], 1e-15);
    table_of(got, "scheme=sinusoidal dim=8 order=concat exponent=half_minus_one", &at, 1);
    for (int i = 0; i < 4; i++)
        ck_assert_close(atan2(got[i], got[4 + i]), half[i], 1e-15);
    /* min_timescale multiplies: 2 (10000/2)^(-i/3); at position 1/2, to stay below a turn */
    const double at_half = 0.5;
    table_of(got, "scheme=sinusoidal dim=8 order=concat exponent=half_minus_one min_timescale=2",
             &at_half, 1);
    for (int i = 0; i < 4; i++)
        ck_assert_close(atan2(got[i], got[4 + i]), pow(5000, -i / 3.0), 1e-15);
}
END_TEST

START_TEST(orders_hold_the_same_columns)
{
    const double at[] = {3, -17.5};
    double woven[2 * 10], concat[2 * 10], flipped[2 * 10];
    table_of(woven, "scheme=sinusoidal dim=10", at, 2);
    table_of(concat, "scheme=sinusoidal dim=10 order=concat", at, 2);
    table_of(flipped, "scheme=sinusoidal dim=10 order=flipped", at, 2);
    for (int row = 0; row < 20; row += 10)
        for (int i = 0; i < 5; i++) {
            ck_assert_same(&concat[row + i], &woven[row + 2 * i], 1);
            ck_assert_same(&concat[row + 5 + i], &woven[row + 2 * i + 1], 1);
            ck_assert_same(&flipped[row + i], &concat[row + 5 + i], 1);
            ck_assert_same(&flipped[row + 5 + i], &concat[row + i], 1);
        }
}
END_TEST

START_TEST(odd_dims)
{
    const double at[] = {0, 2};
    double even[2 * 4], odd[2 * 5];
    table_of(even, "scheme=sinusoidal dim=4 order=concat exponent=half_minus_one", at, 2);
    table_of(odd, "scheme=sinusoidal dim=5 order=concat exponent=half_minus_one "
                  "odd_dim=zero_column", at, 2);
    for (int row = 0; row < 2; row++) {
        ck_assert_same(&odd[5 * row], &even[4 * row], 4);
        ck_assert_same(&odd[5 * row + 4], &(double){0}, 1);
    }
    /* Marian: three sines, two cosines; theta_i = 10000^(-2i/5) */
    table_of(odd, "scheme=sinusoidal dim=5 order=concat odd_dim=extra_sine", at, 2);
    for (int i = 0; i < 3; i++) {
        ck_assert_close(odd[5 + i], sin(2 * pow(10000, -2 * i / 5.0)), 1e-15);
        if (i < 2)
            ck_assert_close(odd[5 + 3 + i], cos(2 * pow(10000, -2 * i / 5.0)), 1e-15);
    }
    double woven[2 * 5];
    table_of(woven, "scheme=sinusoidal dim=5 odd_dim=extra_sine", at, 2);
    for (int i = 0; i < 5; i++)
        ck_assert_same(&woven[5 + i], &odd[5 + (i % 2 ? 3 + i / 2 : i / 2)], 1);
    /* On an even dim the variant means nothing. */
    struct evaluation e;
    evaluation_open(&e, "scheme=sinusoidal dim=6 odd_dim=extra_sine");
    ck_assert(!e.spec.given[POSREF_FIELD_ODD_DIM]);
    evaluation_close(&e);
}
END_TEST

START_TEST(an_offset_shifts_positions)
{
    const double at[] = {0, 1, 5, -1}, shifted[] = {2, 3, 7, 1};
    double want[4 * 8], got[4 * 8];
    table_of(want, "scheme=sinusoidal dim=8", shifted, 4);
    table_of(got, "scheme=sinusoidal dim=8 offset=2", at, 4);
    ck_assert_same(got, want, 32);
    /* 0.1 + 1e-17 is no double: sin(0.1 + 1e-17) = sin 0.1 + 1e-17 cos 0.1 rounds past sin 0.1. */
    const double tenth = 0.1;
    double with[4], without[4];
    table_of(without, "scheme=sinusoidal dim=4", &tenth, 1);
    table_of(with, "scheme=sinusoidal dim=4 offset=1e-17", &tenth, 1);
    ck_assert(with[0] > without[0]);
}
END_TEST

START_TEST(positions_counted_from_a_mask)
{
    /* fairseq: the first token is at padding_idx + 1, padding is a row of zeros. */
    const double mask[] = {0, 1, 1, 0, 1}, at[] = {2, 3, 4};
    double want[3 * 8];
    const int row_of[] = {-1, 0, 1, -1, 2};
    struct evaluation e;
    table_of(want, "scheme=sinusoidal dim=8 order=concat exponent=half_minus_one", at, 3);
    evaluation_open(&e, "scheme=sinusoidal dim=8 order=concat exponent=half_minus_one "
                        "padding_idx=1");
    evaluation_input(&e, "mask", mask, 1, (const int64_t[]){5});
    const double zero[8] = {0}, *got = evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
    for (int row = 0; row < 5; row++)
        ck_assert_same(&got[8 * row], row_of[row] < 0 ? zero : &want[8 * row_of[row]], 8);
    evaluation_positions(&e, at, 3);
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    evaluation_close(&e);
    /* With positions a mask makes rows of zeros: a class token. */
    evaluation_open(&e, "scheme=sinusoidal dim=8 order=concat exponent=half_minus_one");
    evaluation_positions(&e, at, 3);
    evaluation_input(&e, "mask", mask, 1, (const int64_t[]){3});
    got = evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
    ck_assert_same(got, zero, 8);
    ck_assert_same(&got[8], &want[8], 16);
    evaluation_close(&e);
}
END_TEST

START_TEST(scaled_sums)
{
    const double at[] = {0, 3}, x[] = {1, -0.5, 2, 0.25, 3, -1, 0.125, -0.0};
    struct evaluation e;
    double table[8];
    table_of(table, "scheme=sinusoidal dim=4 table_scale=0.5", at, 2);
    ck_assert(table[0] == 0 && table[1] == 0.5 && table[3] == 0.5);
    evaluation_open(&e, "scheme=sinusoidal dim=4 table_scale=0.5 x_scale=sqrt_dim");
    evaluation_positions(&e, at, 2);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){2, 4});
    const double *y = evaluation_run(&e, POSREF_OP_EMBED, "y", NULL);
    ck_assert(y[0] == 2 && y[1] == -0.5 && y[2] == 4 && y[3] == 1); /* the root of 4 is exact */
    for (int k = 4; k < 8; k++)
        ck_assert_close(y[k], 2 * x[k] + table[k], 1e-15);
    evaluation_close(&e);
    evaluation_open(&e, "scheme=sinusoidal dim=6 x_scale=sqrt_dim");
    evaluation_positions(&e, at, 1);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){1, 6});
    y = evaluation_run(&e, POSREF_OP_EMBED, "y", NULL);
    for (int k = 0; k < 6; k++)
        ck_assert_close(y[k], sqrt(6) * x[k] + k % 2, 1e-15);
    evaluation_close(&e);
}
END_TEST

START_TEST(the_negative_side_of_a_relative_table)
{
    /* Conformer: distances T-1 ... -(T-1); sines change sign, cosines do not. */
    const double at[] = {3, 2, 1, 0, -1, -2, -3};
    double table[7 * 6];
    table_of(table, "scheme=sinusoidal dim=6", at, 7);
    for (int row = 0; row < 3; row++)
        for (int i = 0; i < 3; i++) {
            ck_assert(table[6 * row + 2 * i] == -table[6 * (6 - row) + 2 * i]);
            ck_assert_same(&table[6 * row + 2 * i + 1], &table[6 * (6 - row) + 2 * i + 1], 1);
        }
}
END_TEST

START_TEST(timesteps_are_sinusoids)
{
    const double at[] = {0, 1, 999, 0.5, 37.25};
    double want[5 * 12], got[5 * 12], odd[5 * 13];
    table_of(want, "scheme=sinusoidal dim=12 order=concat exponent=half_minus_one", at, 5);
    table_of(got, "scheme=timestep dim=12", at, 5);
    ck_assert_same(got, want, 60);
    table_of(want, "scheme=sinusoidal dim=12 order=flipped", at, 5);
    table_of(got, "scheme=timestep dim=12 flip_sin_to_cos=true downscale_freq_shift=0", at, 5);
    ck_assert_same(got, want, 60);
    table_of(odd, "scheme=timestep dim=13 flip_sin_to_cos=true downscale_freq_shift=0", at, 5);
    for (int row = 0; row < 5; row++) {
        ck_assert_same(&odd[13 * row], &want[12 * row], 12);
        ck_assert(odd[13 * row + 12] == 0);
    }
    /* Flux: sigma in [0, 1] times 1000 */
    const double sigma[] = {0, 0.5, 0.0625, 1, 0.25}, t[] = {0, 500, 62.5, 1000, 250};
    table_of(want, "scheme=timestep dim=12 downscale_freq_shift=0", t, 5);
    table_of(got, "scheme=timestep dim=12 downscale_freq_shift=0 scale=1000", sigma, 5);
    ck_assert_same(got, want, 60);
}
END_TEST

START_TEST(fourier_features)
{
    /* Whole quarter turns are exact; a logarithm of 1 is 0. */
    const double at[] = {1, 2, 3}, weights[] = {0.25, -0.5, 0.125, 0};
    const double turns[3][4] = {{0.25, -0.5, 0.125, 0}, {0.5, -1, 0.25, 0}, {0.75, -1.5, 0.375, 0}};
    struct evaluation e;
    for (int flip = 0; flip < 2; flip++) {
        evaluation_open(&e, flip ? "scheme=fourier dim=8 log=false flip_sin_to_cos=true"
                                 : "scheme=fourier dim=8 log=false");
        evaluation_positions(&e, at, 3);
        evaluation_input(&e, "weights", weights, 1, (const int64_t[]){4});
        const double *got = evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
        for (int k = 0; k < 12; k++) {
            const double t = turns[k / 4][k % 4], *row = got + k / 4 * 8 + k % 4;
            ck_assert_close(row[flip ? 4 : 0], sin(2 * acos(-1) * t), 2e-15);
            ck_assert_close(row[flip ? 0 : 4], cos(2 * acos(-1) * t), 2e-15);
            if (4 * t == floor(4 * t))
                ck_assert(row[0] == floor(row[0]) && row[4] == floor(row[4]));
        }
        evaluation_close(&e);
    }
    evaluation_open(&e, "scheme=fourier dim=8");
    evaluation_positions(&e, at, 3);
    evaluation_input(&e, "weights", weights, 1, (const int64_t[]){4});
    const double *got = evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
    for (int i = 0; i < 4; i++) {
        ck_assert(got[i] == 0 && got[4 + i] == 1);
        ck_assert_close(got[8 + i], sin(2 * acos(-1) * weights[i] * log(2)), 2e-15);
    }
    evaluation_close(&e);
    evaluation_open(&e, "scheme=fourier dim=8");
    evaluation_positions(&e, (const double[]){0}, 1);
    evaluation_refused(&e, POSREF_OP_TABLE, "weights");
    evaluation_input(&e, "weights", weights, 1, (const int64_t[]){4});
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    e.in.n = 1;
    evaluation_input(&e, "weights", weights, 1, (const int64_t[]){3});
    evaluation_refused(&e, POSREF_OP_TABLE, "weights");
    evaluation_close(&e);
}
END_TEST

static void spec_refused(const char *text, const char *key)
{
    struct posref_spec spec;
    struct posref_error err;
    posref_spec_init(&spec);
    enum posref_status status = posref_spec_parse(&spec, text, &err);
    if (status == POSREF_OK)
        status = posref_spec_complete(&spec, &err);
    ck_assert_msg(status == POSREF_BAD_INPUT, "%s", text);
    ck_assert_str_eq(err.key, key);
}

/* Sines of logarithms come off the fast path, whose enclosure holds the balls' value: thousands of
 * noise levels would take seconds otherwise. */
START_TEST(logarithms_are_fast)
{
    const double weights[] = {0.1, -3.3, 1e-30, -1e6, 0};
    struct posref_waves waves = {.turns_per = weights, .log = true,
                                 .magnitude = {.hi = 1, .is_one = true, .is_exact = true}};
    struct posref_coordinate at[] = {{.hi = 0x1p-1074}, {.hi = 0.3}, {.hi = 1 - 0x1p-53},
                                     {.hi = 1}, {.hi = 1 + 0x1p-52}, {.hi = 2147483647}};
    const int n = (int)(sizeof at / sizeof *at);
    struct posref_turn logs[sizeof at / sizeof *at];
    ck_assert_int_eq(posref_waves_logarithms(logs, at, n), POSREF_OK);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 5; i++) {
            struct posref_dd value[2];
            struct posref_ball wide[2], rest, bound;
            posref_waves_dd(&value[0], &value[1], &waves, i, &at[k]);
            ck_assert_int_eq(posref_waves_ball(&wide[0], &wide[1], &waves, i, &at[k], 512),
                             POSREF_OK);
            for (int w = 0; w < 2; w++) {
                ck_assert_double_le(value[w].err, 0x1p-95);
                posref_ball_set_double(&rest, value[w].hi);
                posref_ball_sub(&rest, &wide[w], &rest, 2200);
                posref_ball_set_double(&bound, value[w].lo);
                posref_ball_sub(&rest, &rest, &bound, 2200);
                if (rest.sign < 0)
                    posref_ball_neg(&rest, &rest);
                posref_ball_set_double(&bound, value[w].err + 0x1p-400);
                ck_assert_int_eq(posref_ball_compare(&rest, &bound), -1);
            }
        }
}
END_TEST

START_TEST(bad_specs_and_masks_are_named)
{
    struct evaluation e;
    const double values[] = {0, 1, 2, 1};
    spec_refused("scheme=sinusoidal dim=5", "dim");
    spec_refused("scheme=sinusoidal dim=5 exponent=half_minus_one odd_dim=extra_sine", "odd_dim");
    spec_refused("scheme=sinusoidal dim=2 exponent=half_minus_one", "exponent");
    spec_refused("scheme=sinusoidal dim=3 exponent=half_minus_one odd_dim=zero_column", "exponent");
    spec_refused("scheme=sinusoidal dim=8 base=2 min_timescale=2", "min_timescale");
    spec_refused("scheme=sinusoidal dim=8 padding_idx=1 offset=2", "offset");
    spec_refused("scheme=fourier dim=7", "dim");
    spec_refused("scheme=timestep dim=2", "downscale_freq_shift");
    spec_refused("scheme=timestep dim=3", "downscale_freq_shift");
    spec_refused("scheme=timestep dim=8 downscale_freq_shift=4", "downscale_freq_shift");
    spec_refused("scheme=timestep dim=8 order=concat", "order");
    evaluation_open(&e, "scheme=sinusoidal dim=4");
    evaluation_positions(&e, values, 4);
    evaluation_input(&e, "mask", values, 1, (const int64_t[]){3}); /* shape, and a 2 */
    evaluation_refused(&e, POSREF_OP_TABLE, "mask");
    e.in.n = 1;
    evaluation_input(&e, "mask", values, 1, (const int64_t[]){2});
    evaluation_refused(&e, POSREF_OP_TABLE, "mask");
    e.in.n = 1;
    evaluation_input(&e, "mask", values, 2, (const int64_t[]){2, 2});
    evaluation_refused(&e, POSREF_OP_TABLE, "mask");
    evaluation_close(&e);
    evaluation_open(&e, "scheme=sinusoidal dim=4 padding_idx=1");
    evaluation_refused(&e, POSREF_OP_TABLE, "mask");
    evaluation_close(&e);
    evaluation_open(&e, "scheme=sinusoidal dim=4 offset=2147483647");
    evaluation_positions(&e, values, 4);
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    evaluation_close(&e);
    evaluation_open(&e, "scheme=timestep dim=4");
    evaluation_positions(&e, values, 4);
    evaluation_refused(&e, POSREF_OP_EMBED, "op");
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        frequencies_of_dim_8, orders_hold_the_same_columns, odd_dims, an_offset_shifts_positions,
        positions_counted_from_a_mask, scaled_sums, the_negative_side_of_a_relative_table,
        timesteps_are_sinusoids, fourier_features, logarithms_are_fast,
        bad_specs_and_masks_are_named,
    };
    return RUN_EVALUATIONS("waves", tests);
}
