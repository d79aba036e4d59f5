/* SPDX-License-Identifier: Apache-2.0 */
/* RoFormer's linear attention: eq. 19 by rotated vectors in doubles, its properties, what it
 * refuses; honest kernels conform and seeded faults do not. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>
#include <string.h>

enum { N_Q = 3, N_K = 5, DIM = 6, DIM_V = 2 };

static const double q_at[N_Q] = {4, 300, 6}, k_at[N_K] = {0, 1, 7, 4, 299};

enum fault { NONE, ROTATES_BOTH, PHI_AFTER, NO_ONE, UNROTATED, NO_MASK, N_FAULTS };

struct data {
    double q[N_Q * DIM], k[N_K * DIM], v[N_K * DIM_V];
};

static void draw(struct data *d)
{
    uint64_t seed = 41;
    for (int n = 0; n < N_Q * DIM; n++)
        d->q[n] = next_random(&seed);
    for (int n = 0; n < N_K * DIM; n++)
        d->k[n] = next_random(&seed);
    for (int n = 0; n < N_K * DIM_V; n++)
        d->v[n] = next_random(&seed);
}

static void open(struct evaluation *e, const char *spec, const struct data *d, const double *q_pos,
                 const double *k_pos)
{
    evaluation_open(e, spec);
    evaluation_input(e, "q_positions", q_pos, 1, (const int64_t[]){N_Q});
    evaluation_input(e, "k_positions", k_pos, 1, (const int64_t[]){N_K});
    evaluation_input(e, "q", d->q, 2, (const int64_t[]){N_Q, DIM});
    evaluation_input(e, "k", d->k, 2, (const int64_t[]){N_K, DIM});
    evaluation_input(e, "v", d->v, 2, (const int64_t[]){N_K, DIM_V});
}

static double phi(double x, enum fault fault)
{
    return (x > 0 ? x : expm1(x)) + (fault == NO_ONE ? 0 : 1);
}

/* plain: phi; turned: phi, then pairs c, c + DIM/2 turned by position 10000^(-2c/DIM). */
static void encode(double *plain, double *turned, const double *x, double position,
                   enum fault fault)
{
    double in[DIM];
    for (int c = 0; c < DIM; c++) {
        plain[c] = phi(x[c], fault);
        in[c] = fault == PHI_AFTER ? x[c] : plain[c];
    }
    for (int c = 0; c < DIM / 2; c++) {
        double angle = fault == UNROTATED ? 0 : position * pow(10000, -2.0 * c / DIM);
        turned[c] = in[c] * cos(angle) - in[c + DIM / 2] * sin(angle);
        turned[c + DIM / 2] = in[c + DIM / 2] * cos(angle) + in[c] * sin(angle);
    }
    for (int c = 0; c < DIM && fault == PHI_AFTER; c++)
        turned[c] = phi(turned[c], fault);
}

/* Causal, the last query at the last key. */
static void model(double *out, const struct data *d, enum fault fault)
{
    for (int i = 0; i < N_Q; i++) {
        double q[DIM], q_turned[DIM], k[DIM], k_turned[DIM], sum = 0, top[DIM_V] = {0};
        encode(q, q_turned, d->q + i * DIM, q_at[i], fault);
        for (int j = 0; j < N_K; j++) {
            double weight = 0;
            if (fault != NO_MASK && j > i + N_K - N_Q)
                continue;
            encode(k, k_turned, d->k + j * DIM, k_at[j], fault);
            for (int c = 0; c < DIM; c++) {
                weight += q_turned[c] * k_turned[c];
                sum += fault == ROTATES_BOTH ? q_turned[c] * k_turned[c] : q[c] * k[c];
            }
            for (int c = 0; c < DIM_V; c++)
                top[c] += weight * d->v[j * DIM_V + c];
        }
        for (int c = 0; c < DIM_V; c++)
            out[i * DIM_V + c] = top[c] / sum;
    }
}

static const char spec[] = "scheme=rope dim=6 attention_kind=linear causal=true";

START_TEST(equals_rotated_vectors)
{
    struct data d;
    struct evaluation e;
    double want[N_Q * DIM_V];
    draw(&d);
    model(want, &d, NONE);
    open(&e, spec, &d, q_at, k_at);
    /* Without an op: scores are left out. */
    const double *got = evaluation_run(&e, POSREF_OP_ALL, "attention", NULL);
    ck_assert_ptr_null(posref_tensors_find(&e.out, "scores"));
    for (int n = 0; n < N_Q * DIM_V; n++)
        ck_assert_close(got[n], want[n], 1e-13);
    evaluation_close(&e);
}
END_TEST

START_TEST(only_distances_count)
{
    struct data d;
    struct evaluation e[2];
    double q[N_Q], k[N_K];
    draw(&d);
    for (int n = 0; n < N_Q; n++)
        q[n] = q_at[n] + 70001;
    for (int n = 0; n < N_K; n++)
        k[n] = k_at[n] + 70001;
    open(&e[0], spec, &d, q_at, k_at);
    open(&e[1], spec, &d, q, k);
    ck_assert_same(evaluation_run(&e[0], POSREF_OP_ATTENTION, "attention", NULL),
                   evaluation_run(&e[1], POSREF_OP_ATTENTION, "attention", NULL), N_Q * DIM_V);
    evaluation_close(&e[0]);
    evaluation_close(&e[1]);
}
END_TEST

/* Over several axes: equal coordinates turn by what one axis does, and a shift of everything
 * along one axis alone changes nothing. */
