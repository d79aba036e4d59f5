/* SPDX-License-Identifier: Apache-2.0 */
/* The error model of computed biases: float32 kernels with arithmetic of their own pass, rounded to
 * 16 bits too; seeded faults fail in every dtype. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>
#include <string.h>

enum { HEADS = 4, WIDTH = 8, N_MAX = 16, DIM = 64 };

enum fault { NONE, ROUTE, SIGN, NEXT_HEAD, NEXT_ROW, ALIGNED, PARAMETERS, SCALE, TERM, N_FAULTS };
static const char *const names[] = {"none", "another route", "sign", "next head", "next row",
                                    "alignment or axes", "parameters", "scale", "a term missing"};

/* Positions: one axis, or y then x of a window. */
struct grid {
    int n_q, n_k, axes;
    double q[N_MAX], k[N_MAX];
};
static const struct grid near = {5, 7, 1, {0, 1, 5, 40, 300}, {0, 1, 2, 7, 41, 299, 300}};
static const struct grid far = {2, 6, 1, {2049, 131071},
                                {0, 2048, 65537, 131070, 131071, 1048575}};
static const struct grid window = {3, 5, 2, {0, 6, 3, 0, 7, 3}, {0, 0, 1, 3, 7, 0, 1, 2, 0, 7}};

/* Parameters, exact in every dtype. */
static const double r1[HEADS] = {1, 0.5, 0.25, 2}, r2[HEADS] = {0.5, 1, 1.5, 0.03125};
static double w1[WIDTH * 2], b1[WIDTH], w2[HEADS * WIDTH], b2[HEADS];

typedef float kernel_fn(const struct grid *g, int h, int i, int j, enum fault fault);

static float offset(const struct grid *g, int i, int j, enum fault fault)
{
    const int row = fault == NEXT_ROW ? (i + 1) % g->n_q : i;
    return (float)g->q[row] - (float)g->k[j];
}

static float kerple_log(const struct grid *g, int h, int i, int j, enum fault fault)
{
    const int head = fault == NEXT_HEAD ? (h + 1) % HEADS : h;
    const float n = fabsf(offset(g, i, j, fault)), a = (float)r1[head], b = (float)r2[head];
    if (fault == PARAMETERS)
        return -b * logf(1 + a * n);
    if (fault == SCALE)
        return -a * log2f(1 + b * n);
    const float bias = fault == ROUTE ? -a * log1pf(b * n) : -a * logf(1 + b * n);
    return fault == SIGN ? -bias : bias;
}

static float kerple_power(const struct grid *g, int h, int i, int j, enum fault fault)
{
    const int head = fault == NEXT_HEAD ? (h + 1) % HEADS : h;
    const float n = fabsf(offset(g, i, j, fault)), a = (float)r1[head], b = (float)r2[head];
    if (fault == PARAMETERS)
        return -b * powf(n, a);
    const float bias = fault == ROUTE && n > 0 ? -a * expf(b * logf(n)) : -a * powf(n, b);
    return fault == SIGN ? -bias : bias;
}

/* By differences, or as the product of two embeddings. */
static float sandwich(const struct grid *g, int h, int i, int j, enum fault fault)
{
    const float q = (float)g->q[fault == NEXT_ROW ? (i + 1) % g->n_q : i], k = (float)g->k[j];
    float sum = 0;
    for (int at = 1; at <= DIM / 2; at++) {
        const float theta = powf(10000, -2.0F * (float)(fault == PARAMETERS ? at - 1 : at) / DIM);
        const float a = q * theta, b = k * theta;
        sum += fault == ROUTE ? sinf(a) * sinf(b) + cosf(a) * cosf(b) : cosf((q - k) * theta);
    }
    if (fault != TERM)
        sum -= DIM / 2.0F;
    const int head = fault == NEXT_HEAD ? (h + 1) % HEADS : h;
    sum *= (fault == SCALE ? 1 : HEADS) / (8 * (float)(head + 1));
    return fault == SIGN ? -sum : sum;
}

