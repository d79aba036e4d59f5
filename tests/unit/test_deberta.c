/* SPDX-License-Identifier: Apache-2.0 */
/* DeBERTa's disentangled scores: by hand, by the gathers and the transposition of released code, by
 * their scale where the rows are zeros; refusals; float32 kernels and seeded faults, judged. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>
#include <string.h>

enum { N = 7, HEADS = 2, DIM = 4, DIM_V = 3, SPAN = 4, ROWS = 2 * SPAN };

enum fault { NONE, P2C_SIGN, PLAIN_SCALE, TABLES_SWAPPED, CLAMPED_EARLY, NO_P2C, HEADS_SWAPPED,
             N_FAULTS };
static const char *const names[] = {"none", "p2c not transposed", "1/sqrt(dim)", "tables swapped",
                                    "last row 2 span - 2", "no p2c", "rows of the other head"};

struct data {
    double at[N], q[N * HEADS * DIM], k[N * HEADS * DIM], v[N * HEADS * DIM_V];
    double keys[HEADS * ROWS * DIM], queries[HEADS * ROWS * DIM];
};

static void draw(struct data *d)
{
    uint64_t seed = 7;
    double *const all[] = {d->q, d->k, d->v, d->keys, d->queries};
    const int count[] = {N * HEADS * DIM, N * HEADS * DIM, N * HEADS * DIM_V, HEADS * ROWS * DIM,
                         HEADS * ROWS * DIM};
    for (int n = 0; n < N; n++)
        d->at[n] = n;
    for (int t = 0; t < 5; t++)
        for (int n = 0; n < count[t]; n++)
            all[t][n] = next_random(&seed);
}

static void open_case(struct evaluation *e, const char *spec, const struct data *d)
{
    evaluation_open(e, spec);
    evaluation_positions(e, d->at, N);
    evaluation_input(e, "q", d->q, 3, (const int64_t[]){N, HEADS, DIM});
    evaluation_input(e, "k", d->k, 3, (const int64_t[]){N, HEADS, DIM});
    evaluation_input(e, "v", d->v, 3, (const int64_t[]){N, HEADS, DIM_V});
    evaluation_input(e, "key_weights", d->keys, 3, (const int64_t[]){HEADS, ROWS, DIM});
    evaluation_input(e, "query_weights", d->queries, 3, (const int64_t[]){HEADS, ROWS, DIM});
}

static int clamp_row(int row, int last)
{
    return row < 0 ? 0 : row > last ? last : row;
}

static float dot(const double *x, const double *y)
{
    float sum = 0;
    for (int c = 0; c < DIM; c++)
        sum += (float)x[c] * (float)y[c];
    return sum;
}

/* As deberta_v2 computes: p2c [key, query] gathered by -(x - y) + span, then transposed. */
static void kernel(float *out, const struct data *d, enum fault fault)
{
    const int last = fault == CLAMPED_EARLY ? ROWS - 2 : ROWS - 1;
    const float scale = sqrtf(fault == PLAIN_SCALE ? DIM : 3 * DIM);
    const double *keys = fault == TABLES_SWAPPED ? d->queries : d->keys;
    const double *queries = fault == TABLES_SWAPPED ? d->keys : d->queries;
    for (int h = 0; h < HEADS; h++) {
        float p2c[N][N];
        const int of = (fault == HEADS_SWAPPED ? 1 - h : h) * ROWS;
        for (int x = 0; x < N; x++)
            for (int y = 0; y < N; y++)
                p2c[x][y] = dot(d->k + (x * HEADS + h) * DIM,
                                queries + (of + clamp_row(-(x - y) + SPAN, last)) * DIM);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const double *q = d->q + (i * HEADS + h) * DIM;
                float sum = dot(q, d->k + (j * HEADS + h) * DIM) +
                            dot(q, keys + (of + clamp_row(i - j + SPAN, last)) * DIM);
                if (fault != NO_P2C && fault != P2C_SIGN)
                    sum += p2c[j][i];
                if (fault == P2C_SIGN)
                    sum += dot(d->k + (j * HEADS + h) * DIM,
                               queries + (of + clamp_row(-(i - j) + SPAN, last)) * DIM);
                out[(h * N + i) * N + j] = sum / scale;
            }
    }
}

