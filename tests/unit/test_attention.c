/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention: worked examples, permutation, causal prefixes, masks, groups of heads,
 * temperatures, and that rope's scores are those of rotated vectors. */
#include "eval_fixture.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void random_values(double *x, int n, uint64_t seed)
{
    for (int k = 0; k < n; k++)
        x[k] = next_random(&seed);
}

static void grid(struct evaluation *e, const char *spec, const double *q_positions, int64_t n_q,
                 const double *k_positions, int64_t n_k)
{
    evaluation_open(e, spec);
    evaluation_input(e, "q_positions", q_positions, 1, &n_q);
    evaluation_input(e, "k_positions", k_positions, 1, &n_k);
}

static void rows(struct evaluation *e, const char *name, const double *x, int64_t n, int64_t dim)
{
    evaluation_input(e, name, x, 2, (const int64_t[]){n, dim});
}

START_TEST(worked_example)
{
    /* Two keys, dim 4: scores 1 and 2, weights 1/(1 + e) and e/(1 + e). */
    const double q[] = {1, 1, 0, 0}, k[] = {1, 1, 5, 0, 2, 2, 0, 7}, v[] = {1, 10, 3, -10};
    struct evaluation e;
    evaluation_open(&e, "scheme=none");
    rows(&e, "q", q, 1, 4);
    rows(&e, "k", k, 2, 4);
    rows(&e, "v", v, 2, 2);
    const double *scores = evaluation_run(&e, POSREF_OP_ALL, "scores", NULL);
    ck_assert_same(scores, ((const double[]){1, 2}), 2);
    const double *out = posref_tensors_find(&e.out, "attention")->data;
    const double second = exp(1) / (1 + exp(1));
    ck_assert_close(out[0], 1 + 2 * second, 4e-16);
    ck_assert_close(out[1], 10 - 20 * second, 4e-15);
    evaluation_close(&e);
}
END_TEST

START_TEST(scales_are_not_rounded)
{
    /* 3 / sqrt(3) and 1.5 * 3; sqrt(36) is rational: 18 / 6. */
    double one[36], half[36];
    struct evaluation e;
    for (int k = 0; k < 36; k++) {
        one[k] = 1;
        half[k] = 0.5;
    }
    evaluation_open(&e, "scheme=none");
    rows(&e, "q", one, 1, 3);
    rows(&e, "k", one, 2, 3);
    ck_assert_double_eq(*evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL), sqrt(3));
    evaluation_close(&e);
    evaluation_open(&e, "scheme=none softmax_scale=1.5");
    rows(&e, "q", one, 1, 3);
    rows(&e, "k", one, 2, 3);
    ck_assert_double_eq(*evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL), 4.5);
    evaluation_close(&e);
    evaluation_open(&e, "scheme=none");
    rows(&e, "q", one, 1, 36);
    rows(&e, "k", half, 1, 36);
    ck_assert_double_eq(*evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL), 3);
    evaluation_close(&e);
}
END_TEST

START_TEST(zeros_and_ties_are_exact)
{
    /* A zero by cancellation of irrational parts: head 0 of 16 has the slope 2^-0.5, and with dim 8
     * q . k = 4 the score is 4/sqrt(8) - 2 2^-0.5. */
    double q[16 * 8] = {4}, k[16 * 8] = {1};
    const double at = 2, zero = 0;
    struct evaluation e;
    grid(&e, "scheme=alibi num_heads=16", &at, 1, &zero, 1);
    evaluation_input(&e, "q", q, 3, (const int64_t[]){1, 16, 8});
    evaluation_input(&e, "k", k, 3, (const int64_t[]){1, 16, 8});
    const double *scores = evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
    ck_assert(scores[0] == 0 && !signbit(scores[0]));
    evaluation_close(&e);
    /* Equal scores give v's mean, a tie to even; one visible key gives its v. */
    const double v[] = {1, 1 + 0x1p-52, 1 + 0x1p-52, 1 + 0x1p-51}, x[] = {3, 3, 3, 3};
    evaluation_open(&e, "scheme=none");
    rows(&e, "q", x, 1, 2);
    rows(&e, "k", x, 2, 2); /* scores of 18 / sqrt(2): equal, but in no precision exact */
    rows(&e, "v", v, 2, 2);
    const double *out = evaluation_run(&e, POSREF_OP_ATTENTION, "attention", NULL);
    ck_assert_same(out, ((const double[]){1, 1 + 0x1p-51}), 2);
    evaluation_input(&e, "mask", (const double[]){0, 1}, 2, (const int64_t[]){1, 2});
    out = evaluation_run(&e, POSREF_OP_ATTENTION, "attention", NULL);
    ck_assert_same(out, v + 2, 2);
    evaluation_close(&e);
}
END_TEST

