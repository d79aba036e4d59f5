/* SPDX-License-Identifier: Apache-2.0 */
/* Scalings by length, by lists and by parts: worked examples of the literature, both sides of every
 * switch, the history of calls, names that mean the same, and bad inputs. */
#include "eval_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_FREQUENCIES 64

static int frequencies(double out[MAX_FREQUENCIES], const char *spec)
{
    struct evaluation e;
    int64_t count;
    evaluation_open(&e, spec);
    const double *f = evaluation_run(&e, POSREF_OP_FREQUENCIES, "inv_freq", &count);
    ck_assert_int_le(count, MAX_FREQUENCIES);
    memcpy(out, f, (size_t)count * sizeof *f);
    evaluation_close(&e);
    return (int)count;
}

static double attention_factor(const char *spec)
{
    struct evaluation e;
    evaluation_open(&e, spec);
    double factor = *evaluation_run(&e, POSREF_OP_FREQUENCIES, "attention_factor", NULL);
    evaluation_close(&e);
    return factor;
}

static void same_frequencies(const char *a, const char *b)
{
    double of_a[MAX_FREQUENCIES], of_b[MAX_FREQUENCIES];
    int n = frequencies(of_a, a);
    ck_assert_int_eq(frequencies(of_b, b), n);
    ck_assert_msg(memcmp(of_a, of_b, (size_t)n * sizeof *of_a) == 0, "%s and %s differ", a, b);
    ck_assert(attention_factor(a) == attention_factor(b));
}

static void other_frequencies(const char *a, const char *b)
{
    double of_a[MAX_FREQUENCIES], of_b[MAX_FREQUENCIES];
    int n = frequencies(of_a, a);
    ck_assert_int_eq(frequencies(of_b, b), n);
    ck_assert_msg(memcmp(of_a, of_b, (size_t)n * sizeof *of_a) != 0, "%s and %s agree", a, b);
}

#define DYNAMIC "dim=128 scaling=dynamic factor=10 original_max_position_embeddings=2048"

/* Hugging Face's test of the same spec has five digits of these. */
START_TEST(dynamic_of_the_literature)
{
    double f[MAX_FREQUENCIES];
    frequencies(f, DYNAMIC " seq_len=16384");
    ck_assert_double_eq(f[0], 1);
    ck_assert_double_eq(f[1], 0.80931007489151476);
    ck_assert_double_eq(f[63], 1.626453499562617e-06);
}
END_TEST

START_TEST(dynamic_up_to_the_original_length_is_unscaled)
{
    same_frequencies(DYNAMIC " seq_len=2048", "dim=128");
    same_frequencies(DYNAMIC " seq_len=2047", "dim=128");
    same_frequencies(DYNAMIC " seq_len=1", "dim=128");
    other_frequencies(DYNAMIC " seq_len=2049", "dim=128");
    /* S = 4097, L = 2048, f = 2: the base grows by (4097 / 1024 - 1)^(r/(r-2)). */
    same_frequencies("dim=64 scaling=dynamic factor=2 original_max_position_embeddings=2048 "
                     "seq_len=4097", "dim=64 scaling=ntk factor=3.0009765625");
    same_frequencies("dim=64 scaling=dynamic_linear factor=2 original_max_position_embeddings=64 "
                     "seq_len=128", "dim=64 scaling=linear factor=2");
    same_frequencies("dim=64 scaling=dynamic_linear factor=2 original_max_position_embeddings=64 "
                     "seq_len=160", "dim=64 scaling=linear factor=2.5");
}
END_TEST

START_TEST(the_length_comes_from_the_positions)
{
    static const double at[] = {5, 4095, -7};
    struct evaluation e;
    evaluation_open(&e, DYNAMIC);
    evaluation_positions(&e, at, 3);
    const double *f = evaluation_run(&e, POSREF_OP_FREQUENCIES, "inv_freq", NULL);
    double want[MAX_FREQUENCIES];
    frequencies(want, DYNAMIC " seq_len=4096");
    ck_assert_same(f, want, 64);
    evaluation_close(&e);
    evaluation_open(&e, DYNAMIC);
    evaluation_refused(&e, POSREF_OP_FREQUENCIES, "seq_len");
    evaluation_close(&e);
    struct posref_spec spec;
    struct posref_tensors none = {.n = 0};
    ck_assert_int_eq(posref_spec_parse(&spec, "scheme=rope dim=8", NULL), POSREF_OK);
    ck_assert_int_eq(posref_spec_complete(&spec, NULL), POSREF_OK);
    ck_assert_int_eq(posref_spec_settle(&spec, &none, NULL), POSREF_OK); /* takes no length */
}
END_TEST

