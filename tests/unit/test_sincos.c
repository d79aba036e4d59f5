/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal tables over several position axes: how they are put together from tables of one axis,
 * the conventions of MAE, diffusers and DETR, exact parts of a turn, defaults, judging, bad
 * inputs. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* The table of positions [n_axes, n]. */
static void table_of(double *out, const char *spec, const double *positions, int64_t n_axes,
                     int64_t n)
{
    struct evaluation e;
    int64_t count;
    evaluation_open(&e, spec);
    evaluation_input(&e, "positions", positions, n_axes > 1 ? 2 : 1,
                     (const int64_t[]){n_axes > 1 ? n_axes : n, n});
    const double *table = evaluation_run(&e, POSREF_OP_TABLE, "table", &count);
    ck_assert_int_eq(count, n * e.spec.dim);
    memcpy(out, table, (size_t)count * sizeof *out);
    evaluation_close(&e);
}

static const double rows[] = {0, 3, 17}, columns[] = {1, 13, 5}, times[] = {2, 9, 4};
static const double row_column[] = {0, 3, 17, 1, 13, 5};
static const double time_row_column[] = {2, 9, 4, 0, 3, 17, 1, 13, 5};

START_TEST(blocks_are_tables_of_one_axis)
{
    double of_row[3 * 8], of_column[3 * 8], got[3 * 16];
    table_of(of_row, "scheme=sinusoidal dim=8 order=concat", rows, 1, 3);
    table_of(of_column, "scheme=sinusoidal dim=8 order=concat", columns, 1, 3);
    /* MAE: the first half encodes the column. */
    table_of(got, "scheme=sinusoidal dim=16 order=concat axes_dims=8,8 axes_channels=column_first",
             row_column, 2, 3);
    for (int k = 0; k < 3; k++) {
        ck_assert_same(&got[16 * k], &of_column[8 * k], 8);
        ck_assert_same(&got[16 * k + 8], &of_row[8 * k], 8);
    }
    table_of(got, "scheme=sinusoidal dim=16 order=concat axes_dims=8,8", row_column, 2, 3);
    for (int k = 0; k < 3; k++) {
        ck_assert_same(&got[16 * k], &of_row[8 * k], 8);
        ck_assert_same(&got[16 * k + 8], &of_column[8 * k], 8);
    }
}
END_TEST

START_TEST(three_axes)
{
    /* CogVideoX: a quarter for the time, which comes first, then column and row; another width
     * for each axis shows which block it lies in. */
    static const struct {
        const char *channels;
        int first[3]; /* of time, row, column */
    } orders[] = {{"in_order", {0, 4, 10}}, {"column_first", {0, 12, 4}}, {"reversed", {14, 8, 0}}};
    const double *of[] = {times, rows, columns};
    const int width[] = {4, 6, 8};
    for (size_t o = 0; o < 3; o++) {
        char spec[160], one[80];
        double got[3 * 18], part[3 * 8];
        snprintf(spec, sizeof spec, "scheme=sinusoidal dim=18 axes_dims=4,6,8 axes_channels=%s",
                 orders[o].channels);
        table_of(got, spec, time_row_column, 3, 3);
        for (int axis = 0; axis < 3; axis++) {
            snprintf(one, sizeof one, "scheme=sinusoidal dim=%d", width[axis]);
            table_of(part, one, of[axis], 1, 3);
            for (int k = 0; k < 3; k++)
                ck_assert_same(&got[18 * k + orders[o].first[axis]], &part[width[axis] * k],
                               width[axis]);
        }
    }
}
END_TEST

