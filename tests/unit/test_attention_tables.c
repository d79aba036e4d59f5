/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention with biases from learned tables: T5's convention, heads, refusals, and the
 * judging of float32 kernels and of seeded faults. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>
#include <string.h>

enum { N_Q = 2, N_K = 4, HEADS = 2, DIM = 4, DIM_V = 3 };
enum { ENTRIES = 32 };

enum fault { NONE, SCALED, NO_BIAS, SIGN, TRANSPOSED, NEXT_ROW, BIAS_SCALED, N_FAULTS };
static const char *const names[] = {"none", "1/sqrt(dim)", "no bias", "sign of the distance",
                                    "table transposed", "next row", "bias scaled as well"};
static const double at_q[N_Q] = {4, 12}, at_k[N_K] = {0, 3, 4, 12};
static double q[N_Q * HEADS * DIM], k[N_K * HEADS * DIM], v[N_K * HEADS * DIM_V];
static double weights[ENTRIES * HEADS];

static void open_case(struct evaluation *e, const char *spec, int64_t entries)
{
    evaluation_open(e, spec);
    evaluation_input(e, "q_positions", at_q, 1, (const int64_t[]){N_Q});
    evaluation_input(e, "k_positions", at_k, 1, (const int64_t[]){N_K});
    evaluation_input(e, "q", q, 3, (const int64_t[]){N_Q, HEADS, DIM});
    evaluation_input(e, "k", k, 3, (const int64_t[]){N_K, HEADS, DIM});
    evaluation_input(e, "v", v, 3, (const int64_t[]){N_K, HEADS, DIM_V});
    evaluation_input(e, "weights", weights, 2, (const int64_t[]){entries, HEADS});
}

/* T5's bucket of a distance below 16, where every second one shares at most. */
static int bucket(int r)
{
    const int n = r < 0 ? -r : r, side = r > 0 ? 16 : 0;
    return side + (n < 8 ? n : n < 12 ? 8 : 9);
}

static float score(int h, int i, int j, enum fault fault)
{
    const int row = fault == NEXT_ROW ? (i + 1) % N_Q : i;
    const int r = (int)(at_k[j] - at_q[row]), entry = bucket(fault == SIGN ? -r : r);
    float sum = 0;
    const float bias = fault == NO_BIAS ? 0
                       : fault == TRANSPOSED ? (float)weights[h * ENTRIES + entry]
                                             : (float)weights[entry * HEADS + h];
    for (int c = 0; c < DIM; c++)
        sum += (float)q[(i * HEADS + h) * DIM + c] * (float)k[(j * HEADS + h) * DIM + c];
    return fault == SCALED ? sum / 2 + bias : sum + (fault == BIAS_SCALED ? bias / 2 : bias);
}

START_TEST(scores_add_entries)
{
    struct evaluation e;
    open_case(&e, "scheme=t5_bias softmax_scale=1", ENTRIES);
    const double *got = evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
    for (int at = 0; at < HEADS * N_Q * N_K; at++)
        ck_assert_close(got[at], (double)score(at / (N_Q * N_K), at / N_K % N_Q, at % N_K, NONE),
                        1e-5);
    evaluation_close(&e);
    /* A table of as many entries that is looked up by the distance itself. */
    open_case(&e, "scheme=relative_bias max_distance=3 difference=query_minus_key", 7);
    got = evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
    const double dot = q[0] * k[0] + q[1] * k[1] + q[2] * k[2] + q[3] * k[3];
    ck_assert_double_eq(got[0], dot / 2 + weights[6 * HEADS]); /* q - k = 4: the last entry */
    evaluation_close(&e);
}
END_TEST

