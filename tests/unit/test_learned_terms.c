/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a learned table in four terms: those of content plus table, by hand and as op embed
 * adds them; resampled rows; refusals; a float32 kernel and seeded faults, judged. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>
#include <string.h>

enum { N = 4, DIM = 4, ROWS = 9 };

static const double at[N] = {0, 3, 5, 1};
static const char *const names[] = {"content_content", "content_position", "position_content",
                                    "position_position"};

struct data {
    double q[N * DIM], k[N * DIM], table[ROWS * DIM];
};

static void draw(struct data *d)
{
    uint64_t seed = 5;
    for (int n = 0; n < N * DIM; n++) {
        d->q[n] = next_random(&seed);
        d->k[n] = next_random(&seed);
    }
    for (int n = 0; n < ROWS * DIM; n++)
        d->table[n] = next_random(&seed);
}

static void open_case(struct evaluation *e, const char *spec, const struct data *d, int64_t rows)
{
    evaluation_open(e, spec);
    evaluation_input(e, "q_positions", at, 1, (const int64_t[]){N});
    evaluation_input(e, "k_positions", at, 1, (const int64_t[]){N});
    evaluation_input(e, "q", d->q, 2, (const int64_t[]){N, DIM});
    evaluation_input(e, "k", d->k, 2, (const int64_t[]){N, DIM});
    evaluation_input(e, "weights", d->table, 2, (const int64_t[]){rows, DIM});
}

START_TEST(by_hand)
{
    static const double q[] = {1, 2}, k[] = {3, 4, 5, 6}, table[] = {1, 0, 0, 1, 2, 2};
    static const double want[5][2] = {{11, 17}, {1, 6}, {4, 6}, {0, 2}, {16, 31}};
    struct evaluation e;
    evaluation_open(&e, "scheme=learned dim=2 softmax_scale=1");
    evaluation_input(&e, "q_positions", (const double[]){1}, 1, (const int64_t[]){1});
    evaluation_input(&e, "k_positions", (const double[]){0, 2}, 1, (const int64_t[]){2});
    evaluation_input(&e, "q", q, 2, (const int64_t[]){1, 2});
    evaluation_input(&e, "k", k, 2, (const int64_t[]){2, 2});
    evaluation_input(&e, "weights", table, 2, (const int64_t[]){3, 2});
    const double *scores = evaluation_run(&e, POSREF_OP_ALL, "scores", NULL);
    ck_assert_same(scores, want[4], 2);
    for (int n = 0; n < 4; n++)
        ck_assert_same((const double *)posref_tensors_find(&e.out, names[n])->data, want[n], 2);
    evaluation_close(&e);
}
END_TEST

/* op embed adds the table to q and to k; scheme=none scores the sums. */
static void expect_sum(const char *spec, int64_t rows)
{
    struct data d;
    struct evaluation e;
    double sum[2][N * DIM], got[N * N];
    draw(&d);
    open_case(&e, spec, &d, rows);
    memcpy(got, evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL), sizeof got);
    evaluation_close(&e);
    for (int side = 0; side < 2; side++) {
        evaluation_open(&e, spec);
        evaluation_positions(&e, at, N);
        evaluation_input(&e, "x", side ? d.k : d.q, 2, (const int64_t[]){N, DIM});
        evaluation_input(&e, "weights", d.table, 2, (const int64_t[]){rows, DIM});
        memcpy(sum[side], evaluation_run(&e, POSREF_OP_EMBED, "y", NULL), sizeof sum[side]);
        evaluation_close(&e);
    }
    evaluation_open(&e, "scheme=none");
    evaluation_input(&e, "q", sum[0], 2, (const int64_t[]){N, DIM});
    evaluation_input(&e, "k", sum[1], 2, (const int64_t[]){N, DIM});
    const double *want = evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
    for (int n = 0; n < N * N; n++)
        ck_assert_close(got[n], want[n], 1e-14);
    evaluation_close(&e);
}

START_TEST(equals_content_plus_table)
{
    expect_sum("scheme=learned dim=4 offset=2", ROWS);
    expect_sum("scheme=learned dim=4 beyond=truncate table_scale=0.3", 3);
    expect_sum("scheme=learned dim=4 beyond=interpolate source_grid=7 target_grid=11", 7);
    expect_sum("scheme=learned dim=4 beyond=interpolate source_grid=2,3 target_grid=3,4 "
               "prefix_rows=1", 7);
}
END_TEST

START_TEST(judged)
{
    struct data d;
    draw(&d);
    for (int fault = 0; fault < 4; fault++) { /* none, next row, keys without table, no offset */
        float out[N * N];
        struct evaluation e;
        struct posref_judgement j;
        open_case(&e, "scheme=learned dim=4 offset=2", &d, ROWS);
        evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
        for (int n = 0; n < N * N; n++) {
            const int i = n / N, k = n % N, shift = fault == 3 ? 0 : fault == 1 ? 3 : 2;
            float sum = 0;
            for (int c = 0; c < DIM; c++)
                sum += ((float)d.q[i * DIM + c] + (float)d.table[((int)at[i] + 2) * DIM + c]) *
                       ((float)d.k[k * DIM + c] +
                        (fault == 2 ? 0 : (float)d.table[((int)at[k] + shift) * DIM + c]));
            out[n] = sum / 2;
        }
        struct posref_tensors golden = {.n = 1, .item = {e.out.item[0]}}, actual = golden;
        actual.item[0].dtype = POSREF_F32;
        actual.item[0].data = out;
        ck_assert_int_eq(posref_judge(&j, &e.spec, POSREF_OP_SCORES, &e.in, &golden, &actual,
                                      POSREF_F32, posref_grade_default(POSREF_F32), &e.arena,
                                      &e.err), POSREF_OK);
        ck_assert_int_eq(j.pass, fault == 0);
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(bad_inputs_are_named)
{
    static const struct {
        const char *spec, *key;
        int64_t rows;
    } bad[] = {{"scheme=learned dim=4", "q_positions", 5},
               {"scheme=learned dim=4 padding_idx=1", "padding_idx", ROWS},
               {"scheme=learned dim=4 x_scale=sqrt_dim", "x_scale", ROWS},
               {"scheme=learned dim=4 beyond=interpolate source_grid=7 target_grid=11", "weights",
                ROWS}};
    struct data d;
    draw(&d);
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
        struct evaluation e;
        open_case(&e, bad[n].spec, &d, bad[n].rows);
        evaluation_refused(&e, POSREF_OP_SCORES, bad[n].key);
        evaluation_close(&e);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {by_hand, equals_content_plus_table, judged, bad_inputs_are_named};
    return RUN_EVALUATIONS("learned_terms", tests);
}
