/* SPDX-License-Identifier: Apache-2.0 */
/* Judging tables of sines and cosines: honest float32 and bfloat16 kernels of every variant pass,
 * kernels that miss the variant do not. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>
#include <string.h>

#define N 7

static const double near_positions[N] = {0, 1, 2, 3, 17, 257, 2049};
static const double times[N] = {0, 1, 37.5, 500, 999, 0.25, 750.125};

/* What the kernel of a case does, in float32 throughout; `wrong` names a mistake or is NULL. */
struct kernel {
    const char *spec;
    bool half, concat, flipped, timestep;
    float offset, times, scale, x_scale;
    int padding_idx; /* -1: none */
};

static bool is(const char *wrong, const char *name) { return wrong && strcmp(wrong, name) == 0; }

static void fill(float *out, const struct kernel *k, const struct evaluation *e,
                 const double *positions, const double *mask, const double *x, const char *wrong)
{
    const int dim = e->spec.dim, half = dim / 2;
    const bool extra = e->spec.given[POSREF_FIELD_ODD_DIM] &&
                       e->spec.odd_dim == POSREF_ODD_DIM_EXTRA_SINE;
    const int n_sines = half + extra, even = extra && !is(wrong, "odd") ? dim : 2 * half;
    const float base = k->timestep ? (float)e->spec.max_period
                                   : (float)(e->spec.base / e->spec.min_timescale);
    float next = (float)k->padding_idx + (is(wrong, "padding") ? 0 : 1);
    for (int row = 0; row < N; row++) {
        const bool token = !mask || mask[row] != 0;
        float p = mask ? (token ? next++ : 0) : (float)positions[row];
        p += is(wrong, "offset") ? 0 : k->offset;
        for (int c = 0; c < dim; c++)
            out[row * dim + c] = 0;
        for (int i = 0; i < n_sines && token; i++) {
            float over = k->half != is(wrong, "exponent") ? (float)i / ((float)half - 1)
                                                          : 2 * (float)i / (float)even;
            float angle = p * powf(base, -over);
            angle *= is(wrong, "times") ? 1 : k->times;
            const float scale = is(wrong, "scale") ? 1 : k->scale;
            const bool swap = is(wrong, "order");
            int at_sin = k->concat ? i : 2 * i, at_cos = k->concat ? i + n_sines : 2 * i + 1;
            if (k->flipped != swap) {
                at_sin = i + half;
                at_cos = i;
            }
            out[row * dim + at_sin] = scale * sinf(angle);
            if (i < half)
                out[row * dim + at_cos] = scale * cosf(angle);
        }
        for (int c = 0; c < dim && x; c++)
            out[row * dim + c] += (is(wrong, "x_scale") ? 1 : k->x_scale) * (float)x[row * dim + c];
    }
}

static void judge(struct posref_judgement *out, const struct kernel *k, bool masked, bool embed,
                  const char *wrong, enum posref_dtype dtype)
{
    static const double mask[N] = {0, 1, 1, 0, 1, 1, 1};
    static double x[N * 128];
    static float made[N * 128];
    static uint16_t narrow[N * 128];
    struct evaluation e;
    uint64_t seed = 5;
    const double *positions = k->timestep ? times : near_positions;
    evaluation_open(&e, k->spec);
    const int64_t dim = e.spec.dim, count = N * dim;
    for (int64_t i = 0; i < count; i++)
        x[i] = next_random(&seed);
    if (masked)
        evaluation_input(&e, "mask", mask, 1, (const int64_t[]){N});
    else
        evaluation_positions(&e, positions, N);
    if (embed)
        evaluation_input(&e, "x", x, 2, (const int64_t[]){N, dim});
    const enum posref_op op = embed ? POSREF_OP_EMBED : POSREF_OP_TABLE;
    (void)evaluation_run(&e, op, embed ? "y" : "table", NULL);
    fill(made, k, &e, positions, masked ? mask : NULL, embed ? x : NULL, wrong);
    struct posref_tensors actual = e.out;
    actual.item[0].dtype = dtype;
    actual.item[0].data = made;
    for (int64_t i = 0; i < count && dtype == POSREF_BF16; i++)
        narrow[i] = (uint16_t)posref_narrow((double)made[i], dtype);
    if (dtype == POSREF_BF16)
        actual.item[0].data = narrow;
    enum posref_status status = posref_judge(out, &e.spec, op, &e.in, &e.out, &actual, dtype,
                                             posref_grade_default(dtype), &e.arena, &e.err);
    ck_assert_msg(status == POSREF_OK, "%s: %s", e.err.key, e.err.text);
    evaluation_close(&e);
}

