/* SPDX-License-Identifier: Apache-2.0 */
/* Learned tables: rows of released models' rules, positions beyond the table, resampling against
 * worked values and its properties, judging, and bad inputs. */
#include "eval_fixture.h"
#include "reference/judge.h"
#include "reference/resample.h"

#include <math.h>
#include <string.h>

/* Rows 0 1, 2 3, 4 5, ... */
static void add_table(struct evaluation *e, int64_t rows)
{
    double value[128];
    for (int64_t k = 0; k < rows * e->spec.dim; k++)
        value[k] = (double)k;
    evaluation_input(e, "weights", value, 2, (const int64_t[]){rows, e->spec.dim});
}

/* The rows that a spec picks for positions or, where `mask` says so, counts from a mask. */
static void picks(const char *spec, bool mask, const double *at, const double *rows, int64_t n)
{
    struct evaluation e;
    evaluation_open(&e, spec);
    evaluation_input(&e, mask ? "mask" : "positions", at, 1, &n);
    add_table(&e, 10);
    const double *got = evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
    for (int64_t k = 0; k < n; k++)
        ck_assert_msg(got[2 * k] == 2 * rows[k] && got[2 * k + 1] == 2 * rows[k] + 1,
                      "%s: element %d is row %g, not %g", spec, (int)k, got[2 * k] / 2, rows[k]);
    evaluation_close(&e);
}

START_TEST(rows_of_the_rules)
{
    const double at[] = {0, 1, 7}, mask[] = {0, 1, 1, 0, 1};
    picks("scheme=learned dim=2", false, at, at, 3);
    picks("scheme=learned dim=2 offset=2", false, at, (const double[]){2, 3, 9}, 3); /* BART */
    /* RoBERTa: cumsum(mask) mask + 1; OPT: cumsum(mask) mask - 1 + 2 */
    picks("scheme=learned dim=2 padding_idx=1", true, mask, (const double[]){1, 2, 3, 1, 4}, 5);
    picks("scheme=learned dim=2 offset=2", true, mask, (const double[]){1, 2, 3, 1, 4}, 5);
    picks("scheme=learned dim=2 padding_idx=0", true, mask, (const double[]){0, 1, 2, 0, 3}, 5);
    picks("scheme=learned dim=2 beyond=truncate", false, (const double[]){-3, 9, 10, 2147483647},
          (const double[]){0, 9, 9, 9}, 4);
}
END_TEST

START_TEST(copies_and_sums)
{
    const double weights[] = {-0.0, 0x1p53, 0.5, -1}, x[] = {-0.0, 1, 0.25, 3};
    const double at[] = {0, 1};
    struct evaluation e;
    evaluation_open(&e, "scheme=learned dim=2");
    evaluation_positions(&e, at, 2);
    evaluation_input(&e, "weights", weights, 2, (const int64_t[]){2, 2});
    evaluation_input(&e, "x", x, 2, (const int64_t[]){2, 2});
    ck_assert_same(evaluation_run(&e, POSREF_OP_TABLE, "table", NULL), weights, 4);
    const double *y = evaluation_run(&e, POSREF_OP_EMBED, "y", NULL);
    ck_assert_same(y, ((const double[]){-0.0, 0x1p53, 0.75, 2}), 4); /* a tie to even */
    evaluation_close(&e);
    evaluation_open(&e, "scheme=learned dim=2 table_scale=0.125 x_scale=sqrt_dim");
    evaluation_positions(&e, at, 2);
    evaluation_input(&e, "weights", weights, 2, (const int64_t[]){2, 2});
    evaluation_input(&e, "x", x, 2, (const int64_t[]){2, 2});
    y = evaluation_run(&e, POSREF_OP_EMBED, "y", NULL);
    ck_assert_double_eq(y[2], 0.25 * sqrt(2) + 0.0625);
    ck_assert_close(y[3], 3 * sqrt(2) - 0.125, 1e-15);
    evaluation_close(&e);
}
END_TEST