/* Hugging Face keeps the frequencies of the longest call until one is shorter than L. */
START_TEST(history_is_a_sequence_of_calls)
{
    same_frequencies(DYNAMIC " seq_len=3000 seq_len_history=8000", DYNAMIC " seq_len=8000");
    same_frequencies(DYNAMIC " seq_len=3000 seq_len_history=8000,4000", DYNAMIC " seq_len=8000");
    same_frequencies(DYNAMIC " seq_len=3000 seq_len_history=8000,2047", DYNAMIC " seq_len=3000");
    same_frequencies(DYNAMIC " seq_len=3000 seq_len_history=8000,2048", DYNAMIC " seq_len=8000");
    same_frequencies(DYNAMIC " seq_len=2048 seq_len_history=8000", DYNAMIC " seq_len=8000");
    same_frequencies(DYNAMIC " seq_len=2047 seq_len_history=8000", "dim=128");
    same_frequencies(DYNAMIC " seq_len=9000 seq_len_history=8000", DYNAMIC " seq_len=9000");
    same_frequencies(DYNAMIC " seq_len=3000 seq_len_history=100,200", DYNAMIC " seq_len=3000");
}
END_TEST

START_TEST(constants_by_other_rules)
{
    same_frequencies("dim=128 scaling=dynamic_constant factor=2", "dim=128 scaling=ntk factor=3");
    same_frequencies("dim=128 scaling=dynamic_constant factor=4", "dim=128 scaling=ntk factor=13");
    same_frequencies("dim=128 scaling=ntk alpha=1000", "dim=128 scaling=ntk factor=1000");
    /* Qwen-1: alpha = 1 up to L, 3 up to 2 L, 7 up to 4 L. */
    static const struct { double length; int alpha; } rows[] = {
        {1, 1}, {2048, 1}, {2049, 3}, {4096, 3}, {4097, 7}, {8192, 7}, {8193, 15}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char qwen[160], ntk[80];
        snprintf(qwen, sizeof qwen, "dim=128 scaling=dynamic_alpha seq_len=%g "
                 "original_max_position_embeddings=2048", rows[k].length);
        snprintf(ntk, sizeof ntk, "dim=128 scaling=ntk factor=%d", rows[k].alpha);
        same_frequencies(qwen, ntk);
    }
}
END_TEST

/* kexue.fm 9706: frequency i is divided by s^(2(i+1)/r): the first too, the last by s. */
START_TEST(fixed_and_mixed_ntk)
{
    double f[MAX_FREQUENCIES], plain[MAX_FREQUENCIES];
    frequencies(f, "dim=128 scaling=ntk_fixed factor=4");
    frequencies(plain, "dim=128");
    ck_assert_double_eq_tol(f[0], 0.97857206208770011, 1e-15);
    ck_assert_double_eq(f[63], plain[63] / 4);
    same_frequencies("dim=128 scaling=ntk_fixed factor=4",
                     "dim=128 scaling=ntk_mixed factor=4 mixed_b=1");
    frequencies(f, "dim=128 scaling=ntk_mixed factor=4 mixed_b=0.625");
    for (int i = 0; i < 64; i++) {
        double a = log(4) / pow(64, 0.625);
        ck_assert_double_eq_tol(f[i] / plain[i], exp(-a * pow(i + 1, 0.625)), 1e-14);
    }
    same_frequencies("dim=8 scaling=ntk_mixed factor=4 mixed_b=0", "dim=8 scaling=linear factor=4");
}
END_TEST

/* The paper's ramp is linear in the rotations, as llama3's is. */
START_TEST(ntk_by_parts_is_linear_in_rotations)
{
    same_frequencies("dim=128 scaling=ntk_by_parts factor=16 original_max_position_embeddings=4096",
                     "dim=128 scaling=llama3 factor=16 original_max_position_embeddings=4096 "
                     "low_freq_factor=1 high_freq_factor=32");
    other_frequencies("dim=128 scaling=ntk_by_parts factor=16 "
                      "original_max_position_embeddings=4096",
                      "dim=128 scaling=yarn factor=16 original_max_position_embeddings=4096");
    ck_assert(attention_factor("dim=128 scaling=ntk_by_parts factor=16 "
                               "original_max_position_embeddings=4096") == 1);
    ck_assert(attention_factor("dim=128 scaling=ntk_by_parts factor=16 attention_factor=1.25 "
                               "original_max_position_embeddings=4096") == 1.25);
}
END_TEST

