/* SPDX-License-Identifier: Apache-2.0 */
/* Frequency scalings: anchors of real models to 17 digits, bands, attention factors, and identities
 * that hold exactly. */
#include "eval_fixture.h"

#include <math.h>
#include <string.h>

#define LLAMA_31 "dim=128 base=500000 scaling=llama3 factor=8 original_max_position_embeddings=8192"
#define LLAMA_32 "dim=64 base=500000 scaling=llama3 factor=32 original_max_position_embeddings=8192"
#define GPT_OSS "dim=64 base=150000 scaling=yarn factor=32 original_max_position_embeddings=4096"
#define DEEPSEEK "dim=64 scaling=yarn factor=40 original_max_position_embeddings=4096"
#define HIGH "dim=48 base=1000 scaling=yarn factor=8 original_max_position_embeddings=131072 "
#define LOW "dim=48 scaling=yarn factor=4 original_max_position_embeddings=100 "
#define QWEN_25 "dim=128 base=1000000 scaling=yarn factor=4 original_max_position_embeddings=32768"

static const struct {
    const char *spec;
    int first; /* pairs first, first + 1, ... unless pairs says which */
    int pairs[8];
    double want[8];
} anchors[] = {
    {LLAMA_31, 28, {0},
     {0.003211445994752591, 0.0021665707635033586, 0.0013718935677611382, 0.00085675141291963208,
      0.00052484616099295467, 0.00031269375038406513, 0.00017850781276799642,
      9.556212353964683e-05}},
    {LLAMA_32, 14, {0},
     {0.003211445994752591, 0.0012905479282092638, 0.0004295567965593682, 9.7082878026276723e-05,
      1.9461638184831124e-05}},
    {GPT_OSS " truncate=false", 0, {8, 9, 12, 17, 18},
     {0.050813274815461474, 0.031705696184663766, 0.0067949594897322178, 0.00012931870124506272061,
      3.8308812373753383e-05}},
    {GPT_OSS, 0, {8, 9, 12, 17, 18},
     {0.050813274815461474, 0.031620752275346488, 0.0070157139105043882, 0.00022794779579512526,
      3.8308812373753383e-05}},
    {DEEPSEEK, 0, {10, 11, 16, 22, 23},
     {0.056234132519034908, 0.039006926567143858, 0.0055, 0.00017782794100389228,
      3.3338035804083101e-05}},
    {QWEN_25, 0, {23, 24, 31, 39, 40},
     {0.0069783058485986634, 0.0053753214907901015, 0.00080295972754523031,
      6.4903943208370288e-05, 4.445698525097307e-05}},
    /* Ranges past the last pair, [14, 21] and [3, 31] of 16 pairs: hi is cut at r - 1 = 31, not at
     * r/2 - 1. Mind the step of 1/1000 at lo = 8.9996. All from mpmath. */
    {"dim=32 scaling=yarn factor=4 original_max_position_embeddings=1000000", 14, {0},
     {0.000316227766016837933199889, 0.000158774947324903821537984}},
    {"dim=32 base=10 scaling=yarn factor=4 original_max_position_embeddings=100000 "
     "beta_fast=10000", 0, {3, 4, 15},
     {0.649381631576211315128033, 0.547278611122750444312943, 0.0783602061039275193345113}},
    {"dim=32 base=10 scaling=yarn factor=4 original_max_position_embeddings=100000 "
     "beta_fast=10000 truncate=false", 0, {3, 4, 15},
     {0.649381631576211315128033, 0.55063401174191846594428, 0.0787685260532757466495123}},
    {"dim=32 scaling=yarn factor=4 original_max_position_embeddings=4468.274647766306 "
     "beta_fast=4 beta_slow=4 truncate=false", 8, {0},
     {0.01, 0.00393638927633285126628732, 0.000790569415042094832999723}},
    /* Other rules for the range, [22, 35] of 24 pairs and [-2, 8] of 24; from mpmath. */
    {HIGH "range_rule=half", 22, {0},
     {0.00177827941003892280122542, 0.000166690179020415503209491}},
    {HIGH "range_rule=half truncate=false", 22, {0},
     {0.00177827941003892280122542, 0.000166690179020415503209491}},
    {HIGH "range_rule=unclamped truncate=false", 23, {0}, {0.00128637225437552095701433}},
    {LOW "range_rule=clamped", 0, {0, 1, 5},
     {1, 0.617420937583777414982552, 0.0779768360924224443614025}},
    {LOW "range_rule=unclamped", 0, {0, 1, 5},
     {0.85, 0.528001353519919996260941, 0.0697204652120483031937246}},
    {LOW "range_rule=unclamped truncate=false", 0, {0, 1, 5},
     {0.848854009045360884654604, 0.521737422524969735556275, 0.0636456839698732401621262}},
};