START_TEST(lengths_divide_positions)
{
    /* PixArt: index / (grid / base_size) / interpolation_scale, grid 64, base 64, scale 2. */
    const double at[] = {0, 3, 17, 1, 13, 5}, half[] = {0, 1.5, 8.5, 0.25, 3.25, 1.25};
    double want[3 * 16], got[3 * 16];
    table_of(want, "scheme=sinusoidal dim=16 axes_dims=8,8", half, 2, 3);
    table_of(got, "scheme=sinusoidal dim=16 axes_dims=8,8 axes_lengths=2,4", at, 2, 3);
    ck_assert_same(got, want, 48);
    /* CogVideoX: 1.875 is exact, but the quotients are not. */
    table_of(got, "scheme=sinusoidal dim=16 axes_dims=8,8 axes_lengths=1,1.875 order=concat", at, 2,
             3);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++)
            ck_assert_close(got[16 * k + 8 + i], sin(at[3 + k] / 1.875 * pow(10000, -i / 4.0)),
                            1e-15);
    /* Far below a double's spacing of the quotient: the length is not rounded. */
    const double one[] = {1, 1};
    double with[8], without[8];
    table_of(without, "scheme=sinusoidal dim=8 axes_dims=4,4 axes_lengths=3,3", one, 2, 1);
    table_of(with, "scheme=sinusoidal dim=8 axes_dims=4,4 axes_lengths=3,3 length_eps=1e-17", one,
             2, 1);
    ck_assert(with[0] == without[0]); /* sin(1/3): 3e-19 moves no rounding here */
    table_of(with, "scheme=sinusoidal dim=8 axes_dims=4,4 axes_lengths=3,3 length_eps=1e-15", one,
             2, 1);
    ck_assert(with[0] < without[0]);
}
END_TEST

START_TEST(detr_table)
{
    /* (y / (25 + 1e-6)) 2 pi / 10000^(2 floor(j / 2) / 8), y and then x */
    const double at[] = {1, 12, 25, 1, 17, 34}, length[] = {25, 34};
    double got[3 * 16];
    table_of(got, "scheme=sinusoidal dim=16 axes_dims=8,8 axes_lengths=25,34 length_eps=1e-6 "
                  "angle_unit=turn", at, 2, 3);
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 16; j++) {
            const double y = at[j / 8 * 3 + k] / (length[j / 8] + 1e-6) * 2 * PI;
            const double angle = y / pow(10000, 2 * (j % 8 / 2) / 8.0);
            ck_assert_close(got[16 * k + j], j % 2 ? cos(angle) : sin(angle), 1e-14);
        }
    /* 1-based positions are an offset; Deformable DETR takes a half from them. */
    const double zero_based[] = {0, 11, 24, 0, 16, 33};
    double same[3 * 16];
    table_of(same, "scheme=sinusoidal dim=16 axes_dims=8,8 axes_lengths=25,34 length_eps=1e-6 "
                   "angle_unit=turn offset=1", zero_based, 2, 3);
    ck_assert_same(same, got, 48);
}
END_TEST

START_TEST(parts_of_a_turn_are_exact)
{
    static const double at[] = {0, 1, 2, 3, 4, 6, 9, 12, 13, -1, 36};
    static const double sines[] = {0, 0.5, 0, 1, 0, 0, -1, 0, 0.5, -0.5, 0};
    double got[11 * 4], y[11 * 4], x[11 * 4];
    table_of(got, "scheme=sinusoidal dim=4 axes_dims=4 axes_lengths=12 angle_unit=turn", at, 1, 11);
    for (int k = 0; k < 11; k++) {
        if (fabs(sines[k]) == 0.5 || at[k] == 0 || fmod(at[k], 3) == 0)
            ck_assert(got[4 * k] == sines[k]);
        else
            ck_assert_close(fabs(got[4 * k]), sqrt(3) / 2, 1e-16);
        ck_assert(!(got[4 * k] == 0 && signbit(got[4 * k])));
    }
    ck_assert(got[4 * 3 + 1] == 0 && got[4 * 5 + 1] == -1 && got[4 * 2 + 1] == 0.5);
    /* A quarter of the length and of the unit are the same angles. */
    double quarter[11 * 4];
    table_of(quarter, "scheme=sinusoidal dim=4 axes_dims=4 axes_lengths=3 angle_unit=quarter_turn",
             at, 1, 11);
    ck_assert_same(quarter, got, 44);
    /* A position and a length that are no doubles but equal: exactly one turn. */
    const double one = 1;
    table_of(quarter, "scheme=sinusoidal dim=4 axes_dims=4 axes_lengths=1 length_eps=1e-17 "
                      "offset=1e-17 angle_unit=turn", &one, 1, 1);
    ck_assert(quarter[0] == 0 && quarter[1] == 1);
    /* base 81, width 8: frequencies 1, 1/3, 1/9, 1/27 */
    const double nine = 27;
    double thirds[8];
    table_of(thirds, "scheme=sinusoidal dim=8 axes_dims=8 base=81 axes_lengths=12 angle_unit=turn",
             &nine, 1, 1);
    ck_assert(thirds[0] == 1 && thirds[2] == -1 && thirds[4] == 1 && thirds[6] == 0.5);
    /* What cancels is exactly zero. */
    struct evaluation e;
    for (int k = 0; k < 44; k++)
        x[k] = -got[k];
    evaluation_open(&e, "scheme=sinusoidal dim=4 axes_dims=4 axes_lengths=12 angle_unit=turn");
    evaluation_positions(&e, at, 11);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){11, 4});
    memcpy(y, evaluation_run(&e, POSREF_OP_EMBED, "y", NULL), sizeof y);
    ck_assert(y[4] == 0 && y[4 * 3] == 0 && y[4 * 3 + 1] == 0 && y[4 * 8] == 0);
    evaluation_close(&e);
}
END_TEST