static float network(const float *in, int n_in, int head, bool last)
{
    float sum = last ? (float)b2[head] : 0;
    for (int m = 0; m < WIDTH; m++) {
        float hidden = (float)b1[m];
        for (int a = 0; a < n_in; a++)
            hidden += (float)w1[m * n_in + a] * in[a];
        sum += (float)w2[head * WIDTH + m] * fmaxf(0, hidden);
    }
    return sum;
}

static float psi(float x, bool plain)
{
    return plain ? log1pf(0.1F * x) : logf(0.1F * x + 1);
}

static float fire(const struct grid *g, int h, int i, int j, enum fault fault)
{
    const float n = fabsf(offset(g, i, j, fault)), q = (float)g->q[i];
    const float norm = fault == PARAMETERS ? (float)g->k[j] : q;
    const float most = fault == SCALE ? fmaxf(1, norm) : fmaxf(32, norm);
    const float in = psi(n, fault == ROUTE) / (psi(most, fault == ROUTE) + 1e-6F);
    const float bias = network(&in, 1, fault == NEXT_HEAD ? (h + 1) % HEADS : h, fault != TERM);
    return fault == SIGN ? -bias : bias;
}

static float coordinate(float d, float size, enum fault fault)
{
    const float x = 8 * fabsf(d) / (fault == PARAMETERS ? size : size - 1);
    const float y = fault == ROUTE ? log1pf(x) / logf(8) : log2f(x + 1) / log2f(8);
    return copysignf(fault == SCALE ? y * 3 : y, fault == SIGN ? -d : d);
}

static float swinv2(const struct grid *g, int h, int i, int j, enum fault fault)
{
    const int row = fault == NEXT_ROW ? (i + 1) % g->n_q : i;
    float in[2];
    for (int axis = 0; axis < 2; axis++) {
        const float d = (float)(g->q[axis * g->n_q + row] - g->k[axis * g->n_k + j]);
        in[fault == ALIGNED ? !axis : axis] = coordinate(d, 8, fault);
    }
    const float v = network(in, 2, fault == NEXT_HEAD ? (h + 1) % HEADS : h, false);
    return fault == TERM ? v : 16 / (1 + expf(-v));
}

static float alibi(const struct grid *g, int h, int i, int j, enum fault fault)
{
    const float slope = exp2f(-8 * (float)((fault == NEXT_HEAD ? h + 1 : h) + 1) / HEADS);
    float d = offset(g, i, j, fault);
    if (fault != ALIGNED)
        d += (float)g->k[0] - (float)g->q[0];
    const float bias = -(fault == SCALE ? 1 / slope : slope) * fabsf(d);
    return fault == SIGN ? -bias : bias;
}

#define ANY (1U << NONE | 1U << SIGN | 1U << NEXT_HEAD | 1U << NEXT_ROW)

static const struct subject {
    const char *spec;
    kernel_fn *kernel;
    const struct grid *grid;
    unsigned faults;
} subjects[] = {
    {"scheme=kerple num_heads=4", kerple_log, &near, ANY | 1U << PARAMETERS | 1U << SCALE},
    {"scheme=kerple num_heads=4", kerple_log, &far, ANY | 1U << PARAMETERS | 1U << SCALE},
    {"scheme=kerple kernel=power num_heads=4", kerple_power, &near, ANY | 1U << PARAMETERS},
    {"scheme=kerple kernel=power num_heads=4", kerple_power, &far, ANY | 1U << PARAMETERS},
    {"scheme=sandwich dim=64 num_heads=4", sandwich, &near,
     ANY | 1U << PARAMETERS | 1U << SCALE | 1U << TERM},
    {"scheme=sandwich dim=64 num_heads=4", sandwich, &far,
     ANY | 1U << PARAMETERS | 1U << SCALE | 1U << TERM},
    {"scheme=fire num_heads=4 mlp_width=8 log_scale=0.1 threshold=32 epsilon=1e-6", fire, &near,
     ANY | 1U << PARAMETERS | 1U << SCALE | 1U << TERM},
    {"scheme=fire num_heads=4 mlp_width=8 log_scale=0.1 threshold=32 epsilon=1e-6", fire, &far,
     ANY | 1U << PARAMETERS | 1U << TERM},
    {"scheme=swinv2 window_size=8 num_heads=4 mlp_width=8", swinv2, &window,
     ANY | 1U << PARAMETERS | 1U << SCALE | 1U << TERM | 1U << ALIGNED},
    {"scheme=alibi num_heads=4 form=symmetric align=top_left", alibi, &far,
     ANY | 1U << SCALE | 1U << ALIGNED},
};