/* Correctly rounded inv_freq; borrowed from e. */
static const double *frequencies(struct evaluation *e, const char *spec)
{
    evaluation_open(e, spec);
    return evaluation_run(e, POSREF_OP_FREQUENCIES, "inv_freq", NULL);
}

static double attention_factor(const char *spec)
{
    struct evaluation e;
    evaluation_open(&e, spec);
    double factor = *evaluation_run(&e, POSREF_OP_FREQUENCIES, "attention_factor", NULL);
    evaluation_close(&e);
    return factor;
}

START_TEST(anchors_of_real_models)
{
    for (size_t k = 0; k < sizeof anchors / sizeof *anchors; k++) {
        struct evaluation e;
        const double *got = frequencies(&e, anchors[k].spec);
        for (int j = 0; j < 8 && anchors[k].want[j] != 0; j++) {
            int pair = anchors[k].first ? anchors[k].first + j : anchors[k].pairs[j];
            ck_assert_msg(got[pair] == anchors[k].want[j], "%s pair %d: got %.17g, want %.17g",
                          anchors[k].spec, pair, got[pair], anchors[k].want[j]);
        }
        evaluation_close(&e);
    }
}
END_TEST

/* Counts pairs that keep their frequency, lie between, are divided by factor. */
static void count_bands(int bands[3], const char *scaled, const char *plain, double factor)
{
    struct evaluation e, f;
    const double *got = frequencies(&e, scaled), *unscaled = frequencies(&f, plain);
    memset(bands, 0, 3 * sizeof *bands);
    for (int i = 0; i < e.spec.rotary_dim / 2; i++) {
        bool divided = fabs(got[i] * factor / unscaled[i] - 1) < 4e-16;
        bands[got[i] == unscaled[i] ? 0 : divided ? 2 : 1]++;
    }
    evaluation_close(&e);
    evaluation_close(&f);
}

START_TEST(bands)
{
    static const struct {
        const char *scaled, *plain;
        double factor;
        int want[3];
    } models[] = {
        {LLAMA_31, "dim=128 base=500000", 8, {29, 6, 29}},
        {LLAMA_32, "dim=64 base=500000", 32, {15, 3, 14}},
        /* Llama-4: high_freq_factor = low_freq_factor, no pair between */
        {"dim=128 base=500000 scaling=llama3 factor=16 original_max_position_embeddings=8192 "
         "low_freq_factor=1 high_freq_factor=1", "dim=128 base=500000", 16, {35, 0, 29}},
        /* yarn: [10, 23] of 32 pairs, [23, 40] of 64, [20, 46] of 64, [8, 20] of 32 */
        {DEEPSEEK, "dim=64", 40, {11, 12, 9}},
        {QWEN_25, "dim=128 base=1000000", 4, {24, 16, 24}},
        {"dim=128 scaling=yarn factor=16 original_max_position_embeddings=4096", "dim=128", 16,
         {21, 25, 18}},
        {"dim=64 base=50000 scaling=yarn factor=32 original_max_position_embeddings=4096",
         "dim=64 base=50000", 32, {9, 11, 12}},
        /* OLMo-3 [18, 35], Ministral-3 [20, 37] */
        {"dim=128 base=500000 scaling=yarn factor=8 original_max_position_embeddings=8192",
         "dim=128 base=500000", 8, {19, 16, 29}},
        {"dim=128 base=1000000 scaling=yarn factor=16 original_max_position_embeddings=16384",
         "dim=128 base=1000000", 16, {21, 16, 27}},
    };
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        int got[3];
        count_bands(got, models[k].scaled, models[k].plain, models[k].factor);
        for (int band = 0; band < 3; band++)
            ck_assert_msg(got[band] == models[k].want[band], "%s band %d: %d, want %d",
                          models[k].scaled, band, got[band], models[k].want[band]);
    }
}
END_TEST