#define LONG "dim=8 scaling=longrope original_max_position_embeddings=4096 " \
             "short_factor=1,1.5,2,4 long_factor=1,3,8,64 "

START_TEST(longrope_switches_behind_the_original_length)
{
    double f[MAX_FREQUENCIES];
    frequencies(f, LONG "factor=32 seq_len=4096");
    ck_assert_double_eq(f[1], 0.1 / 1.5);
    ck_assert_double_eq(f[3], 0.001 / 4);
    frequencies(f, LONG "factor=32 seq_len=4097");
    ck_assert_double_eq_tol(f[1], 0.1 / 3, 1e-17);
    ck_assert_double_eq(f[3], 0.001 / 64);
    same_frequencies(LONG "factor=32 seq_len=1", LONG "factor=32 seq_len=4096");
}
END_TEST

START_TEST(longrope_attention_factors)
{
    ck_assert_double_eq(attention_factor(LONG "factor=32 seq_len=1"), 1.1902380714238083);
    ck_assert_double_eq(attention_factor(LONG "factor=32 seq_len=8192"), 1.1902380714238083);
    ck_assert_double_eq(attention_factor(LONG "factor=32 seq_len=1 magnitude=yarn"),
                        1.3465735902799727);
    ck_assert_double_eq(attention_factor(LONG "factor=0.5 seq_len=1"), 1);
    ck_assert_double_eq(attention_factor(LONG "factor=1 seq_len=1"), 1);
    const char *own = LONG "short_mscale=1.25 long_mscale=1.5 seq_len=4096";
    ck_assert_double_eq(attention_factor(own), 1.25);
    ck_assert_double_eq(attention_factor(LONG "short_mscale=1.25 long_mscale=1.5 seq_len=4097"),
                        1.5);
    ck_assert_double_eq(attention_factor(LONG "factor=32 long_mscale=1.5 seq_len=4096"),
                        1.1902380714238083);
    ck_assert_double_eq(attention_factor(LONG "attention_factor=2 long_mscale=1.5 seq_len=4097"),
                        2);
    /* factor = L^(5/4): sqrt(9/4), and x times it at position 0 may be a tie. */
    const char *tie = "dim=2 scaling=longrope original_max_position_embeddings=16 short_factor=1 "
                      "long_factor=1 factor=32";
    const double position = 0, x[2] = {0x1.fffffffffffffp0, 1};
    double y[2];
    rotate_rows(y, tie, &position, x, 1);
    ck_assert_double_eq(y[0], 1.5 * 0x1.fffffffffffffp0);
    ck_assert_double_eq(y[1], 1.5);
}
END_TEST

/* Hugging Face's scaling=proportional and partial=proportional are one thing. */
START_TEST(proportional_has_two_names)
{
    static const char *const pairs[][2] = {
        {"dim=16 scaling=proportional partial_rotary_factor=0.25",
         "dim=16 partial=proportional partial_rotary_factor=0.25"},
        {"dim=16 scaling=proportional partial_rotary_factor=0.25 factor=8",
         "dim=16 partial=proportional partial_rotary_factor=0.25 scaling=linear factor=8"},
        {"dim=16 scaling=proportional partial=proportional partial_rotary_factor=0.25",
         "dim=16 partial=proportional partial_rotary_factor=0.25"},
    };
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        struct evaluation e[2];
        for (int s = 0; s < 2; s++)
            evaluation_open(&e[s], pairs[k][s]);
        ck_assert_mem_eq(&e[0].spec, &e[1].spec, sizeof e[0].spec);
        for (int s = 0; s < 2; s++)
            evaluation_close(&e[s]);
    }
}
END_TEST

