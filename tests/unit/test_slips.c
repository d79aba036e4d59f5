/* SPDX-License-Identifier: Apache-2.0 */
/* Slips of specs (enum posref_slip): what the reference gives with each, by hand, and that no text
 * and no completion of a spec makes or loses one. */
#include "eval_fixture.h"

#include <math.h>
#include <string.h>

/* CoPE with one query, four keys, and q . E[m] = 1, 4, 9. */
static void open_cope(struct evaluation *e, const double *z, const double *mask, unsigned slip)
{
    static const double q[2] = {1, 0}, table[6] = {1, 0, 4, 0, 9, 0};
    static double k[8];
    for (int j = 0; j < 4; j++) {
        k[2 * j] = z[j];
        k[2 * j + 1] = 0;
    }
    evaluation_open(e, "scheme=cope dim=2 npos_max=3 softmax_scale=1");
    evaluation_input(e, "q", q, 2, (const int64_t[]){1, 2});
    evaluation_input(e, "k", k, 2, (const int64_t[]){4, 2});
    evaluation_input(e, "weights", table, 2, (const int64_t[]){3, 2});
    evaluation_input(e, "mask", mask, 2, (const int64_t[]){1, 4});
    e->spec.slips = slip;
}

START_TEST(gates_and_rows)
{
    static const double half[4] = {0}, open[4] = {900, 900, 900, 900};
    static const double all[4] = {1, 1, 1, 1}, some[4] = {1, 0, 1, 0};
    static const struct {
        unsigned slip;
        const double *z, *mask;
        double place[4], logit[4];
    } cases[] = {
        {0, half, all, {2, 1.5, 1, 0.5}, {9, 6.5, 4, 2.5}},
        {POSREF_SLIP_GATES_FROM_START, half, all, {0.5, 1, 1.5, 2}, {2.5, 4, 6.5, 9}},
        {POSREF_SLIP_GATES_BEYOND, half, all, {1.5, 1, 0.5, 0}, {6.5, 4, 2.5, 1}},
        {POSREF_SLIP_GATES_UNMASKED, half, some, {2, 1.5, 1, 0.5}, {9, 6.5, 4, 2.5}},
        {POSREF_SLIP_ROW_FLOOR, half, all, {2, 1.5, 1, 0.5}, {9, 4, 4, 1}},
        {POSREF_SLIP_ROW_NEAREST, half, all, {2, 1.5, 1, 0.5}, {9, 9, 4, 4}},
        {POSREF_SLIP_ROW_NONE_BEYOND, open, all, {4, 3, 2, 1}, {0, 0, 9, 4}},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        struct evaluation e;
        open_cope(&e, cases[n].z, cases[n].mask, cases[n].slip);
        (void)evaluation_run(&e, POSREF_OP_ALL, "scores", NULL);
        for (int j = 0; j < 4; j++) {
            ck_assert_double_eq(evaluation_output(&e, "contextual_positions")[j],
                                cases[n].place[j]);
            ck_assert_double_eq(evaluation_output(&e, "content_position")[j], cases[n].logit[j]);
        }
        evaluation_close(&e);
    }
}
END_TEST

/* x = 8 ln(n / 8) / ln 16 of T5 is 0.34 at 9, 0.64 at 10 and 2 at 16; DeBERTa's 3 ln(n / 4) / ln 8
 * is 0.32 at 5, 0.58 at 6 and 1 at 8. */
START_TEST(buckets)
{
    static const struct {
        const char *spec;
        unsigned slip;
        int64_t want[4];
    } cases[] = {
        {"scheme=t5_bias", 0, {8, 8, 10, 8}},
        {"scheme=t5_bias", POSREF_SLIP_BUCKET_CEIL, {9, 9, 10, 9}},
        {"scheme=t5_bias", POSREF_SLIP_BUCKET_NEAREST, {8, 9, 10, 8}},
        {"scheme=deberta num_buckets=8 max_distance=33", 0, {5, 5, 5, -5}},
        {"scheme=deberta num_buckets=8 max_distance=33", POSREF_SLIP_BUCKET_FLOOR, {4, 4, 5, -4}},
        {"scheme=deberta num_buckets=8 max_distance=33", POSREF_SLIP_BUCKET_NEAREST,
         {4, 5, 5, -4}},
        {"scheme=deberta num_buckets=8 max_distance=33", POSREF_SLIP_BUCKET_SIGNED, {5, 5, 5, -4}},
    };
    static const double zero[1] = {0}, t5[4] = {-9, -10, -16, -9}, deberta[4] = {-5, -6, -8, 5};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        struct evaluation e;
        evaluation_open(&e, cases[n].spec);
        evaluation_input(&e, "q_positions", zero, 1, (const int64_t[]){1});
        evaluation_input(&e, "k_positions", n < 3 ? t5 : deberta, 1, (const int64_t[]){4});
        e.spec.slips = cases[n].slip;
        ck_assert_int_eq(posref_eval(&e.out, &e.spec, POSREF_OP_INDEX, &e.in, &e.arena, &e.err),
                         POSREF_OK);
        const int64_t *got = posref_tensors_find(&e.out, "buckets")->data;
        for (int j = 0; j < 4; j++)
            ck_assert_int_eq(got[j], cases[n].want[j]);
        evaluation_close(&e);
    }
}
END_TEST

/* Two queries, two keys of scores 0: half of each key's weight; a mask of numbers. */
START_TEST(softmax_and_mask)
{
    static const double q[4] = {0}, k[4] = {0}, v[2] = {1, 3}, mask[4] = {1, 0, 1, 1};
    for (int n = 0; n < 2; n++) {
        struct evaluation e;
        evaluation_open(&e, "scheme=none dim=2");
        evaluation_input(&e, "q", q, 2, (const int64_t[]){2, 2});
        evaluation_input(&e, "k", k, 2, (const int64_t[]){2, 2});
        evaluation_input(&e, "v", v, 2, (const int64_t[]){2, 1});
        evaluation_input(&e, "mask", mask, 2, (const int64_t[]){2, 2});
        e.spec.slips = n ? POSREF_SLIP_MASK_ADDED : POSREF_SLIP_SOFTMAX_QUERIES;
        (void)evaluation_run(&e, POSREF_OP_ATTENTION, "attention", NULL);
        const double *got = evaluation_output(&e, "attention");
        const double far = exp(-1);
        /* Key 1 is seen by query 1 alone. */
        ck_assert_close(got[0], n ? (1 + 3 * far) / (1 + far) : 0.5, 1e-15);
        ck_assert_close(got[1], n ? 2 : 0.5 + 3, 1e-15);
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(specs_keep_them)
{
    struct evaluation e;
    evaluation_open(&e, "scheme=none dim=2");
    ck_assert_uint_eq(e.spec.slips, 0);
    e.spec.slips = POSREF_SLIP_MASK_ADDED;
    ck_assert_int_eq(posref_spec_complete(&e.spec, NULL), POSREF_OK);
    ck_assert_uint_eq(e.spec.slips, POSREF_SLIP_MASK_ADDED);
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {gates_and_rows, buckets, softmax_and_mask, specs_keep_them};
    return RUN_EVALUATIONS("slips", tests);
}