START_TEST(attention_factors)
{
    ck_assert_double_eq(attention_factor("dim=64"), 1);
    ck_assert_double_eq(attention_factor(LLAMA_31), 1);
    ck_assert_double_eq(attention_factor(DEEPSEEK), 1.3688879454113936);
    ck_assert_close(attention_factor(GPT_OSS), 1.3465735903, 5e-11);
    ck_assert_close(attention_factor(QWEN_25), 1.1386294361, 5e-11);
    ck_assert_close(attention_factor("dim=128 scaling=yarn factor=16 "
                                     "original_max_position_embeddings=4096"), 1.2772588722, 5e-11);
    /* explicit: replaces the formula, whatever mscale says */
    ck_assert_double_eq(attention_factor(DEEPSEEK " attention_factor=1.25 mscale=2"), 1.25);
    /* a ratio only when both are given and not 0 */
    ck_assert_double_eq(attention_factor(DEEPSEEK " mscale=0.707"), 1.3688879454113936);
    ck_assert_double_eq(attention_factor(DEEPSEEK " mscale_all_dim=0.707"), 1.3688879454113936);
    ck_assert_double_eq(attention_factor(DEEPSEEK " mscale=0 mscale_all_dim=0"),
                        1.3688879454113936);
    ck_assert_double_eq(attention_factor(DEEPSEEK " mscale=0.707 mscale_all_dim=0"),
                        1.3688879454113936);
    ck_assert_double_eq(attention_factor(DEEPSEEK " mscale=1 mscale_all_dim=1"), 1);
    ck_assert_double_eq(attention_factor(DEEPSEEK " mscale=0.707 mscale_all_dim=0.707"), 1);
    ck_assert_close(attention_factor(DEEPSEEK " mscale=0.707 mscale_all_dim=1"),
                    1.2608037774 / 1.3688879454, 1e-10);
    /* factor <= 1: no temperature */
    ck_assert_double_eq(attention_factor("dim=64 scaling=yarn factor=1 "
                                         "original_max_position_embeddings=4096"), 1);
    ck_assert_double_eq(attention_factor("dim=64 scaling=yarn factor=0.5 mscale=1 "
                                         "mscale_all_dim=0.5 "
                                         "original_max_position_embeddings=4096"), 1);
}
END_TEST

START_TEST(attention_factors_by_rule)
{
    static const struct {
        const char *spec;
        double want; /* from 50 digits of ln 40 by Python's decimal */
    } table[] = {
        {" mscale=0.707 mscale_rule=ratio", 1.26080377740585528252},
        {" mscale_all_dim=0.707 mscale_rule=ratio", 1.08572639925613566414},
        {" mscale=0 mscale_all_dim=0 mscale_rule=ratio", 1},
        {" mscale=0.707 mscale_all_dim=0.707 mscale_rule=ratio", 1},
        {" mscale_rule=ratio", 1.36888794541139363062},
        {" mscale=0.707 mscale_all_dim=1 mscale_rule=ignored", 1.36888794541139363062},
        {" mscale=0.707 mscale_all_dim=1 mscale_rule=both", 0.92104235531633988078},
        {" mscale_rule=telechat", 1.25822156178797554120},
        {" mscale_rule=ggml", 1.36888794541139363062},
        {" mscale=1 mscale_rule=none", 1},
        {" attention_factor=1.5 attention_factor_rule=ignored", 1.36888794541139363062},
        {" attention_factor=1.5 attention_factor_rule=multiplies", 2.05333191811709044593},
        {" attention_factor=1.5 attention_factor_rule=replaces", 1.5},
        {" attention_factor=1.5 attention_factor_rule=multiplies mscale_rule=none", 1.5},
    };
    char spec[256];
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        snprintf(spec, sizeof spec, DEEPSEEK "%s", table[k].spec);
        ck_assert_msg(attention_factor(spec) == table[k].want, "%s", spec);
    }
    /* below 1 ggml alone goes on: 1 + 0.1 ln 0.5 */
