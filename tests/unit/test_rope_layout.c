/* SPDX-License-Identifier: Apache-2.0 */
/* Pairings and partial rotations beside half, interleaved and leading: each against the plain forms
 * through the permutation that relates them, worked examples, and bad inputs. */
#include "eval_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N 3
static const double positions[N] = {1, 257, -131071};

static void random_rows(double *x, int n, uint64_t seed)
{
    for (int k = 0; k < n; k++)
        x[k] = next_random(&seed);
}

/* DeepSeek in Hugging Face: the interleaved rotation, its results sorted into halves. */
START_TEST(interleaved_to_half_is_interleaved_and_sorted)
{
    enum { DIM = 12, R = 8 };
    static const char *const partials[] = {"leading", "trailing"};
    static const char *const extra[] = {"", " direction=inverse", " scaling=ntk factor=4"};
    double x[N * DIM], plain[N * DIM], sorted[N * DIM];
    random_rows(x, N * DIM, 1);
    for (int k = 0; k < 6; k++) {
        char spec[160];
        const int first = k % 2 ? DIM - R : 0;
        snprintf(spec, sizeof spec, "dim=12 rotary_dim=8 pairing=interleaved partial=%s%s",
                 partials[k % 2], extra[k / 2]);
        rotate_rows(plain, spec, positions, x, N);
        snprintf(spec, sizeof spec, "dim=12 rotary_dim=8 pairing=interleaved_to_half partial=%s%s",
                 partials[k % 2], extra[k / 2]);
        rotate_rows(sorted, spec, positions, x, N);
        for (int row = 0; row < N; row++) {
            double want[DIM];
            memcpy(want, x + row * DIM, sizeof want);
            for (int c = 0; c < R; c++)
                want[first + c / 2 + c % 2 * R / 2] = plain[row * DIM + first + c];
            ck_assert_same(sorted + row * DIM, want, DIM);
        }
    }
}
END_TEST

/* V-JEPA 2: channel k takes cos and sin k mod R/2 of the table, its partner stays its neighbour. */
START_TEST(mismatched_takes_the_tiled_table)
{
    enum { DIM = 8 };
    double x[DIM], y[DIM];
    random_rows(x, DIM, 2);
    for (int n = 0; n < N; n++) {
        struct evaluation e;
        evaluation_open(&e, "dim=8 pairing=mismatched");
        evaluation_positions(&e, &positions[n], 1);
        const double *c = evaluation_run(&e, POSREF_OP_TABLE, "cos", NULL), *s = NULL;
        s = posref_tensors_find(&e.out, "sin")->data;
        rotate_rows(y, "dim=8 pairing=mismatched", &positions[n], x, 1);
        for (int k = 0; k < DIM; k++) {
            double partner = k % 2 ? x[k - 1] : -x[k + 1];
            double want = fma(x[k], c[k % 4], partner * s[k % 4]);
            ck_assert_close(y[k], want, 8e-16);
        }
        evaluation_close(&e);
    }
}
END_TEST

/* It is no rotation: norms change, and so it differs from every pairing that keeps them. */
START_TEST(mismatched_keeps_no_norm)
{
    enum { DIM = 8 };
    const double position = 3, x[DIM] = {1, 1, 1, 1, 1, 1, 1, 1};
    double y[DIM], sum = 0;
    rotate_rows(y, "dim=8 pairing=mismatched", &position, x, 1);
    for (int k = 0; k < DIM; k++)
        sum += y[k] * y[k];
    ck_assert_double_gt(fabs(sum - DIM), 0.1);
    /* With one pair there is one angle, and nothing to mismatch. */
    double one[2], same[2];
    rotate_rows(one, "dim=2 pairing=mismatched", &position, x, 1);
    rotate_rows(same, "dim=2 pairing=interleaved", &position, x, 1);
    ck_assert_same(one, same, 2);
}
END_TEST

START_TEST(trailing_rotates_the_last_channels)
{
    enum { DIM = 10, R = 4 };
    static const char *const pairings[] = {"half", "interleaved", "mismatched"};
    double x[N * DIM], y[N * DIM], block[N * R], want[N * R];
    random_rows(x, N * DIM, 3);
    for (int row = 0; row < N; row++)
        memcpy(block + row * R, x + row * DIM + DIM - R, R * sizeof(double));
    for (size_t k = 0; k < sizeof pairings / sizeof *pairings; k++) {
        char spec[96];
        snprintf(spec, sizeof spec, "dim=10 rotary_dim=4 partial=trailing pairing=%s", pairings[k]);
        rotate_rows(y, spec, positions, x, N);
        snprintf(spec, sizeof spec, "dim=4 pairing=%s", pairings[k]);
        rotate_rows(want, spec, positions, block, N);
        for (int row = 0; row < N; row++) {
            ck_assert_same(y + row * DIM, x + row * DIM, DIM - R);
            ck_assert_same(y + row * DIM + DIM - R, want + row * R, R);
        }
    }
}
END_TEST