static bool judged(enum posref_op op, const float *value, enum posref_dtype dtype)
{
    static const char *const output[] = {"scores", "attention"};
    uint16_t half[N_Q * HEADS * N_K];
    struct posref_judgement j;
    struct evaluation e;
    open_case(&e, "scheme=t5_bias softmax_scale=1", ENTRIES);
    evaluation_run(&e, op, output[op == POSREF_OP_ATTENTION], NULL);
    struct posref_tensors actual = {.n = 1, .item = {e.out.item[0]}};
    for (int64_t at = 0; at < posref_tensor_count(&actual.item[0]); at++)
        half[at] = dtype == POSREF_F32 ? 0 : (uint16_t)posref_narrow((double)value[at], dtype);
    float copy[N_Q * HEADS * N_K];
    memcpy(copy, value, (size_t)posref_tensor_count(&actual.item[0]) * sizeof *copy);
    actual.item[0].dtype = dtype;
    actual.item[0].data = dtype == POSREF_F32 ? (void *)copy : (void *)half;
    ck_assert_int_eq(posref_judge(&j, &e.spec, op, &e.in, &e.out, &actual, dtype,
                                  posref_grade_default(dtype), &e.arena, &e.err), POSREF_OK);
    evaluation_close(&e);
    return j.pass;
}

static void attend(float *out, const float *scores, int h)
{
    float sum = 0;
    for (int c = 0; c < DIM_V; c++)
        out[c] = 0;
    for (int j = 0; j < N_K; j++) {
        const float w = expf(scores[j]);
        sum += w;
        for (int c = 0; c < DIM_V; c++)
            out[c] += w * (float)v[(j * HEADS + h) * DIM_V + c];
    }
    for (int c = 0; c < DIM_V; c++)
        out[c] /= sum;
}

START_TEST(kernels_and_faults)
{
    for (int fault = NONE; fault < N_FAULTS; fault++) {
        float scores[HEADS * N_Q * N_K], out[N_Q * HEADS * N_K];
        for (int at = 0; at < HEADS * N_Q * N_K; at++)
            scores[at] = score(at / (N_Q * N_K), at / N_K % N_Q, at % N_K, (enum fault)fault);
        for (int at = 0; at < HEADS * N_Q; at++)
            attend(out + (at % N_Q * HEADS + at / N_Q) * DIM_V, scores + at * N_K, at / N_Q);
        for (int d = POSREF_F32; d <= POSREF_BF16; d++) {
            const enum posref_dtype dtype = (enum posref_dtype)d;
            ck_assert_msg(judged(POSREF_OP_SCORES, scores, dtype) == (fault == NONE),
                          "scores, dtype %d: %s", d, names[fault]);
            ck_assert_msg(judged(POSREF_OP_ATTENTION, out, dtype) == (fault == NONE),
                          "attention, dtype %d: %s", d, names[fault]);
        }
    }
}
END_TEST

START_TEST(refusals)
{
    struct evaluation e;
    open_case(&e, "scheme=t5_bias num_buckets=64 softmax_scale=1", ENTRIES);
    evaluation_refused(&e, POSREF_OP_SCORES, "weights"); /* 32 entries for 64 buckets */
    evaluation_close(&e);
    open_case(&e, "scheme=t5_bias softmax_scale=1", ENTRIES);
    e.in.n--; /* weights is the last */
    evaluation_refused(&e, POSREF_OP_ATTENTION, "weights");
    evaluation_input(&e, "weights", weights, 2, (const int64_t[]){ENTRIES, 1});
    evaluation_refused(&e, POSREF_OP_ATTENTION, "weights"); /* one head for two */
    evaluation_close(&e);
    open_case(&e, "scheme=relative_bias table=full max_position_embeddings=4", 7);
    evaluation_refused(&e, POSREF_OP_SCORES, "q_positions"); /* 12 - 0 is not in the table */
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {scores_add_entries, kernels_and_faults, refusals};
    uint64_t seed = 3;
    for (size_t at = 0; at < sizeof q / sizeof *q; at++)
        q[at] = next_random(&seed);
    for (size_t at = 0; at < sizeof k / sizeof *k; at++)
        k[at] = next_random(&seed);
    for (size_t at = 0; at < sizeof v / sizeof *v; at++)
        v[at] = next_random(&seed);
    for (size_t at = 0; at < sizeof weights / sizeof *weights; at++)
        weights[at] = next_random(&seed);
    return RUN_EVALUATIONS("attention_tables", tests);
}
