/* SPDX-License-Identifier: Apache-2.0 */
/* CoPE: gates that are closed, open, half open and in opposite pairs; the paper's listing; masks;
 * ordinary relative positions as the case of open gates; refusals; kernels and faults, judged. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>
#include <string.h>

enum { N = 7, HEADS = 2, DIM = 4, DIM_V = 3, NPOS = 4 };

enum fault { NONE, FORWARD_SUM, UNSCALED_GATE, SCALED_LOGIT, NO_CLAMP_ROW, ROUNDED, MASKED_GATES,
             EXCLUSIVE, N_FAULTS };
static const char *const names[] = {"none", "sum from the first key", "gates of q . k",
                                    "position's logit scaled", "clamped to npos_max - 2",
                                    "nearest row", "gates of keys not seen", "own gate left out"};

struct data {
    double q[N * HEADS * DIM], k[N * HEADS * DIM], v[N * HEADS * DIM_V], table[NPOS * DIM];
};

static void draw(struct data *d)
{
    uint64_t seed = 11;
    double *const all[] = {d->q, d->k, d->v, d->table};
    const int count[] = {N * HEADS * DIM, N * HEADS * DIM, N * HEADS * DIM_V, NPOS * DIM};
    for (int t = 0; t < 4; t++)
        for (int n = 0; n < count[t]; n++)
            all[t][n] = next_random(&seed);
}

static void open_case(struct evaluation *e, const char *spec, const struct data *d)
{
    evaluation_open(e, spec);
    evaluation_input(e, "q", d->q, 3, (const int64_t[]){N, HEADS, DIM});
    evaluation_input(e, "k", d->k, 3, (const int64_t[]){N, HEADS, DIM});
    evaluation_input(e, "v", d->v, 3, (const int64_t[]){N, HEADS, DIM_V});
    evaluation_input(e, "weights", d->table, 2, (const int64_t[]){NPOS, DIM});
}

static float dot(const double *x, const double *y)
{
    float sum = 0;
    for (int c = 0; c < DIM; c++)
        sum += (float)x[c] * (float)y[c];
    return sum;
}

/* The listing, causal: scores and positions [HEADS, N, N], -infinity where not seen. */
static void kernel(float *scores, float *places, const struct data *d, enum fault fault)
{
    const float last = fault == NO_CLAMP_ROW ? NPOS - 2 : NPOS - 1;
    for (int at = 0; at < HEADS * N; at++) {
        const int h = at / N, i = at % N;
        const double *q = d->q + (i * HEADS + h) * DIM;
        float z[N], gate[N], sum = 0;
        for (int j = 0; j < N; j++) {
            z[j] = dot(q, d->k + (j * HEADS + h) * DIM) / sqrtf(DIM);
            gate[j] = 1 / (1 + expf(-(fault == UNSCALED_GATE ? z[j] * sqrtf(DIM) : z[j])));
            if ((j > i && fault != MASKED_GATES) || (j == i && fault == EXCLUSIVE))
                gate[j] = 0;
        }
        for (int n = 0; n < N; n++) {
            const int j = fault == FORWARD_SUM ? n : N - 1 - n;
            sum += gate[j];
            const float p = sum < last ? sum : last, low = floorf(p), w = p - low;
            const int m = (int)low, up = w > 0 ? m + 1 : m;
            float logit = dot(q, d->table + up * DIM) * w + dot(q, d->table + m * DIM) * (1 - w);
            if (fault == ROUNDED)
                logit = dot(q, d->table + (int)roundf(p) * DIM);
            places[at * N + j] = p;
            scores[at * N + j] = j > i ? -HUGE_VALF
                                 : z[j] + (fault == SCALED_LOGIT ? logit / sqrtf(DIM) : logit);
        }
    }
}

static void attend(float *out, const float *scores, const struct data *d)
{
    memset(out, 0, N * HEADS * DIM_V * sizeof *out);
    for (int at = 0; at < HEADS * N; at++) {
        const int h = at / N, i = at % N;
        float sum = 0, *row = out + (i * HEADS + h) * DIM_V;
        for (int j = 0; j <= i; j++) {
            const float w = expf(scores[at * N + j]);
            sum += w;
            for (int c = 0; c < DIM_V; c++)
                row[c] += w * (float)d->v[(j * HEADS + h) * DIM_V + c];
        }
        for (int c = 0; c < DIM_V; c++)
            row[c] /= sum;
    }
}