static void attend(float *out, const float *scores, const struct data *d)
{
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < N; i++) {
            float sum = 0, *row = out + (i * HEADS + h) * DIM_V;
            memset(row, 0, DIM_V * sizeof *row);
            for (int j = 0; j < N; j++) {
                const float w = expf(scores[(h * N + i) * N + j]);
                sum += w;
                for (int c = 0; c < DIM_V; c++)
                    row[c] += w * (float)d->v[(j * HEADS + h) * DIM_V + c];
            }
            for (int c = 0; c < DIM_V; c++)
                row[c] /= sum;
        }
}

static const char plain[] = "scheme=deberta log_buckets=false max_distance=4";

START_TEST(by_hand)
{
    /* Rows are told by their first channel, powers of two by bucket; content is out of it. */
    const double at_q[] = {5}, at_k[] = {5, 4, 0, 9, 90}, q[] = {1, 0}, k[10] = {0, 1, 0, 1, 0, 1,
                                                                                 0, 1, 0, 1};
    double keys[16] = {0}, queries[16] = {0};
    static const struct {
        const char *spec;
        double c2p[5], p2c[5];
    } cases[] = {{"scheme=deberta num_buckets=4 max_distance=8 softmax_scale=1", {4, 5, 7, 1, 0},
                  {40, 50, 70, 10, 0}},
                 {"scheme=deberta log_buckets=false max_distance=4 softmax_scale=1",
                  {4, 5, 7, 0, 0}, {40, 50, 70, 0, 0}},
                 {"scheme=deberta log_buckets=false max_distance=4 softmax_scale=1 "
                  "p2c_difference=key_minus_query", {4, 5, 7, 0, 0}, {40, 30, 0, 70, 70}}};
    for (int row = 0; row < 8; row++) {
        keys[2 * row] = row;
        queries[2 * row + 1] = 10 * row;
    }
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        struct evaluation e;
        evaluation_open(&e, cases[n].spec);
        evaluation_input(&e, "q_positions", at_q, 1, (const int64_t[]){1});
        evaluation_input(&e, "k_positions", at_k, 1, (const int64_t[]){5});
        evaluation_input(&e, "q", q, 2, (const int64_t[]){1, 2});
        evaluation_input(&e, "k", k, 2, (const int64_t[]){5, 2});
        evaluation_input(&e, "key_weights", keys, 2, (const int64_t[]){8, 2});
        evaluation_input(&e, "query_weights", queries, 2, (const int64_t[]){8, 2});
        const double *scores = evaluation_run(&e, POSREF_OP_ALL, "scores", NULL);
        const double *c2p = posref_tensors_find(&e.out, "content_position")->data;
        const double *p2c = posref_tensors_find(&e.out, "position_content")->data;
        for (int j = 0; j < 5; j++) {
            ck_assert_double_eq(c2p[j], cases[n].c2p[j]);
            ck_assert_double_eq(p2c[j], cases[n].p2c[j]);
            ck_assert_double_eq(scores[j], c2p[j] + p2c[j]);
        }
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(zero_rows_are_scaled_content)
{
    struct data d;
    static const struct {
        const char *type, *scale;
        int terms;
    } cases[] = {{"c2p_p2c", "0.28867513459481287", 3}, {"c2p", "0.35355339059327379", 2},
                 {"p2c", "0.35355339059327379", 2}}; /* 1/sqrt(12), 1/sqrt(8) */
    draw(&d);
    memset(d.keys, 0, sizeof d.keys);
    memset(d.queries, 0, sizeof d.queries);
    for (int n = 0; n < 3; n++) {
        char spec[160];
        struct evaluation e[2];
        snprintf(spec, sizeof spec, "%s pos_att_type=%s", plain, cases[n].type);
        evaluation_open(&e[0], spec);
        evaluation_positions(&e[0], d.at, N);
        snprintf(spec, sizeof spec, "scheme=none softmax_scale=%s", cases[n].scale);
        evaluation_open(&e[1], spec);
        for (int side = 0; side < 2; side++) {
            evaluation_input(&e[side], "q", d.q, 3, (const int64_t[]){N, HEADS, DIM});
            evaluation_input(&e[side], "k", d.k, 3, (const int64_t[]){N, HEADS, DIM});
        }
        if (n != 2)
            evaluation_input(&e[0], "key_weights", d.keys, 2, (const int64_t[]){ROWS, DIM});
        if (n != 1)
            evaluation_input(&e[0], "query_weights", d.queries, 2, (const int64_t[]){ROWS, DIM});
        const double *got = evaluation_run(&e[0], POSREF_OP_SCORES, "scores", NULL);
        const double *want = evaluation_run(&e[1], POSREF_OP_SCORES, "scores", NULL);
        ck_assert_int_eq(e[0].out.n, 1 + cases[n].terms);
        for (int at = 0; at < HEADS * N * N; at++) /* the scale of scheme=none is rounded */
            ck_assert_close(got[at], want[at], 4e-16 * fabs(want[at]));
        evaluation_close(&e[0]);
        evaluation_close(&e[1]);
    }
}
END_TEST

START_TEST(kernels_and_faults)
{
    struct data d;
    draw(&d);
    for (int fault = NONE; fault < N_FAULTS; fault++) {
        float scores[HEADS * N * N], out[N * HEADS * DIM_V];
        kernel(scores, &d, (enum fault)fault);
        attend(out, scores, &d);
        for (int op = POSREF_OP_SCORES; op <= POSREF_OP_ATTENTION; op++) {
            struct evaluation e;
            struct posref_judgement j;
            const bool attention = op == POSREF_OP_ATTENTION;
            open_case(&e, plain, &d);
            evaluation_run(&e, (enum posref_op)op, attention ? "attention" : "scores", NULL);
            struct posref_tensors golden = {.n = 1, .item = {e.out.item[0]}}, actual = golden;
            actual.item[0].dtype = POSREF_F32;
            actual.item[0].data = attention ? out : scores;
            ck_assert_int_eq(posref_judge(&j, &e.spec, (enum posref_op)op, &e.in, &golden, &actual,
                                          POSREF_F32, posref_grade_default(POSREF_F32), &e.arena,
                                          &e.err), POSREF_OK);
            ck_assert_msg(j.pass == (fault == NONE), "op %d: %s", op, names[fault]);
            evaluation_close(&e);
        }
    }
    /* What the paper writes is the kernel without the transposition. */
    struct evaluation e;
    float scores[HEADS * N * N];
    char spec[160];
    kernel(scores, &d, P2C_SIGN);
    snprintf(spec, sizeof spec, "%s p2c_difference=key_minus_query", plain);
    open_case(&e, spec, &d);
    const double *got = evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
    for (int at = 0; at < HEADS * N * N; at++)
        ck_assert_close(got[at], (double)scores[at], 1e-5);
    evaluation_close(&e);
}
END_TEST

START_TEST(bad_inputs_are_named)
{
    static const struct {
        const char *more, *key;
        bool key_rows, query_rows;
    } bad[] = {{"", "key_weights", false, true}, {"", "query_weights", true, false},
               {" pos_att_type=c2p", "query_weights", true, true},
               {" pos_att_type=p2c", "key_weights", true, true},
               {" max_distance=5", "key_weights", true, true}};
    static const char *const specs[] = {"num_buckets=8", "temperature=logn temperature_length=8",
                                        "bidirectional=false"};
    static const char *const keys[] = {"num_buckets", "temperature", "bidirectional"};
    struct data d;
    draw(&d);
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
        char spec[160];
        struct evaluation e;
        snprintf(spec, sizeof spec, "scheme=deberta log_buckets=false%s%s",
                 strstr(bad[n].more, "max") ? "" : " max_distance=4", bad[n].more);
        evaluation_open(&e, spec);
        evaluation_positions(&e, d.at, N);
        evaluation_input(&e, "q", d.q, 3, (const int64_t[]){N, HEADS, DIM});
        evaluation_input(&e, "k", d.k, 3, (const int64_t[]){N, HEADS, DIM});
        if (bad[n].key_rows)
            evaluation_input(&e, "key_weights", d.keys, 2, (const int64_t[]){ROWS, DIM});
        if (bad[n].query_rows)
            evaluation_input(&e, "query_weights", d.queries, 2, (const int64_t[]){ROWS, DIM});
        evaluation_refused(&e, POSREF_OP_SCORES, bad[n].key);
        evaluation_close(&e);
    }
    for (size_t n = 0; n < sizeof specs / sizeof *specs; n++) {
        char text[160];
        struct posref_spec spec;
        struct posref_error err;
        snprintf(text, sizeof text, "%s %s", plain, specs[n]);
        enum posref_status status = posref_spec_parse(&spec, text, &err);
        if (status == POSREF_OK)
            status = posref_spec_complete(&spec, &err);
        ck_assert_int_eq(status, POSREF_BAD_INPUT);
        ck_assert_str_eq(err.key, keys[n]);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        by_hand, zero_rows_are_scaled_content, kernels_and_faults, bad_inputs_are_named,
    };
    return RUN_EVALUATIONS("deberta", tests);
}