static void open_subject(struct evaluation *e, const struct subject *s)
{
    const struct grid *g = s->grid;
    const int rank = g->axes > 1 ? 2 : 1;
    evaluation_open(e, s->spec);
    evaluation_input(e, "q_positions", g->q, rank,
                     rank > 1 ? (const int64_t[]){2, g->n_q} : (const int64_t[]){g->n_q});
    evaluation_input(e, "k_positions", g->k, rank,
                     rank > 1 ? (const int64_t[]){2, g->n_k} : (const int64_t[]){g->n_k});
    if (s->kernel == kerple_log || s->kernel == kerple_power) {
        evaluation_input(e, "r1", r1, 1, (const int64_t[]){HEADS});
        evaluation_input(e, "r2", r2, 1, (const int64_t[]){HEADS});
    }
    if (s->kernel == fire || s->kernel == swinv2) {
        evaluation_input(e, "w1", w1, 2, (const int64_t[]){WIDTH, s->kernel == fire ? 1 : 2});
        evaluation_input(e, "b1", b1, 1, (const int64_t[]){WIDTH});
        evaluation_input(e, "w2", w2, 2, (const int64_t[]){HEADS, WIDTH});
    }
    if (s->kernel == fire)
        evaluation_input(e, "b2", b2, 1, (const int64_t[]){HEADS});
}

/* Judges n values, rounded to the dtype, in the place of the only output. */
static void judge(struct posref_judgement *out, struct evaluation *e, enum posref_op op,
                  const double *value, enum posref_dtype dtype)
{
    float single[HEADS * N_MAX * N_MAX];
    uint16_t half[HEADS * N_MAX * N_MAX];
    struct posref_tensors actual = {.n = 1, .item = {e->out.item[0]}};
    for (int64_t k = 0; k < posref_tensor_count(&actual.item[0]); k++) {
        single[k] = (float)value[k];
        if (dtype != POSREF_F32)
            half[k] = (uint16_t)posref_narrow(value[k], dtype);
    }
    actual.item[0].dtype = dtype;
    actual.item[0].data = dtype == POSREF_F32 ? (void *)single : (void *)half;
    ck_assert_int_eq(posref_judge(out, &e->spec, op, &e->in, &e->out, &actual, dtype,
                                  posref_grade_default(dtype), &e->arena, &e->err), POSREF_OK);
}

static void run_kernel(double *out, const struct subject *s, enum fault fault)
{
    const struct grid *g = s->grid;
    for (int h = 0; h < HEADS; h++)
        for (int at = 0; at < g->n_q * g->n_k; at++)
            *out++ = (double)s->kernel(g, h, at / g->n_k, at % g->n_k, fault);
}

static void expect(const struct subject *s, const struct posref_judgement *j,
                   enum posref_dtype dtype, enum posref_grade worst, const char *what)
{
    ck_assert_msg(j->pass && j->grade <= worst && j->n_judged > 0,
                  "%s, dtype %d, %s: %s, %g limits at %lld: got %.9g want %.9g, %lld judged",
                  s->spec, (int)dtype, what, posref_grade_name(j->grade), j->error_limits,
                  (long long)j->element, j->got, j->want, (long long)j->n_judged);
}