START_TEST(permuting_tokens_permutes_outputs)
{
    enum { N = 6, DIM = 10, WIDTH = 3 };
    static const int order[N] = {3, 0, 5, 1, 4, 2};
    double q[N * DIM], k[N * DIM], v[N * WIDTH], q2[N * DIM], k2[N * DIM], v2[N * WIDTH];
    double plain[N * WIDTH];
    random_values(q, N * DIM, 1);
    random_values(k, N * DIM, 2);
    random_values(v, N * WIDTH, 3);
    for (int i = 0; i < N; i++) {
        memcpy(q2 + i * DIM, q + order[i] * DIM, sizeof(double) * DIM);
        memcpy(k2 + i * DIM, k + order[i] * DIM, sizeof(double) * DIM);
        memcpy(v2 + i * WIDTH, v + order[i] * WIDTH, sizeof(double) * WIDTH);
    }
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        struct evaluation e;
        evaluation_open(&e, "scheme=none");
        rows(&e, "q", shuffled ? q2 : q, N, DIM);
        rows(&e, "k", shuffled ? k2 : k, N, DIM);
        rows(&e, "v", shuffled ? v2 : v, N, WIDTH);
        const double *out = evaluation_run(&e, POSREF_OP_ATTENTION, "attention", NULL);
        for (int i = 0; shuffled && i < N; i++) /* correctly rounded: the same bits */
            ck_assert_same(out + i * WIDTH, plain + order[i] * WIDTH, WIDTH);
        memcpy(plain, out, sizeof plain);
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(causal_prefixes_do_not_change)
{
    enum { N = 6, DIM = 4 };
    static const char *const specs[] = {
        "scheme=none causal=true", "scheme=rope dim=4 causal=true",
        "scheme=alibi num_heads=1 causal=true",
        "scheme=rope dim=4 causal=true causal_align=top_left",
        "scheme=rope dim=4 causal=true causal_align=position"};
    const double at[N] = {0, 1, 2, 3, 4, 5};
    double q[N * DIM], k[N * DIM], v[N * DIM], whole[N * DIM];
    random_values(q, N * DIM, 4);
    random_values(k, N * DIM, 5);
    random_values(v, N * DIM, 6);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (int n = N; n >= 1; n--) {
            struct evaluation e;
            grid(&e, specs[s], at, n, at, n);
            const bool heads = strstr(specs[s], "num_heads") != NULL;
            const int64_t shape[] = {n, 1, DIM}, flat[] = {n, DIM};
            evaluation_input(&e, "q", q, heads ? 3 : 2, heads ? shape : flat);
            evaluation_input(&e, "k", k, heads ? 3 : 2, heads ? shape : flat);
            evaluation_input(&e, "v", v, heads ? 3 : 2, heads ? shape : flat);
            const double *out = evaluation_run(&e, POSREF_OP_ATTENTION, "attention", NULL);
            if (n == N)
                memcpy(whole, out, sizeof whole);
            ck_assert_same(out, whole, n * DIM);
            evaluation_close(&e);
        }
}
END_TEST

START_TEST(alignments)
{
    /* Which of 5 keys 2 queries see. */
    static const struct {
        const char *spec;
        int seen[2];
    } cases[] = {{"scheme=none causal=true", {4, 5}},
                 {"scheme=none causal=true causal_align=bottom_right", {4, 5}},
                 {"scheme=none causal=true causal_align=top_left", {1, 2}},
                 {"scheme=none causal=true causal_align=position", {3, 1}},
                 {"scheme=none causal=false", {5, 5}},
                 {"scheme=none", {5, 5}}};
    const double one[5] = {1, 1, 1, 1, 1}, q_at[] = {12, 10}, k_at[] = {10, 11, 12, 13, 14};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct evaluation e;
        grid(&e, cases[c].spec, q_at, 2, k_at, 5);
        rows(&e, "q", one, 2, 1);
        rows(&e, "k", one, 5, 1);
        const double *scores = evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 5; j++)
                ck_assert_double_eq(scores[i * 5 + j],
                                    j < cases[c].seen[i] ? 1 : -(double)INFINITY);
        evaluation_close(&e);
    }
}
END_TEST

