/* SPDX-License-Identifier: Apache-2.0 */
/* Judging of biases that are entries of tables: float32 kernels of their own pass, as integers and
 * as copies in every dtype; seeded faults fail. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>
#include <string.h>

enum { HEADS = 3, N_MAX = 24, MOST = 600 };

enum fault { NONE, SIGN, OTHER_EDGE, OTHER_SIDE, NEXT_ROW, NEXT_ENTRY, TRANSPOSED, NEXT_HEAD,
             ONE_VALUE, N_FAULTS };
static const char *const names[] = {"none", "sign reversed", "ceil for floor, or floor for ceil",
                                    "causal for bidirectional, or the reverse", "next row",
                                    "next entry", "table transposed", "next head",
                                    "one entry rounded the wrong way"};

struct grid {
    int n_q, n_k, axes;
    double q[N_MAX], k[N_MAX];
};
static const struct grid line = {
    3, 14, 1, {0, 64, 301}, {0, 1, 3, 8, 9, 48, 55, 64, 66, 79, 80, 128, 300, 1000}};
static const struct grid near = {2, 6, 1, {0, 5}, {0, 1, 3, 5, 7, 8}};
static const struct grid square = {3, 4, 2, {0, 3, 1, 0, 5, 2}, {0, 3, 2, 1, 0, 5, 4, 1}};

typedef int index_fn(const struct grid *g, int i, int j, enum fault fault);

static int t5(int r, int nb, bool bidirectional, enum fault fault)
{
    int first = 0, n;
    if (fault == SIGN)
        r = -r;
    if (fault == OTHER_SIDE)
        bidirectional = !bidirectional;
    if (bidirectional) {
        nb /= 2;
        first = r > 0 ? nb : 0;
        n = r < 0 ? -r : r;
    } else {
        n = r < 0 ? -r : 0;
    }
    const int exact = nb / 2;
    if (n < exact)
        return first + n;
    float step = logf((float)n / (float)exact) / logf(128.0F / (float)exact) * (float)(nb - exact);
    step = fault == OTHER_EDGE ? ceilf(step) : floorf(step);
    const int bucket = exact + (int)step;
    return first + (bucket < nb ? bucket : nb - 1);
}

static int distance(const struct grid *g, int i, int j)
{
    return (int)(g->k[j] - g->q[i]);
}

static int t5_both(const struct grid *g, int i, int j, enum fault fault)
{
    return t5(distance(g, i, j), 32, true, fault);
}

static int t5_causal(const struct grid *g, int i, int j, enum fault fault)
{
    return t5(distance(g, i, j), 32, false, fault);
}

static int deberta(const struct grid *g, int i, int j, enum fault fault)
{
    const int d = fault == SIGN ? distance(g, i, j) : -distance(g, i, j);
    const int n = d < 0 ? -d : d, mid = 16;
    if (n <= mid)
        return d;
    const double step = log((double)n / mid) / log(127.0 / mid) * (mid - 1);
    const int up = mid + (int)(fault == OTHER_EDGE ? floor(step) : ceil(step));
    return d < 0 ? -up : up;
}

static int c2p(const struct grid *g, int i, int j, enum fault fault)
{
    const int row = deberta(g, i, j, fault) + 32;
    return row < 0 ? 0 : row > 63 ? 63 : row;
}

static int clipped(const struct grid *g, int i, int j, enum fault fault)
{
    const int d = fault == SIGN ? -distance(g, i, j) : distance(g, i, j);
    return (d < -16 ? -16 : d > 16 ? 16 : d) + 16;
}

static int full(const struct grid *g, int i, int j, enum fault fault)
{
    return (fault == SIGN ? distance(g, i, j) : -distance(g, i, j)) + 8;
}

static int swin(const struct grid *g, int i, int j, enum fault fault)
{
    int dy = (int)(g->q[i] - g->k[j]), dx = (int)(g->q[g->n_q + i] - g->k[g->n_k + j]);
    if (fault == SIGN) {
        dy = -dy;
        dx = -dx;
    }
    if (fault == OTHER_SIDE) /* x before y */
        return (dx + 5) * 7 + dy + 3;
    return (dy + 3) * 11 + dx + 5;
}

static int beit(const struct grid *g, int i, int j, enum fault fault)
{
    const int class = fault == OTHER_EDGE ? 78 : 77; /* class to token, or token to class */
    if (i == 0)
        return j == 0 ? 79 : class;
    return j == 0 ? 155 - class : swin(g, i - 1, j - 1, fault);
}