static const struct {
    struct kernel kernel;
    bool masked, embed;
    const char *wrong[3]; /* mistakes that must show */
} cases[] = {
    {{"scheme=sinusoidal dim=64 order=flipped", .flipped = true, .times = 1, .scale = 1},
     false, false, {"order", "exponent"}},
    {{"scheme=sinusoidal dim=64 order=concat exponent=half_minus_one offset=2", .half = true,
      .concat = true, .offset = 2, .times = 1, .scale = 1}, false, false, {"offset", "exponent"}},
    {{"scheme=sinusoidal dim=48 order=concat exponent=half_minus_one min_timescale=2",
      .half = true, .concat = true, .times = 2, .scale = 1}, false, false, {"times"}},
    {{"scheme=sinusoidal dim=33 order=concat odd_dim=extra_sine", .concat = true, .times = 1,
      .scale = 1}, false, false, {"odd"}},
    {{"scheme=sinusoidal dim=33 order=concat exponent=half_minus_one odd_dim=zero_column",
      .half = true, .concat = true, .times = 1, .scale = 1}, false, false, {"exponent"}},
    {{"scheme=sinusoidal dim=64 order=concat table_scale=0.125", .concat = true, .times = 1,
      .scale = 0.125F}, false, false, {"scale"}},
    {{"scheme=sinusoidal dim=64 order=concat exponent=half_minus_one padding_idx=1", .half = true,
      .concat = true, .times = 1, .scale = 1, .padding_idx = 1}, true, false, {"padding"}},
    {{"scheme=sinusoidal dim=24 x_scale=sqrt_dim", .times = 1, .scale = 1,
      .x_scale = 4.89897949F}, false, true, {"x_scale", "exponent"}},
    {{"scheme=sinusoidal dim=64 order=concat exponent=half_minus_one padding_idx=1 "
      "x_scale=sqrt_dim", .half = true, .concat = true, .times = 1, .scale = 1, .x_scale = 8,
      .padding_idx = 1}, true, true, {"padding", "x_scale"}},
    {{"scheme=timestep dim=128", .half = true, .concat = true, .timestep = true, .times = 1,
      .scale = 1}, false, false, {"order", "exponent"}},
    {{"scheme=timestep dim=65 flip_sin_to_cos=true downscale_freq_shift=0 scale=1000",
      .flipped = true, .timestep = true, .times = 1000, .scale = 1}, false, false,
     {"times", "exponent"}},
};
#define N_CASES (sizeof cases / sizeof *cases)

START_TEST(honest_kernels_pass)
{
    for (size_t k = 0; k < N_CASES; k++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            struct posref_judgement j;
            judge(&j, &cases[k].kernel, cases[k].masked, cases[k].embed, NULL,
                  bf16 ? POSREF_BF16 : POSREF_F32);
            ck_assert_msg(j.pass, "%s %s: %s, element %d got %.9g want %.17g, %.3g limits",
                          cases[k].kernel.spec, bf16 ? "bf16" : "f32",
                          posref_breach_text(j.breach), (int)j.element, j.got, j.want,
                          j.error_limits);
            ck_assert_int_ge(j.n_compared, N);
        }
}
END_TEST

START_TEST(faulty_kernels_fail)
{
    for (size_t k = 0; k < N_CASES; k++)
        for (int w = 0; w < 3 && cases[k].wrong[w]; w++) {
            struct posref_judgement j;
            judge(&j, &cases[k].kernel, cases[k].masked, cases[k].embed, cases[k].wrong[w],
                  POSREF_F32);
            ck_assert_msg(!j.pass, "%s with a wrong %s passes", cases[k].kernel.spec,
                          cases[k].wrong[w]);
        }
}
END_TEST

START_TEST(fourier_kernels)
{
    static const double levels[N] = {0.001, 0.0625, 0.5, 1, 2, 50, 999};
    double weights[32];
    float made[N * 64];
    uint64_t seed = 3;
    for (int i = 0; i < 32; i++)
        weights[i] = 4 * next_random(&seed);
    /* right, with the halves swapped, without the logarithm, without 2 pi */
    for (int wrong = 0; wrong < 4; wrong++) {
        struct evaluation e;
        struct posref_judgement j;
        evaluation_open(&e, "scheme=fourier dim=64");
        evaluation_positions(&e, levels, N);
        evaluation_input(&e, "weights", weights, 1, (const int64_t[]){32});
        (void)evaluation_run(&e, POSREF_OP_TABLE, "table", NULL);
        for (int k = 0; k < N * 32; k++) {
            float z = (float)levels[k / 32];
            z = wrong == 2 ? z : logf(z);
            const float a = z * (float)weights[k % 32] * (wrong == 3 ? 1 : 2 * 3.14159265F);
            made[k / 32 * 64 + k % 32 + (wrong == 1 ? 32 : 0)] = sinf(a);
            made[k / 32 * 64 + k % 32 + (wrong == 1 ? 0 : 32)] = cosf(a);
        }
        struct posref_tensors actual = e.out;
        actual.item[0].dtype = POSREF_F32;
        actual.item[0].data = made;
        ck_assert(posref_judge(&j, &e.spec, POSREF_OP_TABLE, &e.in, &e.out, &actual, POSREF_F32,
                               POSREF_GRADE_RECURRENCE, &e.arena, &e.err) == POSREF_OK);
        ck_assert_msg(j.pass == (wrong == 0), "kernel %d: %.3g limits", wrong, j.error_limits);
        evaluation_close(&e);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {honest_kernels_pass, faulty_kernels_fail, fourier_kernels};
    return RUN_EVALUATIONS("judge_waves", tests);
}