START_TEST(taps_of_the_kernels)
{
    struct posref_taps t;
    /* 4 to 8: entry 1 lies at 1/4, entry 0 at -1/4. Keys with a = -3/4 at 1/4, by hand. */
    const double want[] = {-0.10546875, 0.87890625, 0.26171875, -0.03515625};
    posref_resample(&t, 4, 8, 1, true);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq((double)t.numerator[i] / (double)t.denominator, want[i]);
    ck_assert(t.index[0] == 0 && t.index[1] == 0 && t.index[2] == 1 && t.index[3] == 2);
    posref_resample(&t, 4, 8, 0, true); /* floor(-1/4) = -1, fraction 3/4 */
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq((double)t.numerator[i] / (double)t.denominator, want[3 - i]);
    ck_assert(t.index[1] == 0 && t.index[2] == 0 && t.index[3] == 1);
    posref_resample(&t, 4, 8, 0, false); /* clamped to 0 */
    ck_assert(t.index[0] == 0 && t.numerator[1] == 0);
    posref_resample(&t, 4, 8, 7, false); /* 3 1/4: the last row twice */
    ck_assert(t.index[0] == 3 && t.index[1] == 3);
    posref_resample(&t, 65536, 65535, 65534, true); /* the largest still fit */
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)t.numerator[i] / (double)t.denominator;
    ck_assert_close(sum, 1, 1e-15);
}
END_TEST

START_TEST(stretched_tables)
{
    struct evaluation e;
    double weights[10], at[40];
    for (int k = 0; k < 40; k++)
        at[k] = k;
    /* Weights sum to 1: a constant stays, whatever the grids, 0.1 too. */
    evaluation_open(&e, "scheme=learned dim=2 beyond=interpolate prefix_rows=1 source_grid=2,2 "
                        "target_grid=3,7");
    for (int k = 0; k < 10; k++)
        weights[k] = k < 2 ? -9 : 0.1;
    evaluation_positions(&e, at, 22);
    evaluation_input(&e, "weights", weights, 2, (const int64_t[]){5, 2});
    const double *got = evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
    for (int k = 0; k < 44; k++)
        ck_assert_double_eq(got[k], k < 2 ? -9 : 0.1);
    evaluation_close(&e);
    /* 2 rows to 4: 0, 1/4, 3/4, 1 of the way. */
    evaluation_open(&e, "scheme=learned dim=2 beyond=interpolate source_grid=2 target_grid=4");
    evaluation_positions(&e, at, 4);
    evaluation_input(&e, "weights", (const double[]){0, 8, 4, -8}, 2, (const int64_t[]){2, 2});
    got = evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
    ck_assert_same(got, ((const double[]){0, 8, 1, 4, 3, -4, 4, -8}), 8);
    evaluation_close(&e);
    /* Cubic, 4 to 8, of the unit row 1: entries at -1/4, 1/4, 3/4, 5/4 see it by their taps. */
    evaluation_open(&e, "scheme=learned dim=2 beyond=interpolate interpolation=cubic "
                        "source_grid=4 target_grid=8");
    evaluation_positions(&e, at, 4);
    evaluation_input(&e, "weights", (const double[]){0, 0, 1, 2, 0, 0, 0, 0}, 2,
                     (const int64_t[]){4, 2});
    got = evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
    const double one[] = {-0.10546875, 0.26171875, 0.87890625, 0.87890625};
    for (int k = 0; k < 4; k++)
        ck_assert(got[2 * k] == one[k] && got[2 * k + 1] == 2 * one[k]);
    evaluation_close(&e);
}
END_TEST

START_TEST(the_same_size_is_untouched)
{
    const double weights[] = {-0.0, 0.1, 1e-300, 3, -7, 0.3, 1e300, -1e-5}, at[] = {0, 1, 2, 3};
    struct evaluation e;
    evaluation_open(&e, "scheme=learned dim=2 beyond=interpolate source_grid=2,2 target_grid=2,2");
    evaluation_positions(&e, at, 4);
    evaluation_input(&e, "weights", weights, 2, (const int64_t[]){4, 2});
    ck_assert_same(evaluation_run(&e, POSREF_OP_TABLE, "table", NULL), weights, 8);
    evaluation_close(&e);
}
END_TEST

/* Cubic convolution in float32, a = -3/4 or another; 4x4 with a class token to 6x6. */
static float keys(float u, float a)
{
    u = fabsf(u);
    return u <= 1 ? ((a + 2) * u - (a + 3)) * u * u + 1 : ((a * u - 5 * a) * u + 8 * a) * u - 4 * a;
}

static float stretch(const double *weights, int t, int channel, float a, float shift)
{
    float sum = 0, place[2] = {((float)(t / 6) + 0.5F) * 4 / 6 - 0.5F + shift,
                               ((float)(t % 6) + 0.5F) * 4 / 6 - 0.5F + shift};
    for (int i = -1; i < 3; i++)
        for (int j = -1; j < 3; j++) {
            float y = floorf(place[0]), x = floorf(place[1]);
            int row = (int)fminf(fmaxf(y + (float)i, 0), 3);
            int col = (int)fminf(fmaxf(x + (float)j, 0), 3);
            sum += keys(place[0] - y - (float)i, a) * keys(place[1] - x - (float)j, a) *
                   (float)weights[(1 + 4 * row + col) * 3 + channel];
        }
    return sum;
}