#define HALF "dim=64 scaling=yarn factor=0.5 original_max_position_embeddings=4096 "
    ck_assert_double_eq(attention_factor(HALF "mscale_rule=ggml"), 0.93068528194400546906);
    ck_assert_double_eq(attention_factor(HALF "mscale=1 mscale_rule=ratio"), 1);
    ck_assert_double_eq(attention_factor(HALF "mscale_rule=telechat"), 1);
    ck_assert_double_eq(attention_factor("dim=64 scaling=yarn factor=1 mscale_rule=ggml "
                                         "original_max_position_embeddings=4096"), 1);
}
END_TEST

/* With the whole range past the last pair, [34, 31] of 16: all are divided, or, at_least, none. A
 * range that the clamps leave alone is the same under every rule. */
START_TEST(range_rules)
{
#define BEYOND "dim=32 base=10 scaling=yarn factor=4 original_max_position_embeddings=1000000 "
    static const char *const rules[] = {"clamped", "half", "unclamped", "at_least"};
    struct evaluation plain, e, usual;
    char spec[256];
    const double *theta = frequencies(&plain, "dim=32 base=10");
    const double *inside = frequencies(&usual, QWEN_25);
    for (int k = 0; k < 4; k++) {
        snprintf(spec, sizeof spec, BEYOND "range_rule=%s", rules[k]);
        const double *got = frequencies(&e, spec);
        for (int i = 0; i < 16; i++)
            ck_assert_double_eq(got[i], k >= 2 ? theta[i] : theta[i] / 4);
        evaluation_close(&e);
        snprintf(spec, sizeof spec, QWEN_25 " range_rule=%s", rules[k]);
        ck_assert_same(frequencies(&e, spec), inside, 64);
        evaluation_close(&e);
    }
    evaluation_close(&plain);
    evaluation_close(&usual);
}
END_TEST

START_TEST(attention_factor_is_in_tables_and_rotated_channels_only)
{
    struct evaluation e;
    const double at = 0, x[] = {3, -1, 1, 0.5, 7, 9};
    evaluation_open(&e, "dim=6 rotary_dim=4 scaling=yarn factor=4 attention_factor=1.25 "
                        "original_max_position_embeddings=4096");
    evaluation_positions(&e, &at, 1);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){1, 6});
    ck_assert_same(evaluation_run(&e, POSREF_OP_ALL, "y", NULL),
                   ((const double[]){3.75, -1.25, 1.25, 0.625, 7, 9}), 6);
    ck_assert_same(posref_tensors_find(&e.out, "cos")->data, ((const double[]){1.25, 1.25}), 2);
    ck_assert_same(posref_tensors_find(&e.out, "sin")->data, ((const double[]){0, 0}), 2);
    evaluation_close(&e);
}
END_TEST

START_TEST(tie_at_position_zero_goes_to_even)
{
    /* x * attention_factor in exact arithmetic: (1 + 2^-52) (1 + 2^-1) = 1.5 + 2^-52 + 2^-53, half
     * way between two doubles. The even neighbour is 1.5 + 2^-51. */
    struct evaluation e;
    const double at = 0, x[] = {0x1.0000000000001p0, -0x1.0000000000003p0};
    evaluation_open(&e, "dim=2 scaling=yarn factor=4 attention_factor=1.5 "
                        "original_max_position_embeddings=4096");
    evaluation_positions(&e, &at, 1);
    evaluation_input(&e, "x", x, 2, (const int64_t[]){1, 2});
    ck_assert_same(evaluation_run(&e, POSREF_OP_ROTATE, "y", NULL),
                   ((const double[]){0x1.8000000000002p0, -0x1.8000000000004p0}), 2);
    evaluation_close(&e);
}
END_TEST

static void same_table(const char *a_spec, double a_at, const char *b_spec, double b_at)
{
    struct evaluation a, b;
    int64_t count;
    evaluation_open(&a, a_spec);
    evaluation_open(&b, b_spec);
    evaluation_positions(&a, &a_at, 1);
    evaluation_positions(&b, &b_at, 1);
    const double *want = evaluation_run(&b, POSREF_OP_TABLE, "cos", &count);
    ck_assert_same(evaluation_run(&a, POSREF_OP_TABLE, "cos", NULL), want, count);
    ck_assert_same(posref_tensors_find(&a.out, "sin")->data,
                   posref_tensors_find(&b.out, "sin")->data, count);
    evaluation_close(&a);
    evaluation_close(&b);
}