/* The scores of rope by vectors that op rotate turned (and rounded). */
START_TEST(scores_are_those_of_rotated_vectors)
{
    static const char *const specs[] = {
        "dim=8", "dim=8 pairing=interleaved", "dim=8 direction=inverse", "dim=8 rotary_dim=6",
        "dim=8 scaling=yarn factor=40 original_max_position_embeddings=4096"};
    enum { DIM = 8 };
    const double m = 131071, n[] = {3, 131071, 131070.5};
    double q[DIM], k[3 * DIM], turned_q[DIM], turned_k[3 * DIM];
    random_values(q, DIM, 7);
    random_values(k, 3 * DIM, 8);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        struct evaluation e;
        grid(&e, specs[s], &m, 1, n, 3);
        rows(&e, "q", q, 1, DIM);
        rows(&e, "k", k, 3, DIM);
        const double *scores = evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
        rotate_rows(turned_q, specs[s], &m, q, 1);
        rotate_rows(turned_k, specs[s], n, k, 3);
        for (int j = 0; j < 3; j++) {
            double want = 0, size = 0;
            for (int c = 0; c < DIM; c++) {
                want += turned_q[c] * turned_k[j * DIM + c];
                size += fabs(turned_q[c] * turned_k[j * DIM + c]);
            }
            ck_assert_close(scores[j], want / sqrt(DIM), 16 * DBL_EPSILON * size);
        }
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(common_shifts_change_nothing)
{
    static const char *const specs[] = {
        "scheme=rope dim=8", "scheme=rope dim=8 scaling=linear factor=4",
        "scheme=alibi num_heads=1", "scheme=alibi num_heads=1 form=symmetric"};
    static const double shifts[] = {0, 1, 4095, 1048575, -300};
    double q[8], k[3 * 8], first[3] = {0};
    random_values(q, 8, 9);
    random_values(k, 24, 10);
    for (size_t s = 0; s < 4; s++)
        for (size_t t = 0; t < 5; t++) {
            const double m = 5 + shifts[t], n[] = {shifts[t], 5 + shifts[t], 3 + shifts[t]};
            struct evaluation e;
            grid(&e, specs[s], &m, 1, n, 3);
            evaluation_input(&e, "q", q, 3, (const int64_t[]){1, 1, 8});
            evaluation_input(&e, "k", k, 3, (const int64_t[]){3, 1, 8});
            const double *scores = evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
            if (t == 0)
                memcpy(first, scores, sizeof first);
            ck_assert_same(scores, first, 3);
            evaluation_close(&e);
        }
}
END_TEST

START_TEST(heads_in_groups)
{
    /* 4 query heads, 2 key heads: heads 0 and 1 read the first, 2 and 3 the second. */
    const double q[] = {1, 2, 3, 4}, k[] = {10, 100, 20, 200}, v[] = {5, 6, 7, 8};
    struct evaluation e;
    evaluation_open(&e, "scheme=none");
    evaluation_input(&e, "q", q, 3, (const int64_t[]){1, 4, 1});
    evaluation_input(&e, "k", k, 3, (const int64_t[]){2, 2, 1});
    evaluation_input(&e, "v", v, 3, (const int64_t[]){2, 2, 1});
    const double want[] = {10, 20, 20, 40, 300, 600, 400, 800};
    ck_assert_same(evaluation_run(&e, POSREF_OP_ALL, "scores", NULL), want, 8);
    const double *out = posref_tensors_find(&e.out, "attention")->data;
    ck_assert_close(out[0], 7, 1e-4);
    ck_assert_close(out[3], 8, 1e-4);
    evaluation_close(&e);
}
END_TEST

START_TEST(temperatures)
{
    static const struct {
        const char *spec;
        double position, want;
    } cases[] = {
        {"temperature=llama4 temperature_length=8192", 8190, 1},
        {"temperature=llama4 temperature_length=8192", 8191, 1.0693147180559945},
        {"temperature=ministral temperature_length=8192", 8191, 1},
        {"temperature=ministral temperature_length=8192", 8192, 1.0693147180559945},
        {"temperature=ministral temperature_length=8192", 16384, 1.1098612288668110},
        {"temperature=llama_cpp temperature_length=8192 temperature_offset=2", 8190,
         1.0693147180559945},
        {"temperature=logn temperature_length=2048", 2047, 1},
        {"temperature=logn temperature_length=2048", 4095, 12.0 / 11},
        {"temperature=logn temperature_length=65536", 131071, 1.0625},
        {"temperature=logn temperature_length=2048", 2999, 1.0500678895802948},
        {"temperature=none", 1e6, 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const double one = 1, zero = 0;
        char spec[160];
        snprintf(spec, sizeof spec, "scheme=none %s", cases[c].spec);
        struct evaluation e;
        grid(&e, spec, &cases[c].position, 1, &zero, 1);
        rows(&e, "q", &one, 1, 1);
        rows(&e, "k", &one, 1, 1);
        const double *t = evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
        ck_assert_close(*t, cases[c].want, 4e-16);
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(mla_scale)
{
    const double m = 1 + 0.1 * log(40), one[] = {1, 1, 1, 1}, at = 0;
    struct evaluation e;
    grid(&e, "scheme=rope dim=4 scaling=yarn factor=40 original_max_position_embeddings=4096 "
             "mscale=1 mscale_all_dim=1 softmax_scale_from=mla", &at, 1, &at, 1);
    rows(&e, "q", one, 1, 4);
    rows(&e, "k", one, 1, 4);
    ck_assert_close(*evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL), 2 * m * m, 1e-15);
    ck_assert_close(m * m, 1.8738542070926265, 1e-15); /* DeepSeek-V3's */
    evaluation_close(&e);
}
END_TEST

static void refused_spec(const char *text, const char *key)
{
    struct posref_spec spec;
    struct posref_error err = {"", ""};
    posref_spec_init(&spec);
    enum posref_status status = posref_spec_parse(&spec, text, &err);
    if (status == POSREF_OK)
        status = posref_spec_complete(&spec, &err);
    ck_assert_msg(status == POSREF_BAD_INPUT, "%s", text);
    ck_assert_str_eq(err.key, key);
}

START_TEST(bad_inputs_are_named)
{
    double x[64];
    struct evaluation e;
    random_values(x, 64, 11);
    evaluation_open(&e, "scheme=none dim=4");
    evaluation_refused(&e, POSREF_OP_SCORES, "q");
    rows(&e, "q", x, 2, 3);
    evaluation_refused(&e, POSREF_OP_SCORES, "k");
    rows(&e, "k", x, 3, 3);
    evaluation_refused(&e, POSREF_OP_SCORES, "q"); /* dim is 4 */
    e.in.n = 0;
    rows(&e, "q", x, 2, 4);
    rows(&e, "k", x, 3, 5);
    evaluation_refused(&e, POSREF_OP_SCORES, "k");
    e.in.n = 1;
    rows(&e, "k", x, 3, 4);
    evaluation_refused(&e, POSREF_OP_ATTENTION, "v");
    rows(&e, "v", x, 2, 4);
    evaluation_refused(&e, POSREF_OP_ATTENTION, "v");
    e.in.n = 2;
    rows(&e, "v", x, 3, 4);
    evaluation_input(&e, "mask", x, 2, (const int64_t[]){2, 3});
    evaluation_refused(&e, POSREF_OP_ATTENTION, "mask"); /* 0 and 1 alone */
    e.in.n = 3;
    evaluation_input(&e, "mask", (const double[]){1, 1, 1, 0, 0, 0}, 2, (const int64_t[]){2, 3});
    evaluation_refused(&e, POSREF_OP_ATTENTION, "mask"); /* a query without keys */
    evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
    e.in.n = 3;
    evaluation_input(&e, "q_positions", x, 1, (const int64_t[]){3});
    evaluation_refused(&e, POSREF_OP_SCORES, "q_positions");
    evaluation_close(&e);
    /* nothing that was given goes unread */
    static const char *const alone[] = {"q", "k", "v", "mask"};
    evaluation_open(&e, "dim=4");
    evaluation_positions(&e, (const double[]){0, 1}, 2);
    for (int n = 0; n < 4; n++) {
        e.in.n = 1;
        rows(&e, alone[n], x, 2, 4);
        evaluation_refused(&e, POSREF_OP_ALL, alone[n]);
    }
    evaluation_close(&e);
    evaluation_open(&e, "scheme=sinusoidal dim=4");
    evaluation_close(&e);
    refused_spec("scheme=none causal_align=top_left", "causal_align");
    refused_spec("scheme=none temperature=logn", "temperature_length");
    refused_spec("scheme=none temperature=logn temperature_length=1", "temperature_length");
    refused_spec("scheme=none temperature=ministral temperature_length=8 temperature_offset=1",
                 "temperature_offset");
    refused_spec("scheme=none softmax_scale_from=mla", "softmax_scale_from");
    refused_spec("scheme=none softmax_scale=0", "softmax_scale");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        worked_example, scales_are_not_rounded, zeros_and_ties_are_exact,
        permuting_tokens_permutes_outputs, causal_prefixes_do_not_change, alignments,
        scores_are_those_of_rotated_vectors, common_shifts_change_nothing, heads_in_groups,
        temperatures, mla_scale, bad_inputs_are_named,
    };
    return RUN_EVALUATIONS("attention", tests);
}