START_TEST(judged_by_their_rounding)
{
    struct evaluation e;
    struct posref_judgement j;
    double weights[17 * 3], at[37];
    float made[37 * 3];
    uint64_t seed = 11;
    evaluation_open(&e, "scheme=learned dim=3 beyond=interpolate prefix_rows=1 source_grid=4,4 "
                        "target_grid=6,6");
    for (int k = 0; k < 51; k++)
        weights[k] = next_random(&seed);
    for (int k = 0; k < 37; k++)
        at[k] = k;
    evaluation_positions(&e, at, 37);
    evaluation_input(&e, "weights", weights, 2, (const int64_t[]){17, 3});
    (void)evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
    /* right; bicubic with a = -1/2; corners aligned by half a pixel's shift; a class token copied
     * with one bit wrong */
    for (int wrong = 0; wrong < 4; wrong++) {
        for (int k = 0; k < 111; k++)
            made[k] = k < 3 ? (float)weights[k]
                            : stretch(weights, k / 3 - 1, k % 3, wrong == 1 ? -0.5F : -0.75F,
                                      wrong == 2 ? 0.01F : 0);
        if (wrong == 3)
            made[1] = nextafterf(made[1], 9);
        struct posref_tensors actual = e.out;
        actual.item[0].dtype = POSREF_F32;
        actual.item[0].data = made;
        ck_assert(posref_judge(&j, &e.spec, POSREF_OP_TABLE, &e.in, &e.out, &actual, POSREF_F32,
                               POSREF_GRADE_RECURRENCE, &e.arena, &e.err) == POSREF_OK);
        ck_assert_msg(j.pass == (wrong == 0), "kernel %d: %s, %.3g limits", wrong,
                      posref_breach_text(j.breach), j.error_limits);
        ck_assert_int_eq(j.n_judged, 111);
    }
    evaluation_close(&e);
}
END_TEST

static void refused(const char *spec, const char *input, double at, const char *key)
{
    struct evaluation e;
    evaluation_open(&e, spec);
    evaluation_input(&e, input, &at, 1, (const int64_t[]){1});
    add_table(&e, 5);
    evaluation_refused(&e, POSREF_OP_TABLE, key);
    evaluation_close(&e);
}

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

START_TEST(bad_inputs_are_named)
{
    struct evaluation e;
    refused("scheme=learned dim=2", "positions", 5, "positions");
    refused("scheme=learned dim=2", "positions", -1, "positions");
    refused("scheme=learned dim=2", "positions", 0.5, "positions");
    refused("scheme=learned dim=2 offset=2", "positions", 3, "positions");
    refused("scheme=learned dim=2 padding_idx=4", "mask", 1, "mask");
    refused("scheme=learned dim=2", "mask", 0, "mask"); /* padding has row -1 */
    refused("scheme=learned dim=2 padding_idx=1", "positions", 1, "positions");
    refused("scheme=learned dim=2 beyond=interpolate source_grid=4 target_grid=8", "positions", 0,
            "weights");
    refused("scheme=learned dim=2 beyond=interpolate source_grid=5 target_grid=8", "positions", 8,
            "positions");
    spec_refused("scheme=learned dim=2 offset=0.5", "offset");
    spec_refused("scheme=learned dim=2 offset=1 padding_idx=1", "offset");
    spec_refused("scheme=learned dim=2 beyond=interpolate", "source_grid");
    spec_refused("scheme=learned dim=2 beyond=interpolate source_grid=4", "target_grid");
    spec_refused("scheme=learned dim=2 beyond=interpolate source_grid=4 target_grid=2,2",
                 "target_grid");
    spec_refused("scheme=learned dim=2 target_grid=4", "target_grid");
    spec_refused("scheme=learned dim=2 beyond=truncate prefix_rows=1", "prefix_rows");
    evaluation_open(&e, "scheme=learned dim=2");
    evaluation_positions(&e, (const double[]){0}, 1);
    evaluation_refused(&e, POSREF_OP_TABLE, "weights");
    evaluation_input(&e, "weights", (const double[]){0, 1, 2}, 2, (const int64_t[]){1, 3});
    evaluation_refused(&e, POSREF_OP_TABLE, "weights");
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        rows_of_the_rules, copies_and_sums, taps_of_the_kernels, stretched_tables,
        the_same_size_is_untouched, judged_by_their_rounding, bad_inputs_are_named,
    };
    return RUN_EVALUATIONS("learned", tests);
}