#define ANY (1U << NEXT_ROW | 1U << NEXT_ENTRY | 1U << SIGN)

static const struct subject {
    const char *spec, *output;
    index_fn *index;       /* of the output */
    index_fn *entry;       /* of the table */
    const struct grid *grid;
    int entries, special;
    unsigned faults;
} subjects[] = {
    {"scheme=t5_bias", "buckets", t5_both, t5_both, &line, 32, 0,
     ANY | 1U << OTHER_EDGE | 1U << OTHER_SIDE},
    {"scheme=t5_bias bidirectional=false", "buckets", t5_causal, t5_causal, &line, 32, 0,
     ANY | 1U << OTHER_EDGE | 1U << OTHER_SIDE},
    {"scheme=deberta num_buckets=32 max_distance=128", "buckets", deberta, c2p, &line, 64, 0,
     ANY | 1U << OTHER_EDGE},
    {"scheme=relative_bias max_distance=16 difference=key_minus_query", "index", clipped, clipped,
     &line, 33, 0, ANY},
    {"scheme=relative_bias table=full max_position_embeddings=9 difference=query_minus_key",
     "index", full, full, &near, 17, 0, ANY},
    {"scheme=swin window_size=4,6", "index", swin, swin, &square, 77, 0, ANY | 1U << OTHER_SIDE},
    {"scheme=beit window_size=4,6", "index", beit, beit, &square, 80, 1,
     ANY | 1U << OTHER_SIDE | 1U << OTHER_EDGE},
};

static double weights[80 * HEADS];

static void open_subject(struct evaluation *e, const struct subject *s)
{
    const struct grid *g = s->grid;
    const int rank = g->axes > 1 ? 2 : 1;
    evaluation_open(e, s->spec);
    evaluation_input(e, "q_positions", g->q, rank,
                     rank > 1 ? (const int64_t[]){2, g->n_q} : (const int64_t[]){g->n_q});
    evaluation_input(e, "k_positions", g->k, rank,
                     rank > 1 ? (const int64_t[]){2, g->n_k} : (const int64_t[]){g->n_k});
    evaluation_input(e, "weights", weights, 2, (const int64_t[]){s->entries, HEADS});
}

static int wrong_entry(const struct subject *s, index_fn *index, int at, enum fault fault)
{
    const int n_q = s->grid->n_q + s->special, n_k = s->grid->n_k + s->special;
    const int i = at / n_k, row = fault == NEXT_ROW ? (i + 1) % n_q : i;
    return index(s->grid, row, at % n_k, fault) + (fault == NEXT_ENTRY);
}

/* Judges the kernel's integers in the place of s->output; others as they are. */
static bool integers_pass(const struct subject *s, enum fault fault, enum posref_dtype dtype)
{
    int32_t narrow[N_MAX * N_MAX];
    int64_t wide[N_MAX * N_MAX];
    struct posref_judgement out;
    struct evaluation e;
    open_subject(&e, s);
    evaluation_run(&e, POSREF_OP_INDEX, s->output, NULL);
    struct posref_tensors actual = e.out;
    for (int t = 0; t < actual.n; t++)
        if (strcmp(actual.item[t].name, s->output) == 0) {
            actual.item[t].dtype = dtype;
            actual.item[t].data = dtype == POSREF_I32 ? (void *)narrow : (void *)wide;
        }
    const int count = (s->grid->n_q + s->special) * (s->grid->n_k + s->special);
    for (int at = 0; at < count; at++)
        wide[at] = narrow[at] = wrong_entry(s, s->index, at, fault);
    ck_assert_int_eq(posref_judge(&out, &e.spec, POSREF_OP_INDEX, &e.in, &e.out, &actual,
                                  POSREF_F32, POSREF_GRADE_RECURRENCE, &e.arena, &e.err),
                     POSREF_OK);
    ck_assert_msg(out.pass || out.breach == POSREF_BREACH_INTEGER, "%s: %s", s->spec,
                  posref_breach_text(out.breach));
    /* Reports name a place whether it passes or not. */
    ck_assert_ptr_nonnull(out.tensor);
    ck_assert_msg(out.pass == (out.got == out.want) &&
                      out.error_limits == (out.pass ? 0 : HUGE_VAL) &&
                      out.n_compared >= count && isnan(out.position),
                  "%s: got %g, want %g", s->spec, out.got, out.want);
    evaluation_close(&e);
    return out.pass;
}

