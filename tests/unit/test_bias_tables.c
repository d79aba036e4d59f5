/* SPDX-License-Identifier: Apache-2.0 */
/* Biases that are entries of learned tables: T5's and DeBERTa's buckets, clipped and full tables,
 * windows. */
#include "eval_fixture.h"

#include <math.h>
#include <string.h>

static const int64_t *index_of(struct evaluation *e, const char *spec, const char *name,
                               const double *q, int64_t n_q, const double *k, int64_t n_k)
{
    int64_t count;
    evaluation_open(e, spec);
    evaluation_input(e, "q_positions", q, 1, &n_q);
    evaluation_input(e, "k_positions", k, 1, &n_k);
    const void *index = evaluation_run(e, POSREF_OP_INDEX, name, &count);
    ck_assert_int_eq(count, n_q * n_k);
    ck_assert_int_eq(posref_tensors_find(&e->out, name)->dtype, POSREF_I64);
    return index;
}

/* Buckets of keys at r from query 0 against a list. */
static void expect_buckets(const char *spec, const double *r, const int64_t *want, int64_t n)
{
    struct evaluation e;
    const int64_t *got = index_of(&e, spec, "buckets", (const double[]){0}, 1, r, n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(got[i] == want[i], "%s: %.0f is in %lld, want %lld", spec, r[i],
                      (long long)got[i], (long long)want[i]);
    evaluation_close(&e);
}

/* The edges of the published sizes: 8 (n/8)^8 = 16^t has whole distances at t = 2, 4, 6. */
START_TEST(t5_edges)
{
    const double back[] = {0, -1, -7, -8, -11, -12, -15, -16, -22, -23, -31, -32, -45, -46, -63,
                           -64, -90, -91, -127, -128, -129, -100000};
    const int64_t buckets[] = {0, 1, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
                               14, 14, 15, 15, 15, 15, 15};
    expect_buckets("scheme=t5_bias", back, buckets, 22);
    const double ahead[] = {1, 7, 8, 15, 16, 64, 90, 91, 1e9};
    expect_buckets("scheme=t5_bias", ahead, (const int64_t[]){17, 23, 24, 25, 26, 30, 30, 31, 31},
                   9);
    const double causal[] = {1,   100,  0,    -15,  -16,        -17, -18,
                             -19, -64,  -128, -112, -113, -2147483647};
    expect_buckets("scheme=t5_bias bidirectional=false", causal,
                   (const int64_t[]){0, 0, 0, 15, 16, 16, 16, 17, 26, 31, 30, 31, 31}, 13);
}
END_TEST

/* n^K m^t >= M^t m^K with 128-bit integers, for sizes small enough. */
static int64_t slow_bucket(int n, int side, int max_distance)
{
    const int m = side / 2, K = side - m;
    __extension__ unsigned __int128 left = 1, right = 1;
    int t = 0;
    if (n < m)
        return n;
    for (int i = 0; i < K; i++) {
        left *= (unsigned)n;
        right *= (unsigned)m;
    }
    for (; t < K; t++) {
        left *= (unsigned)m;
        right *= (unsigned)max_distance;
        if (left < right)
            break;
    }
    return m + t < side ? m + t : side - 1;
}

START_TEST(t5_all_distances)
{
    static const int sizes[][2] = {{8, 27}, {8, 128}, {8, 64}, {6, 27}, {4, 9}, {10, 25}, {12, 36}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        char spec[96];
        double k[300];
        int64_t want[300];
        snprintf(spec, sizeof spec, "scheme=t5_bias bidirectional=false num_buckets=%d "
                 "max_distance=%d", sizes[s][0], sizes[s][1]);
        for (int n = 0; n < 300; n++) {
            k[n] = -n;
            want[n] = slow_bucket(n < 200 ? n : sizes[s][1] + n, sizes[s][0], sizes[s][1]);
            k[n] = n < 200 ? k[n] : -(sizes[s][1] + n);
        }
        expect_buckets(spec, k, want, 300);
    }
}
END_TEST

/* T5X adds FLT_EPSILON to n/m before the logarithm. In exact arithmetic that moves no distance over
 * an edge of the sizes in use. */
START_TEST(t5_epsilon_is_harmless)
{
    static const int sizes[][2] = {{32, 128}, {64, 256}, {32, 256}, {64, 128}, {32, 800},
                                   {320, 800}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int side = sizes[s][0]; side >= sizes[s][0] / 2; side /= 2) {
            const long double m = side / 2, ratio = sizes[s][1] / m, K = side - m;
            for (int t = 1; t < side - side / 2; t++) {
                long double edge = m * powl(ratio, t / K), below = ceill(edge) - 1;
                if (edge - below == 1) /* a whole edge: both count it in */
                    continue;
                ck_assert_msg(below + m * 0x1p-23L < edge - 1e-12L, "%d %d %d", side, sizes[s][1],
                              t);
            }
        }
}
END_TEST

START_TEST(deberta_buckets)
{
    const double k[] = {0, 1, -128, -129, -130, 511, -510, -511, -512, -513, -100000};
    const int64_t want[] = {0, -1, 128, 129, 130, -255, 255, 255, 256, 256, 740};
    struct evaluation e;
    expect_buckets("scheme=deberta num_buckets=256 max_distance=512", k, want, 11);
    const char *spec = "scheme=deberta num_buckets=256 max_distance=512";
    const int64_t *c2p = index_of(&e, spec, "c2p", (const double[]){0}, 1, k, 11);
    const int64_t *p2c = posref_tensors_find(&e.out, "p2c")->data;
    for (int i = 0; i < 11; i++) {
        ck_assert_int_eq(c2p[i], want[i] > 255 ? 511 : want[i] + 256);
        ck_assert_int_eq(p2c[i], want[i] > 256 ? 0 : 256 - want[i]);
    }
    evaluation_close(&e);
    /* (M - 1)/mid = 2 and 3 steps: edges at 8 2^(t/7), whole at 16. */
    expect_buckets("scheme=deberta num_buckets=16 max_distance=17",
                   (const double[]){-8, -9, -15, -16, -17, -32, 16},
                   (const int64_t[]){8, 10, 15, 15, 16, 22, -15}, 7);
}
END_TEST

START_TEST(relative_entries)
{
    struct evaluation e;
    const double q[] = {5, 0}, k[] = {0, 3, 5, 7, 9};
    const int64_t *got = index_of(&e, "scheme=relative_bias max_distance=2", "index", q, 2, k, 5);
    ck_assert_mem_eq(got, ((const int64_t[]){4, 4, 2, 0, 0, 2, 0, 0, 0, 0}), 10 * sizeof *got);
    evaluation_close(&e);
    got = index_of(&e, "scheme=relative_bias max_distance=2 difference=key_minus_query", "index", q,
                   2, k, 5);
    ck_assert_mem_eq(got, ((const int64_t[]){0, 0, 2, 4, 4, 2, 4, 4, 4, 4}), 10 * sizeof *got);
    evaluation_close(&e);
    got = index_of(&e, "scheme=relative_bias table=full max_position_embeddings=10", "index", q, 2,
                   k, 5);
    ck_assert_mem_eq(got, ((const int64_t[]){14, 11, 9, 7, 5, 9, 6, 4, 2, 0}), 10 * sizeof *got);
    evaluation_close(&e);
}
END_TEST

/* bias[h, i, j] has the bits of the entry, in either layout of the table. */
START_TEST(tables_are_copied)
{
    const double positions[] = {0, 3, 1};
    double table[2][5 * 3], other;
    uint64_t seed = 5;
    for (int entry = 0; entry < 5; entry++)
        for (int h = 0; h < 3; h++)
            table[0][3 * entry + h] = table[1][5 * h + entry] =
                entry == 2 && h == 1 ? -0.0 : next_random(&seed);
    for (int layout = 0; layout < 2; layout++) {
        struct evaluation e;
        evaluation_open(&e, layout ? "scheme=relative_bias max_distance=2 num_heads=3 "
                                     "weights_layout=heads_entries"
                                   : "scheme=relative_bias max_distance=2");
        evaluation_positions(&e, positions, 3);
        evaluation_input(&e, "weights", table[layout], 2,
                         layout ? (const int64_t[]){3, 5} : (const int64_t[]){5, 3});
        const double *bias = evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
        for (int at = 0; at < 27; at++) {
            int d = (int)(positions[at / 3 % 3] - positions[at % 3]);
            d = d > 2 ? 2 : d < -2 ? -2 : d;
            other = table[0][3 * (d + 2) + at / 9];
            ck_assert_same(&bias[at], &other, 1);
        }
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(windows)
{
    struct evaluation e;
    const double positions[] = {0, 0, 1, 0, 2, 1}; /* 0:0, 0:2, 1:1 */
    const int64_t shape[] = {2, 3};
    evaluation_open(&e, "scheme=swin window_size=2,3");
    evaluation_input(&e, "positions", positions, 2, shape);
    const void *index = evaluation_run(&e, POSREF_OP_INDEX, "index", NULL);
    ck_assert_mem_eq(index, ((const int64_t[]){7, 5, 1, 9, 7, 3, 13, 11, 7}), 9 * 8);
    evaluation_close(&e);
    evaluation_open(&e, "scheme=beit window_size=2,3");
    evaluation_input(&e, "positions", positions, 2, shape);
    index = evaluation_run(&e, POSREF_OP_INDEX, "index", NULL);
    const int64_t with_class[] = {17, 15, 15, 15, 16, 7,  5,  1,
                                  16, 9,  7,  3,  16, 13, 11, 7};
    ck_assert_mem_eq(index, with_class, sizeof with_class);
    evaluation_close(&e);
}
END_TEST

/* A full table, and an offset within a window, end where they end. */
static void refused(const char *spec, const double *positions, int axes, const double *weights,
                    int64_t rows, const char *key)
{
    struct evaluation e;
    evaluation_open(&e, spec);
    evaluation_input(&e, "positions", positions, axes == 1 ? 1 : 2,
                     axes == 1 ? (const int64_t[]){2} : (const int64_t[]){2, 2});
    if (weights)
        evaluation_input(&e, "weights", weights, 2, (const int64_t[]){rows, 1});
    evaluation_refused(&e, weights ? POSREF_OP_BIAS : POSREF_OP_INDEX, key);
    evaluation_close(&e);
}

START_TEST(outside_a_table)
{
    const double five[5] = {1, 2, 3, 4, 5};
    refused("scheme=relative_bias table=full max_position_embeddings=3", (const double[]){0, 3}, 1,
            NULL, 0, "positions");
    refused("scheme=swin window_size=2,3", (const double[]){0, 2, 0, 0}, 2, NULL, 0, "positions");
    refused("scheme=swin window_size=3,2", (const double[]){0, 0, 0, 2}, 2, NULL, 0, "positions");
    refused("scheme=t5_bias", (const double[]){0, 0.5}, 1, NULL, 0, "positions");
    refused("scheme=relative_bias max_distance=3", (const double[]){0, 1}, 1, five, 5, "weights");
    refused("scheme=relative_bias max_distance=2 num_heads=2", (const double[]){0, 1}, 1, five, 5,
            "weights");
    refused("scheme=swin window_size=2", (const double[]){0, 1}, 1, NULL, 0, "positions");
}
END_TEST

static void bad_spec(const char *text, const char *key)
{
    struct posref_spec spec;
    struct posref_error err = {{0}, {0}};
    ck_assert_int_eq(posref_spec_parse(&spec, text, &err), POSREF_OK);
    ck_assert_msg(posref_spec_complete(&spec, &err) == POSREF_BAD_INPUT, "%s", text);
    ck_assert_str_eq(err.key, key);
}

START_TEST(bad_specs)
{
    bad_spec("scheme=t5_bias num_buckets=31", "num_buckets");
    bad_spec("scheme=t5_bias num_buckets=2", "num_buckets");
    bad_spec("scheme=t5_bias num_buckets=33 bidirectional=false", "num_buckets");
    bad_spec("scheme=t5_bias max_distance=8", "max_distance");
    bad_spec("scheme=t5_bias max_distance=16 bidirectional=false", "max_distance");
    bad_spec("scheme=t5_bias num_buckets=0", "num_buckets");
    bad_spec("scheme=deberta num_buckets=2", "num_buckets");
    bad_spec("scheme=deberta num_buckets=255", "num_buckets");
    bad_spec("scheme=deberta num_buckets=256 max_distance=129", "max_distance");
    bad_spec("scheme=deberta bidirectional=false", "bidirectional");
    bad_spec("scheme=relative_bias", "max_distance");
    bad_spec("scheme=relative_bias table=full", "max_position_embeddings");
    bad_spec("scheme=relative_bias table=full max_position_embeddings=4 max_distance=4",
             "max_distance");
    bad_spec("scheme=relative_bias max_position_embeddings=4 max_distance=4",
             "max_position_embeddings");
    bad_spec("scheme=swin", "window_size");
    bad_spec("scheme=swin window_size=2,3,4", "window_size");
    bad_spec("scheme=swinv2 window_size=4 pretrained_window_size=1", "pretrained_window_size");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {t5_edges,         t5_all_distances, t5_epsilon_is_harmless,
                                  deberta_buckets,  relative_entries, tables_are_copied,
                                  windows,          outside_a_table,  bad_specs};
    return RUN_EVALUATIONS("bias_tables", tests);
}