START_TEST(bad_scalings_are_refused)
{
    static const struct { const char *spec, *key, *text; } rows[] = {
        {"dim=8 scaling=longrope original_max_position_embeddings=4096 factor=2 "
         "short_factor=1,1,1 long_factor=1,1,1,1", "short_factor", "rotary_dim / 2 = 4 entries"},
        {"dim=8 scaling=longrope original_max_position_embeddings=4096 factor=2 "
         "short_factor=1,1,1,1 long_factor=1,1,1,1,1", "long_factor", "got 5"},
        {"dim=8 rotary_dim=6 scaling=longrope original_max_position_embeddings=4096 factor=2 "
         "short_factor=1,1,1,1 long_factor=1,1,1", "short_factor", "= 3 entries, got 4"},
        {"dim=8 scaling=longrope original_max_position_embeddings=4096 "
         "short_factor=1,1,1,1 long_factor=1,1,1,1", "factor", "is required"},
        {"dim=8 scaling=longrope original_max_position_embeddings=4096 long_mscale=1 "
         "short_factor=1,1,1,1 long_factor=1,1,1,1", "factor", "is required"},
        {"dim=8 scaling=longrope original_max_position_embeddings=1 factor=2 "
         "short_factor=1,1,1,1 long_factor=1,1,1,1", "original_max_position_embeddings", "exceed"},
        {"dim=8 scaling=longrope original_max_position_embeddings=4096 factor=2 "
         "short_factor=1,0,1,1 long_factor=1,1,1,1", "short_factor", "got 0"},
        {"dim=8 scaling=longrope factor=2 short_factor=1,1,1,1 long_factor=1,1,1,1",
         "original_max_position_embeddings", "is required"},
        {"dim=2 scaling=ntk factor=2", "scaling", "ntk divides"},
        {"dim=8 rotary_dim=2 scaling=dynamic factor=2 original_max_position_embeddings=4096",
         "scaling", "dynamic divides"},
        {"dim=2 scaling=dynamic_alpha original_max_position_embeddings=4096", "scaling", "needs"},
        {"dim=2 scaling=dynamic_constant factor=2", "scaling", "needs rotary_dim >= 4"},
        {"dim=8 scaling=ntk", "factor", "is required by scaling=ntk"},
        {"dim=8 scaling=ntk factor=2 alpha=2", "factor", "alpha too"},
        {"dim=8 scaling=dynamic factor=2 original_max_position_embeddings=4096 seq_len=0",
         "seq_len", "got 0"},
        {"dim=8 scaling=dynamic factor=2 original_max_position_embeddings=4096 "
         "seq_len_history=5,0", "seq_len_history", "got 0"},
        {"dim=8 scaling=linear factor=2 seq_len=5", "seq_len", "takes no seq_len"},
        {"dim=8 scaling=ntk_mixed factor=2", "mixed_b", "is required by scaling=ntk_mixed"},
        {"dim=8 scaling=proportional partial=leading partial_rotary_factor=0.5", "partial",
         "leave it out"},
        {"dim=8 scaling=proportional", "partial_rotary_factor", "is required"},
        {"dim=8 scaling=ntk_by_parts factor=2 original_max_position_embeddings=64 beta_fast=0.5",
         "beta_fast", "at least beta_slow"},
        {"dim=8 scaling=yarn factor=0.00001 original_max_position_embeddings=64 mscale_rule=ggml",
         "mscale_rule", "0.0001 or more"},
        {"dim=8 scaling=yarn factor=4 original_max_position_embeddings=64 range_rule=unclamped "
         "base=1.0000000000000002", "base", "beyond 2^40"},
        {"dim=8 scaling=linear factor=4 mscale_rule=ratio", "mscale_rule", "takes no mscale_rule"},
        {"dim=8 scaling=yarn factor=4 original_max_position_embeddings=64 "
         "softmax_scale_from=mla_mscale", "softmax_scale_from", "mscale"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct posref_spec spec;
        struct posref_error err = {{0}, {0}};
        enum posref_status status = posref_spec_parse(&spec, rows[k].spec, &err);
        if (status == POSREF_OK)
            status = posref_spec_complete(&spec, &err);
        ck_assert_msg(status == POSREF_BAD_INPUT, "%s is taken", rows[k].spec);
        ck_assert_msg(strcmp(err.key, rows[k].key) == 0 && strstr(err.text, rows[k].text),
                      "%s: %s %s", rows[k].spec, err.key, err.text);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        dynamic_of_the_literature,
        dynamic_up_to_the_original_length_is_unscaled,
        the_length_comes_from_the_positions,
        history_is_a_sequence_of_calls,
        constants_by_other_rules,
        fixed_and_mixed_ntk,
        ntk_by_parts_is_linear_in_rotations,
        longrope_switches_behind_the_original_length,
        longrope_attention_factors,
        proportional_has_two_names,
        bad_scalings_are_refused,
    };
    return RUN_EVALUATIONS("scaling_length", tests);
}