static double looked_up(const struct subject *s, int h, int at, enum fault fault)
{
    const int entry = wrong_entry(s, s->entry, at, fault) % s->entries;
    const int head = fault == NEXT_HEAD ? (h + 1) % HEADS : h;
    return fault == TRANSPOSED ? weights[head * s->entries + entry] : weights[entry * HEADS + head];
}

static bool bias_passes(const struct subject *s, enum fault fault, enum posref_dtype dtype)
{
    float single[MOST];
    uint16_t half[MOST];
    struct posref_judgement out;
    struct evaluation e;
    open_subject(&e, s);
    evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
    struct posref_tensors actual = {.n = 1, .item = {e.out.item[0]}};
    const int pairs = (s->grid->n_q + s->special) * (s->grid->n_k + s->special);
    ck_assert_int_eq(posref_tensor_count(&actual.item[0]), HEADS * pairs);
    for (int at = 0; at < HEADS * pairs; at++) {
        double value = looked_up(s, at / pairs, at % pairs, fault);
        single[at] = (float)value;
        if (fault == ONE_VALUE && at == 5)
            single[at] = nextafterf(single[at], 9);
        half[at] = dtype == POSREF_F32 ? 0 : (uint16_t)posref_narrow(value, dtype);
        if (fault == ONE_VALUE && at == 5)
            half[at]++;
    }
    actual.item[0].dtype = dtype;
    actual.item[0].data = dtype == POSREF_F32 ? (void *)single : (void *)half;
    ck_assert_int_eq(posref_judge(&out, &e.spec, POSREF_OP_BIAS, &e.in, &e.out, &actual, dtype,
                                  posref_grade_default(dtype), &e.arena, &e.err), POSREF_OK);
    ck_assert_msg(fault != NONE || (out.n_compared == HEADS * pairs && out.n_judged > 0),
                  "%lld compared", (long long)out.n_compared);
    evaluation_close(&e);
    return out.pass;
}

START_TEST(honest_kernels_pass)
{
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++) {
        ck_assert_msg(integers_pass(&subjects[k], NONE, POSREF_I32) &&
                          integers_pass(&subjects[k], NONE, POSREF_I64),
                      "%s: integers", subjects[k].spec);
        for (int d = POSREF_F32; d <= POSREF_BF16; d++)
            ck_assert_msg(bias_passes(&subjects[k], NONE, (enum posref_dtype)d), "%s, dtype %d",
                          subjects[k].spec, d);
    }
}
END_TEST

START_TEST(faults_fail)
{
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++)
        for (int fault = NONE + 1; fault < N_FAULTS; fault++) {
            const struct subject *s = &subjects[k];
            const bool of_index = s->faults >> fault & 1;
            ck_assert_msg(!of_index || !integers_pass(s, (enum fault)fault, POSREF_I64),
                          "%s: %s passes in integers", s->spec, names[fault]);
            for (int d = POSREF_F32; d <= POSREF_BF16 && (of_index || fault >= TRANSPOSED); d++)
                ck_assert_msg(!bias_passes(s, (enum fault)fault, (enum posref_dtype)d),
                              "%s, dtype %d: %s passes", s->spec, d, names[fault]);
        }
}
END_TEST

/* An entry of -0 looked up by a product with ones and zeros is +0. */
START_TEST(zeros_have_no_sign)
{
    const double saved = weights[0];
    struct evaluation e;
    struct posref_judgement out;
    float zero[1] = {0};
    weights[0] = -0.0;
    evaluation_open(&e, "scheme=t5_bias");
    evaluation_input(&e, "positions", (const double[]){0}, 1, (const int64_t[]){1});
    evaluation_input(&e, "weights", weights, 2, (const int64_t[]){32, 1});
    evaluation_run(&e, POSREF_OP_BIAS, "bias", NULL);
    struct posref_tensors actual = {.n = 1, .item = {e.out.item[0]}};
    actual.item[0].dtype = POSREF_F32;
    actual.item[0].data = zero;
    ck_assert_int_eq(posref_judge(&out, &e.spec, POSREF_OP_BIAS, &e.in, &e.out, &actual, POSREF_F32,
                                  POSREF_GRADE_RECURRENCE, &e.arena, &e.err), POSREF_OK);
    ck_assert(out.pass);
    evaluation_close(&e);
    weights[0] = saved;
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {honest_kernels_pass, faults_fail, zeros_have_no_sign};
    uint64_t seed = 11;
    for (int k = 0; k < 80 * HEADS; k++)
        weights[k] = next_random(&seed) * 1.001; /* no dtype holds it */
    return RUN_EVALUATIONS("judge_buckets", tests);
}