START_TEST(identities)
{
    /* The same real angles, so the same bits. */
    same_table("dim=80 scaling=linear factor=4", 1001, "dim=80", 250.25);
    same_table("dim=80 scaling=linear factor=3", 3003, "dim=80", 1001);
    same_table("dim=96 scaling=linear factor=1", 131071, "dim=96", 131071);
    same_table("dim=96 scaling=ntk factor=1", 131071, "dim=96", 131071);
    same_table("dim=96 scaling=yarn factor=1 original_max_position_embeddings=2048", 131071,
               "dim=96", 131071);
    same_table("dim=96 scaling=llama3 factor=1 original_max_position_embeddings=2048", 131071,
               "dim=96", 131071);
    same_table("dim=96 rotary_dim=24 scaling=ntk factor=4", 5, "dim=24 scaling=ntk factor=4", 5);
    /* A range below pair 0 leaves t = 0 (lo = 0 > hi), as the formula stands; L = 1: no pair turns
     * once in the original context, so llama3 divides all. */
    same_table("dim=8 scaling=yarn factor=4 attention_factor=1 original_max_position_embeddings=7 "
               "beta_fast=1000 beta_slow=1000 truncate=false", 100, "dim=8", 100);
    same_table("dim=8 scaling=llama3 factor=4 original_max_position_embeddings=1", 100,
               "dim=8 scaling=linear factor=4", 100);
}
END_TEST

START_TEST(ntk_keeps_the_first_and_divides_the_last)
{
    struct evaluation e, f;
    const double *got = frequencies(&e, "dim=128 scaling=ntk factor=8");
    const double *plain = frequencies(&f, "dim=128");
    ck_assert_double_eq(got[0], 1);
    ck_assert_close(got[63], plain[63] / 8, 0); /* exactly: a power of two */
    ck_assert_double_lt(got[1], plain[1]);
    evaluation_close(&f);
    /* base' = base alpha^(r/(r-2)) = 82684.622640562218 */
    const double *rebased = frequencies(&f, "dim=128 base=82684.622640562218");
    for (int i = 0; i < 64; i++)
        ck_assert_close(got[i], rebased[i], 4e-16 * got[i]);
    evaluation_close(&f);
    evaluation_close(&e);
}
END_TEST

START_TEST(yarn_edges)
{
    struct evaluation e;
    /* beta_fast = beta_slow without rounding: a step between two neighbouring pairs, cd(4) = 9.5 */
    const double *step = frequencies(&e, "dim=32 scaling=yarn factor=4 truncate=false "
                                         "original_max_position_embeddings=4096 beta_fast=4 "
                                         "beta_slow=4");
    struct evaluation f;
    const double *plain = frequencies(&f, "dim=32");
    int changed = 0;
    for (int i = 0; i < 16; i++) {
        bool kept = step[i] == plain[i], divided = step[i] == plain[i] / 4;
        ck_assert_msg(kept || divided, "pair %d", i);
        ck_assert_msg(kept || i == 15 || !changed || divided, "pair %d", i);
        changed += divided;
    }
    ck_assert_int_gt(changed, 0);
    ck_assert_int_lt(changed, 16);
    evaluation_close(&e);
    evaluation_close(&f);
    /* dim 2: hi = min(ceil, r - 1) = 1, lo = 0; pair 0 keeps its frequency */
    ck_assert_double_eq(frequencies(&e, "dim=2 scaling=yarn factor=4 "
                                        "original_max_position_embeddings=4096")[0], 1);
    evaluation_close(&e);
    /* base next to 1 and a huge base: the range stays finite */
    frequencies(&e, "dim=16384 base=1.0000000000000002 scaling=yarn factor=4 "
                    "original_max_position_embeddings=2147483648");
    evaluation_close(&e);
    frequencies(&e, "dim=64 base=1000000000000 scaling=yarn factor=1000000 "
                    "original_max_position_embeddings=1");
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        anchors_of_real_models, bands, attention_factors,
        attention_factor_is_in_tables_and_rotated_channels_only,
        tie_at_position_zero_goes_to_even, identities, ntk_keeps_the_first_and_divides_the_last,
        yarn_edges,
        attention_factors_by_rule,
        range_rules,
    };
    return RUN_EVALUATIONS("scaling", tests);
}