START_TEST(honest_kernels_pass)
{
    double value[HEADS * N_MAX * N_MAX];
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++) {
        const struct subject *s = &subjects[k];
        struct posref_judgement j;
        struct evaluation e;
        open_subject(&e, s);
        const double *golden = evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
        for (int d = POSREF_F32; d <= POSREF_BF16; d++) {
            judge(&j, &e, POSREF_OP_BIAS, golden, (enum posref_dtype)d);
            expect(s, &j, (enum posref_dtype)d, POSREF_GRADE_FLOAT32, "right values");
            for (int route = NONE; route <= ROUTE; route++) {
                run_kernel(value, s, (enum fault)route);
                judge(&j, &e, POSREF_OP_BIAS, value, (enum posref_dtype)d);
                expect(s, &j, (enum posref_dtype)d, POSREF_GRADE_FLOAT32, names[route]);
            }
        }
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(faults_fail)
{
    double value[HEADS * N_MAX * N_MAX];
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++) {
        const struct subject *s = &subjects[k];
        struct posref_judgement j;
        struct evaluation e;
        open_subject(&e, s);
        evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
        for (int fault = SIGN; fault < N_FAULTS; fault++) {
            run_kernel(value, s, (enum fault)fault);
            for (int d = POSREF_F32; d <= POSREF_BF16 && s->faults >> fault & 1; d++) {
                judge(&j, &e, POSREF_OP_BIAS, value, (enum posref_dtype)d);
                ck_assert_msg(!j.pass, "%s, %s grid, dtype %d: %s passes as %s", s->spec,
                              s->grid == &far ? "far" : "near", d, names[fault],
                              posref_grade_name(j.grade));
            }
        }
        evaluation_close(&e);
    }
}
END_TEST

/* Logarithm and product in the dtype: what grade low is for. */
START_TEST(kerple_held_in_16_bits)
{
    double value[HEADS * N_MAX * N_MAX];
    for (int d = POSREF_F16; d <= POSREF_BF16; d++) {
        const enum posref_dtype dtype = (enum posref_dtype)d;
        struct posref_judgement j;
        struct evaluation e;
        open_subject(&e, &subjects[0]);
        evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
        for (int at = 0; at < HEADS * near.n_q * near.n_k; at++) {
            const int h = at / (near.n_q * near.n_k), i = at / near.n_k % near.n_q;
            const double n = fabs(near.q[i] - near.k[at % near.n_k]);
            const double held = posref_widen(posref_narrow(log1p(r2[h] * n), dtype), dtype);
            value[at] = -r1[h] * held;
        }
        judge(&j, &e, POSREF_OP_BIAS, value, dtype);
        expect(&subjects[0], &j, dtype, POSREF_GRADE_LOW, "logarithm in 16 bits");
        evaluation_close(&e);
    }
}
END_TEST

/* The coordinates by themselves: [n_q, n_k, 2]. */
START_TEST(swinv2_coordinates)
{
    const struct grid *g = &window;
    for (int fault = NONE; fault < N_FAULTS; fault++) {
        const struct subject *s = &subjects[8];
        double value[2 * N_MAX * N_MAX];
        struct posref_judgement j;
        struct evaluation e;
        if (fault == NEXT_HEAD || fault == TERM)
            continue;
        open_subject(&e, s);
        evaluation_run(&e, POSREF_OP_TABLE, "coordinates", NULL);
        for (int at = 0; at < 2 * g->n_q * g->n_k; at++) {
            const int axis = fault == ALIGNED ? !(at % 2) : at % 2;
            int i = at / 2 / g->n_k;
            i = fault == NEXT_ROW ? (i + 1) % g->n_q : i;
            const double d = g->q[axis * g->n_q + i] - g->k[axis * g->n_k + at / 2 % g->n_k];
            value[at] = (double)coordinate((float)d, 8, (enum fault)fault);
        }
        for (int d = POSREF_F32; d <= POSREF_BF16; d++) {
            judge(&j, &e, POSREF_OP_TABLE, value, (enum posref_dtype)d);
            if (fault <= ROUTE)
                expect(s, &j, (enum posref_dtype)d, POSREF_GRADE_FLOAT32, "coordinates");
            else
                ck_assert_msg(!j.pass, "dtype %d: %s passes", d, names[fault]);
        }
        evaluation_close(&e);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {honest_kernels_pass, faults_fail, kerple_held_in_16_bits,
                                  swinv2_coordinates};
    uint64_t seed = 5;
    for (int m = 0; m < WIDTH * 2; m++)
        w1[m] = next_random(&seed);
    for (int m = 0; m < WIDTH; m++)
        b1[m] = next_random(&seed) / 4;
    for (int m = 0; m < HEADS * WIDTH; m++)
        w2[m] = next_random(&seed);
    for (int h = 0; h < HEADS; h++)
        b2[h] = next_random(&seed);
    return RUN_EVALUATIONS("judge_bias", tests);
}