START_TEST(a_class_token_is_a_row_of_zeros)
{
    const double at[] = {0, 0, 0, 0, 0, 1}, mask[] = {0, 1, 1}, zero[8] = {0};
    double want[2 * 8];
    const double grid[] = {0, 0, 0, 1};
    struct evaluation e;
    table_of(want, "scheme=sinusoidal dim=8 order=concat axes_dims=4,4 axes_channels=column_first",
             grid, 2, 2);
    evaluation_open(&e, "scheme=sinusoidal dim=8 order=concat axes_dims=4,4 "
                        "axes_channels=column_first");
    evaluation_input(&e, "positions", at, 2, (const int64_t[]){2, 3});
    evaluation_input(&e, "mask", mask, 1, (const int64_t[]){3});
    const double *got = evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
    ck_assert_same(got, zero, 8);
    ck_assert_same(&got[8], want, 16);
    evaluation_close(&e);
}
END_TEST

START_TEST(default_split)
{
    static const struct {
        const char *dim, *positions;
        int dims[3];
    } cases[] = {{"16", "1:2", {8, 8, 0}},
                 {"32", "1:2:3", {8, 12, 12}},
                 {"64", "1:2:3", {16, 24, 24}}};
    for (size_t k = 0; k < 3; k++) {
        struct posref_heap *heap = posref_heap_new(0);
        struct posref_arena arena = posref_heap_arena(heap);
        struct posref_request request;
        struct posref_error err = {"", ""};
        const char *const typed[][2] = {{"scheme", "sinusoidal"}, {"dim", cases[k].dim},
                                        {"axes_channels", "column_first"},
                                        {"positions", cases[k].positions}};
        posref_request_init(&request);
        for (size_t t = 0; t < 4; t++)
            ck_assert(posref_request_set(&request, typed[t][0], typed[t][1], &arena, &err) ==
                      POSREF_OK);
        ck_assert_msg(posref_request_complete(&request, &err) == POSREF_OK, "%s", err.text);
        ck_assert_mem_eq(request.spec.axes_dims.item, cases[k].dims, sizeof cases[k].dims);
        posref_heap_free(heap);
    }
}
END_TEST