/* Gemma 4: the frequencies are those of the whole head, the pairs too, only the first few turn. */
START_TEST(proportional_is_the_first_pairs_of_the_whole_head)
{
    enum { DIM = 12, TURNING = 3 };
    static const char *const pairings[] = {"half", "interleaved"};
    double x[N * DIM], y[N * DIM], whole[N * DIM];
    random_rows(x, N * DIM, 4);
    for (int p = 0; p < 2; p++) {
        char spec[128];
        snprintf(spec, sizeof spec, "dim=12 base=1e6 pairing=%s scaling=linear factor=3",
                 pairings[p]);
        rotate_rows(whole, spec, positions, x, N);
        snprintf(spec, sizeof spec, "dim=12 base=1e6 pairing=%s scaling=linear factor=3 "
                 "partial=proportional partial_rotary_factor=0.5", pairings[p]);
        rotate_rows(y, spec, positions, x, N);
        for (int row = 0; row < N; row++)
            for (int c = 0; c < DIM; c++) {
                int pair = p == 0 ? c % (DIM / 2) : c / 2, k = row * DIM + c;
                ck_assert_same(&y[k], pair < TURNING ? &whole[k] : &x[k], 1);
            }
    }
}
END_TEST

START_TEST(proportional_copies_zeros_with_their_signs)
{
    const double position = 5, x[8] = {0, 0, -0.0, 0, 1, -1, 0, -0.0};
    double y[8];
    rotate_rows(y, "dim=8 partial=proportional partial_rotary_factor=0.5", &position, x, 1);
    ck_assert_same(y + 2, x + 2, 2);
    ck_assert_same(y + 6, x + 6, 2);
}
END_TEST

/* n = floor(share dim / 2) of the double given: 0.29 of 100 pairs is just below 29 as a double. */
START_TEST(proportional_counts_pairs_exactly)
{
    static const struct { const char *share; int dim, n; } rows[] = {
        {"0.25", 512, 64}, {"1", 8, 4}, {"0.29", 200, 28}, {"0.57", 200, 56}, {"0.3", 20, 2},
        {"0.7", 20, 6},    {"0.1", 20, 1}, {"0.125", 128, 8}, {"0.9999999999999999", 16384, 8191},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char spec[128];
        struct evaluation e;
        snprintf(spec, sizeof spec, "dim=%d partial=proportional partial_rotary_factor=%s",
                 rows[k].dim, rows[k].share);
        evaluation_open(&e, spec);
        int64_t count;
        const double *f = evaluation_run(&e, POSREF_OP_FREQUENCIES, "inv_freq", &count);
        ck_assert_int_eq(count, rows[k].dim / 2);
        int n = 0;
        while (n < count && f[n] > 0)
            n++;
        ck_assert_msg(n == rows[k].n, "%s: %d pairs, want %d", spec, n, rows[k].n);
        for (int i = n; i < count; i++)
            ck_assert_double_eq(f[i], 0);
        evaluation_close(&e);
    }
}
END_TEST

/* nanochat turns the other way: y1 = x1 c + x2 s, y2 = x2 c - x1 s is direction=inverse. */
START_TEST(the_opposite_direction_is_inverse)
{
    enum { DIM = 8 };
    double x[DIM], y[DIM];
    random_rows(x, DIM, 5);
    for (int n = 0; n < N; n++) {
        struct evaluation e;
        evaluation_open(&e, "dim=8");
        evaluation_positions(&e, &positions[n], 1);
        const double *c = evaluation_run(&e, POSREF_OP_TABLE, "cos", NULL);
        const double *s = posref_tensors_find(&e.out, "sin")->data;
        rotate_rows(y, "dim=8 direction=inverse", &positions[n], x, 1);
        for (int i = 0; i < DIM / 2; i++) {
            ck_assert_close(y[i], x[i] * c[i] + x[i + 4] * s[i], 8e-16);
            ck_assert_close(y[i + 4], x[i + 4] * c[i] - x[i] * s[i], 8e-16);
        }
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(bad_partials_are_refused)
{
    static const struct { const char *spec, *key; } rows[] = {
        {"dim=8 partial=proportional", "partial_rotary_factor"},
        {"dim=8 partial_rotary_factor=0.5", "partial_rotary_factor"},
        {"dim=8 partial=proportional partial_rotary_factor=0", "partial_rotary_factor"},
        {"dim=8 partial=proportional partial_rotary_factor=1.01", "partial_rotary_factor"},
        {"dim=8 partial=proportional partial_rotary_factor=0.2", "partial_rotary_factor"},
        {"dim=8 rotary_dim=4 partial=proportional partial_rotary_factor=0.5", "rotary_dim"},
        {"dim=8 partial=proportional partial_rotary_factor=0.5 pairing=mismatched", "pairing"},
        {"dim=8 partial=proportional partial_rotary_factor=0.5 scaling=ntk factor=2", "scaling"},
        {"dim=8 rotary_dim=3 partial=trailing", "rotary_dim"},
        {"dim=8 rotary_dim=10 partial=trailing", "rotary_dim"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct posref_spec spec;
        struct posref_error err = {{0}, {0}};
        enum posref_status status = posref_spec_parse(&spec, rows[k].spec, &err);
        if (status == POSREF_OK)
            status = posref_spec_complete(&spec, &err);
        ck_assert_int_eq(status, POSREF_BAD_INPUT);
        ck_assert_msg(strcmp(err.key, rows[k].key) == 0, "%s names %s: %s", rows[k].spec, err.key,
                      err.text);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        interleaved_to_half_is_interleaved_and_sorted,
        mismatched_takes_the_tiled_table,
        mismatched_keeps_no_norm,
        trailing_rotates_the_last_channels,
        proportional_is_the_first_pairs_of_the_whole_head,
        proportional_copies_zeros_with_their_signs,
        proportional_counts_pairs_exactly,
        the_opposite_direction_is_inverse,
        bad_partials_are_refused,
    };
    return RUN_EVALUATIONS("rope_layout", tests);
}