START_TEST(each_axis_counts_by_itself)
{
    struct data d;
    struct evaluation one, e[2];
    double q[3 * N_Q], k[3 * N_K];
    draw(&d);
    open(&one, "dim=6 attention_kind=linear", &d, q_at, k_at);
    const double *want = evaluation_run(&one, POSREF_OP_ATTENTION, "attention", NULL);
    for (int shifted = 0; shifted < 2; shifted++) {
        for (int axis = 0; axis < 3; axis++) {
            for (int n = 0; n < N_Q; n++)
                q[axis * N_Q + n] = q_at[n] + (shifted && axis == 1 ? 1000 : 0);
            for (int n = 0; n < N_K; n++)
                k[axis * N_K + n] = k_at[n] + (shifted && axis == 1 ? 1000 : 0);
        }
        evaluation_open(&e[shifted], "dim=6 attention_kind=linear pairing=half "
                                     "mrope_section=1,1,1");
        evaluation_input(&e[shifted], "q_positions", q, 2, (const int64_t[]){3, N_Q});
        evaluation_input(&e[shifted], "k_positions", k, 2, (const int64_t[]){3, N_K});
        evaluation_input(&e[shifted], "q", d.q, 2, (const int64_t[]){N_Q, DIM});
        evaluation_input(&e[shifted], "k", d.k, 2, (const int64_t[]){N_K, DIM});
        evaluation_input(&e[shifted], "v", d.v, 2, (const int64_t[]){N_K, DIM_V});
        ck_assert_same(evaluation_run(&e[shifted], POSREF_OP_ATTENTION, "attention", NULL), want,
                       N_Q * DIM_V);
        evaluation_close(&e[shifted]);
    }
    evaluation_close(&one);
}
END_TEST

START_TEST(one_key_in_place_is_its_value)
{
    const double at = 123, q[] = {-3.5, 0.25}, k[] = {-0.75, 2}, v[] = {0.1, 0};
    struct evaluation e;
    evaluation_open(&e, "scheme=rope dim=2 attention_kind=linear");
    evaluation_input(&e, "positions", &at, 1, (const int64_t[]){1});
    evaluation_input(&e, "q", q, 2, (const int64_t[]){1, 2});
    evaluation_input(&e, "k", k, 2, (const int64_t[]){1, 2});
    evaluation_input(&e, "v", v, 2, (const int64_t[]){1, 2});
    ck_assert_same(evaluation_run(&e, POSREF_OP_ATTENTION, "attention", NULL), v, 2);
    evaluation_close(&e);
}
END_TEST

static void refused_spec(const char *text, const char *key)
{
    struct posref_spec bad;
    struct posref_error err = {"", ""};
    posref_spec_init(&bad);
    enum posref_status status = posref_spec_parse(&bad, text, &err);
    if (status == POSREF_OK)
        status = posref_spec_complete(&bad, &err);
    ck_assert_msg(status == POSREF_BAD_INPUT, "%s", text);
    ck_assert_str_eq(err.key, key);
}

START_TEST(bad_inputs_are_named)
{
    struct data d;
    struct evaluation e;
    draw(&d);
    open(&e, spec, &d, q_at, k_at);
    evaluation_refused(&e, POSREF_OP_SCORES, "op");
    evaluation_close(&e);
    d.k[3] = -2e6;
    open(&e, spec, &d, q_at, k_at);
    evaluation_refused(&e, POSREF_OP_ATTENTION, "k");
    evaluation_close(&e);
    refused_spec("scheme=rope dim=6 attention_kind=linear softmax_scale=1", "softmax_scale");
    refused_spec("scheme=rope dim=6 attention_kind=linear temperature=logn temperature_length=8",
                 "temperature");
    refused_spec("scheme=rope dim=6 attention_kind=linear pairing=mismatched", "attention_kind");
    refused_spec("scheme=none attention_kind=linear", "attention_kind");
}
END_TEST

static bool passes(struct evaluation *e, const struct posref_tensors *golden, const double *x,
                   enum posref_dtype dtype)
{
    float single[N_Q * DIM_V];
    uint16_t half[N_Q * DIM_V];
    struct posref_tensors actual = {.n = 1};
    struct posref_judgement out;
    struct posref_error err = {"", ""};
    for (int n = 0; n < N_Q * DIM_V; n++) {
        single[n] = (float)x[n];
        half[n] = (uint16_t)posref_narrow(x[n], dtype == POSREF_F32 ? POSREF_F16 : dtype);
    }
    actual.item[0] = golden->item[0];
    actual.item[0].dtype = dtype;
    actual.item[0].data = dtype == POSREF_F32 ? (void *)single : (void *)half;
    ck_assert_int_eq(posref_judge(&out, &e->spec, POSREF_OP_ATTENTION, &e->in, golden, &actual,
                                  dtype, posref_grade_default(dtype), &e->arena, &err), POSREF_OK);
    return out.pass;
}

START_TEST(judged)
{
    struct data d;
    struct evaluation e;
    double x[N_Q * DIM_V];
    draw(&d);
    open(&e, spec, &d, q_at, k_at);
    evaluation_run(&e, POSREF_OP_ATTENTION, "attention", NULL);
    for (int dtype = POSREF_F32; dtype <= POSREF_BF16; dtype++)
        for (int fault = NONE; fault < N_FAULTS; fault++) {
            model(x, &d, (enum fault)fault);
            ck_assert_msg(passes(&e, &e.out, x, (enum posref_dtype)dtype) == (fault == NONE),
                          "fault %d, dtype %d", fault, dtype);
        }
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        equals_rotated_vectors, only_distances_count, each_axis_counts_by_itself,
        one_key_in_place_is_its_value, bad_inputs_are_named, judged,
    };
    return RUN_EVALUATIONS("linear", tests);
}