START_TEST(bad_inputs)
{
    static const char *const wrong[][2] = {
        {"dim=8 axes_dims=4,6", "axes_dims"}, {"dim=8 axes_dims=3,5", "axes_dims"},
        {"dim=7 axes_dims=4,4 odd_dim=zero_column", "axes_dims"},
        {"dim=8 axes_dims=8 axes_channels=column_first", "axes_channels"},
        {"dim=8 axes_channels=reversed", "axes_channels"}, {"dim=8 angle_unit=turn", "angle_unit"},
        {"dim=8 axes_lengths=3", "axes_lengths"},
        {"dim=8 axes_dims=4,4 axes_lengths=3", "axes_lengths"},
        {"dim=8 axes_dims=4,4 axes_lengths=3,0", "axes_lengths"},
        {"dim=8 axes_dims=4,4 length_eps=1e-6", "length_eps"},
        {"dim=8 axes_dims=4,4 padding_idx=1", "padding_idx"},
        {"dim=8 axes_dims=4,4 angle_unit=turn x_scale=sqrt_dim", "x_scale"},
        {"dim=8 axes_dims=4,4 angle_unit=turn min_timescale=2", "min_timescale"},
        {"dim=8 axes_dims=2,6 exponent=half_minus_one", "exponent"},
        {"dim=8 axes_dims=4,4 axes_ladder=shared", "axes_ladder"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char text[160];
        struct posref_spec spec;
        struct posref_error err = {"", ""};
        snprintf(text, sizeof text, "scheme=sinusoidal %s", wrong[k][0]);
        posref_spec_init(&spec);
        enum posref_status status = posref_spec_parse(&spec, text, &err);
        if (status == POSREF_OK)
            status = posref_spec_complete(&spec, &err);
        ck_assert_msg(status == POSREF_BAD_INPUT, "%s is taken", text);
        ck_assert_str_eq(err.key, wrong[k][1]);
    }
    struct evaluation e;
    evaluation_open(&e, "scheme=sinusoidal dim=8 axes_dims=4,4");
    evaluation_positions(&e, rows, 3);
    evaluation_refused(&e, POSREF_OP_TABLE, "positions");
    evaluation_close(&e);
}
END_TEST

#define N 5
static const double grid[2 * N] = {1, 2, 12, 24, 25, 1, 33, 17, 5, 34};

/* A float32 kernel as MAE and DETR have it; wrong 1: axes exchanged, 2: no normalising, 3: halves
 * instead of pairs, 4: the exponent over dim instead of the axis's width. */
static void kernel(float *out, bool detr, int wrong)
{
    const float length[2] = {25, 34};
    for (int k = 0; k < N; k++)
        for (int b = 0; b < 2; b++) {
            const int axis = (b == 0) == (detr != (wrong == 1)) ? 0 : 1;
            float p = (float)grid[axis * N + k];
            if (detr && wrong != 2)
                p = p / (length[axis] + 1e-6F) * (float)(2 * PI);
            for (int i = 0; i < 16; i++) {
                const float t = powf(10000, (float)i / (wrong == 4 ? 32 : 16));
                const bool woven = detr != (wrong == 3);
                float *to = &out[64 * k + 32 * b];
                to[woven ? 2 * i : i] = sinf(p / t);
                to[woven ? 2 * i + 1 : 16 + i] = cosf(p / t);
            }
        }
}

START_TEST(kernels_are_judged)
{
    static const char *const specs[] = {
        "scheme=sinusoidal dim=64 order=concat axes_dims=32,32 axes_channels=column_first",
        "scheme=sinusoidal dim=64 axes_dims=32,32 axes_lengths=25,34 length_eps=1e-6 "
        "angle_unit=turn"};
    for (int detr = 0; detr < 2; detr++)
        for (int wrong = 0; wrong < 5; wrong++) {
            struct evaluation e;
            struct posref_judgement j;
            float made[N * 64];
            if (wrong == 2 && !detr)
                continue;
            evaluation_open(&e, specs[detr]);
            evaluation_input(&e, "positions", grid, 2, (const int64_t[]){2, N});
            (void)evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
            kernel(made, detr, wrong);
            struct posref_tensors actual = e.out;
            actual.item[0].dtype = POSREF_F32;
            actual.item[0].data = made;
            enum posref_status judged =
                posref_judge(&j, &e.spec, POSREF_OP_TABLE, &e.in, &e.out, &actual, POSREF_F32,
                             posref_grade_default(POSREF_F32), &e.arena, &e.err);
            ck_assert(judged == POSREF_OK);
            ck_assert_msg(j.pass == (wrong == 0), "%s, kernel %d: %.3g limits", specs[detr], wrong,
                          j.error_limits);
            ck_assert_int_ge(j.n_compared, N * 32); /* pairs */
            evaluation_close(&e);
        }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {blocks_are_tables_of_one_axis, three_axes,
                                  lengths_divide_positions, detr_table, parts_of_a_turn_are_exact,
                                  a_class_token_is_a_row_of_zeros, default_split, bad_inputs,
                                  kernels_are_judged};
    return RUN_EVALUATIONS("sincos", tests);
}