static bool judged(enum posref_op op, const float *value, enum posref_dtype dtype,
                   const struct data *d)
{
    struct evaluation e;
    struct posref_judgement j;
    uint16_t half[HEADS * N * N];
    open_case(&e, "scheme=cope dim=4 npos_max=4 causal=true", d);
    int64_t count;
    evaluation_run(&e, op, op == POSREF_OP_TABLE ? "contextual_positions"
                           : op == POSREF_OP_SCORES ? "scores" : "attention", &count);
    struct posref_tensors golden = {.n = 1, .item = {e.out.item[0]}}, actual = golden;
    for (int64_t at = 0; at < count; at++)
        half[at] = (uint16_t)(dtype == POSREF_F32 ? 0 : posref_narrow((double)value[at], dtype));
    float copy[HEADS * N * N];
    memcpy(copy, value, (size_t)count * sizeof *copy);
    actual.item[0].dtype = dtype;
    actual.item[0].data = dtype == POSREF_F32 ? (void *)copy : (void *)half;
    ck_assert_int_eq(posref_judge(&j, &e.spec, op, &e.in, &golden, &actual, dtype,
                                  posref_grade_default(dtype), &e.arena, &e.err), POSREF_OK);
    evaluation_close(&e);
    return j.pass;
}

/* Positions and scores [1, 4] of one query and keys whose products with it are z, row m = (m + 1)^2
 * in the channel of the query. */
static void one_query(struct evaluation *e, const char *spec, const double z[4], const double *mask)
{
    static const double q[] = {1, 0};
    static double k[8], table[] = {1, 0, 4, 0, 9, 0};
    for (int j = 0; j < 4; j++)
        k[2 * j] = z[j];
    evaluation_open(e, spec);
    evaluation_input(e, "q", q, 2, (const int64_t[]){1, 2});
    evaluation_input(e, "k", k, 2, (const int64_t[]){4, 2});
    evaluation_input(e, "weights", table, 2, (const int64_t[]){3, 2});
    if (mask)
        evaluation_input(e, "mask", mask, 2, (const int64_t[]){1, 4});
}

START_TEST(by_hand)
{
    static const struct {
        double z[4], mask[4], place[4], logit[4];
    } cases[] = {
        {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 1.5, 1, 0.5}, {9, 6.5, 4, 2.5}}, /* half open */
        {{0, 0, 0, 0}, {1, 0, 1, 0}, {1, 0.5, 0.5, 0}, {4, 2.5, 2.5, 1}}, /* masked: no gate */
        {{900, 900, 900, 900}, {1, 1, 1, 1}, {2, 2, 2, 1}, {9, 9, 9, 4}}, /* open, clamped */
        {{-900, -900, -900, -900}, {1, 1, 1, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}}, /* below 2^-1074 */
        {{3, -3, 2, -2}, {1, 1, 1, 1}, {2, 1.0474258731775667, 1, 0.11920292202211755},
         {9, 4.2371293658878336, 4, 1.3576087660663527}}, /* opposite: whole, as sums */
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        struct evaluation e;
        one_query(&e, "scheme=cope dim=2 npos_max=3 softmax_scale=1", cases[n].z, cases[n].mask);
        evaluation_run(&e, POSREF_OP_ALL, "scores", NULL);
        for (int j = 0; j < 4; j++) {
            const double tolerance = n < 3 || cases[n].place[j] == floor(cases[n].place[j]) ? 0
                                                                                           : 1e-15;
            if (n != 3) {
                ck_assert_close(evaluation_output(&e, "contextual_positions")[j], cases[n].place[j],
                                tolerance);
                ck_assert_close(evaluation_output(&e, "content_position")[j], cases[n].logit[j],
                                8 * tolerance);
            } else { /* four gates of e^-900: rounded, not lost */
                ck_assert_double_eq(evaluation_output(&e, "contextual_positions")[j], 0);
                ck_assert_double_eq(evaluation_output(&e, "content_position")[j], 1);
            }
            ck_assert_double_eq(evaluation_output(&e, "content_content")[j], cases[n].z[j]);
        }
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(variants)
{
    static const double z[4] = {1, 0.5, -2, 4};
    struct evaluation e;
    double sum = 0;
    for (int gates = 0; gates < 2; gates++)
        for (int logits = 0; logits < 2; logits++) {
            char spec[120];
            snprintf(spec, sizeof spec, "scheme=cope dim=2 npos_max=3 softmax_scale=0.5 "
                                        "gate_logits=%s position_logits=%s",
                     gates ? "unscaled" : "scaled", logits ? "scaled" : "unscaled");
            one_query(&e, spec, z, NULL);
            evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
            sum = 0;
            for (int j = 3; j >= 0; j--) {
                sum += 1 / (1 + exp(-z[j] * (gates ? 1 : 0.5)));
                const double p = fmin(sum, 2), logit = p < 1 ? 1 + 3 * p : 4 + 5 * (p - 1);
                const double want = logit * (logits ? 0.5 : 1);
                ck_assert_close(evaluation_output(&e, "content_position")[j], want, 1e-14);
                ck_assert_close(evaluation_output(&e, "scores")[j], 0.5 * z[j] + want, 1e-14);
            }
            evaluation_close(&e);
        }
}
END_TEST

/* Open gates count tokens: the scores of a table by distance, i - j + 1, clamped. */
START_TEST(open_gates_are_relative_positions)
{
    struct data d;
    struct evaluation e;
    draw(&d);
    for (int n = 0; n < N * HEADS * DIM; n++)
        d.q[n] = d.k[n] = n % DIM < 2 ? 32 : 0;
    open_case(&e, "scheme=cope dim=4 npos_max=4 causal=true", &d);
    evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            const int row = i - j + 1 < NPOS - 1 ? i - j + 1 : NPOS - 1;
            ck_assert_double_eq(evaluation_output(&e, "content_position")[i * N + j],
                                32 * (d.table[row * DIM] + d.table[row * DIM + 1]));
        }
    evaluation_close(&e);
}
END_TEST

START_TEST(kernels_and_faults)
{
    struct data d;
    draw(&d);
    for (int fault = NONE; fault < N_FAULTS; fault++) {
        float scores[HEADS * N * N], places[HEADS * N * N], out[N * HEADS * DIM_V];
        kernel(scores, places, &d, (enum fault)fault);
        attend(out, scores, &d);
        const bool positions_hold = fault == NONE || fault == SCALED_LOGIT || fault == ROUNDED;
        for (int t = POSREF_F32; t <= POSREF_BF16; t++) {
            const enum posref_dtype dtype = (enum posref_dtype)t;
            ck_assert_msg(judged(POSREF_OP_TABLE, places, dtype, &d) == positions_hold,
                          "positions, dtype %d: %s", t, names[fault]);
            ck_assert_msg(judged(POSREF_OP_SCORES, scores, dtype, &d) == (fault == NONE),
                          "scores, dtype %d: %s", t, names[fault]);
            /* Weights of scores held in bfloat16 do not tell other gates. */
            const bool coarse = dtype == POSREF_BF16 && fault == UNSCALED_GATE;
            ck_assert_msg(judged(POSREF_OP_ATTENTION, out, dtype, &d) == (fault == NONE || coarse),
                          "attention, dtype %d: %s", t, names[fault]);
        }
    }
}
END_TEST

START_TEST(bad_inputs_are_named)
{
    static const double z[4] = {1, 2, 3, 4};
    struct evaluation e;
    struct posref_spec spec;
    struct posref_error err;
    one_query(&e, "scheme=cope dim=2 npos_max=4", z, NULL);
    evaluation_refused(&e, POSREF_OP_SCORES, "weights"); /* three rows */
    evaluation_close(&e);
    evaluation_open(&e, "scheme=cope dim=2 npos_max=4");
    evaluation_input(&e, "q", z, 2, (const int64_t[]){1, 2});
    evaluation_refused(&e, POSREF_OP_TABLE, "k");
    evaluation_input(&e, "k", z, 2, (const int64_t[]){2, 2});
    evaluation_run(&e, POSREF_OP_TABLE, "contextual_positions", NULL); /* needs no weights */
    evaluation_close(&e);
    ck_assert_int_eq(posref_spec_parse(&spec, "scheme=cope dim=2", &err), POSREF_OK);
    ck_assert_int_eq(posref_spec_complete(&spec, &err), POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "npos_max");
    ck_assert_int_eq(posref_spec_parse(&spec, "scheme=cope dim=2 npos_max=3 temperature=logn "
                                              "temperature_length=4", &err), POSREF_OK);
    ck_assert_int_eq(posref_spec_complete(&spec, &err), POSREF_BAD_INPUT);
    ck_assert_str_eq(err.key, "temperature");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        by_hand, variants, open_gates_are_relative_positions, kernels_and_faults,
        bad_inputs_are_named,
    };
    return RUN_EVALUATIONS("cope", tests);
}
