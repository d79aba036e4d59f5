/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of rope in every layout: places of cosines and sines written out by hand, agreement with
 * cos and sin apart, signs of zeros, judging of a float32 kernel and of exchanged cos and sin. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPEC "scheme=rope dim=6 rotary_dim=4 base=10000 scaling=yarn factor=4 " \
             "original_max_position_embeddings=64"
static const double at[] = {0, 3, -70000};
#define N 3

/* A row for two pairs: 1, 2 = c_0, c_1; 3, 4 = s_0, s_1; negative: negated. */
static const struct layout {
    const char *name, *outputs[2];
    int rank, width;
    int row[2][8];
} layouts[] = {
    {"split", {"cos", "sin"}, 2, 2, {{1, 2}, {3, 4}}},
    {"cos_sin", {"table", NULL}, 2, 4, {{1, 2, 3, 4}}},
    {"concat", {"cos", "sin"}, 2, 4, {{1, 2, 1, 2}, {3, 4, 3, 4}}},
    {"repeat", {"cos", "sin"}, 2, 4, {{1, 1, 2, 2}, {3, 3, 4, 4}}},
    {"complex", {"table", NULL}, 3, 4, {{1, 3, 2, 4}}},
    {"matrix", {"table", NULL}, 4, 8, {{1, -3, 3, 1, 2, -4, 4, 2}}},
    {"sin_cos", {"table", NULL}, 2, 4, {{3, 4, 1, 2}}},
    {"interleaved", {"table", NULL}, 2, 4, {{1, 3, 2, 4}}},
};
#define N_LAYOUTS ((int)(sizeof layouts / sizeof *layouts))

static void open_layout(struct evaluation *e, const char *spec, const char *name)
{
    char text[256];
    snprintf(text, sizeof text, "%s table_layout=%s", spec, name);
    evaluation_open(e, text);
    evaluation_positions(e, at, N);
}

START_TEST(places_and_values)
{
    struct evaluation plain;
    evaluation_open(&plain, SPEC);
    evaluation_positions(&plain, at, N);
    const double *c = evaluation_run(&plain, POSREF_OP_TABLE, "cos", NULL);
    const double *s = posref_tensors_find(&plain.out, "sin")->data;
    for (int l = 0; l < N_LAYOUTS; l++) {
        struct evaluation e;
        open_layout(&e, SPEC, layouts[l].name);
        for (int o = 0; o < 2 && layouts[l].outputs[o]; o++) {
            int64_t count;
            const double *got = evaluation_run(&e, POSREF_OP_TABLE, layouts[l].outputs[o], &count);
            ck_assert_int_eq(count, N * layouts[l].width);
            ck_assert_int_eq(e.out.item[o].rank, layouts[l].rank);
            ck_assert_int_eq(e.out.n, layouts[l].outputs[1] ? 2 : 1);
            for (int k = 0; k < N * layouts[l].width; k++) {
                const int code = layouts[l].row[o][k % layouts[l].width], which = abs(code) - 1;
                const double *from = which < 2 ? c : s;
                double want = from[k / layouts[l].width * 2 + which % 2];
                if (code < 0 && want != 0)
                    want = -want;
                ck_assert_msg(memcmp(&got[k], &want, sizeof want) == 0, "%s %d: %.17g, not %.17g",
                              layouts[l].name, k, got[k], want);
            }
        }
        evaluation_close(&e);
    }
    evaluation_close(&plain);
}
END_TEST

/* position * theta without the attention factor; an exact 0 is +0; a fraction of a token. */
START_TEST(angles_are_products)
{
    struct evaluation e;
    const double positions[] = {0, 1, 3, -16777217, 0.75};
    evaluation_open(&e, "scheme=rope dim=4 base=10000 table_layout=angles scaling=linear factor=4");
    evaluation_positions(&e, positions, 5);
    const double *got = evaluation_run(&e, POSREF_OP_TABLE, "angles", NULL);
    const double want[] = {0, 0, 0.25, 0.0025, 0.75, 0.0075, -4194304.25, -41943.0425, 0.1875,
                           0.001875};
    ck_assert_same(got, want, 10);
    evaluation_close(&e);
    evaluation_open(&e, "scheme=rope dim=4 base=65536 partial=proportional "
                        "partial_rotary_factor=0.5 table_layout=angles");
    evaluation_positions(&e, (const double[]){-5}, 1);
    ck_assert_same(evaluation_run(&e, POSREF_OP_TABLE, "angles", NULL),
                   ((const double[]){-5, 0}), 2);
    evaluation_close(&e);
}
END_TEST

static bool passes(struct evaluation *e, float made[2][24])
{
    struct posref_tensors actual = e->out;
    struct posref_judgement j;
    for (int o = 0; o < actual.n; o++) {
        actual.item[o].dtype = POSREF_F32;
        actual.item[o].data = made[o];
    }
    ck_assert(posref_judge(&j, &e->spec, POSREF_OP_TABLE, &e->in, &e->out, &actual, POSREF_F32,
                           POSREF_GRADE_RECURRENCE, &e->arena, &e->err) == POSREF_OK);
    return j.pass;
}

#define PLAIN "scheme=rope dim=4 base=10000"

/* A kernel in float32; then cosine and sine exchanged, and one value changed wherever it stands. */
START_TEST(judging)
{
    for (int l = 0; l < N_LAYOUTS; l++) {
        struct evaluation e;
        float made[2][24], other[2][24];
        open_layout(&e, PLAIN, layouts[l].name);
        for (int o = 0; o < 2 && layouts[l].outputs[o]; o++)
            (void)evaluation_run(&e, POSREF_OP_TABLE, layouts[l].outputs[o], NULL);
        for (int o = 0; o < 2; o++)
            for (int k = 0; k < N * layouts[l].width; k++) {
                const int code = layouts[l].row[o][k % layouts[l].width], which = abs(code) - 1;
                const float inv_freq = which % 2 ? 1.0F / powf(10000.0F, 0.5F) : 1.0F;
                const float a = (float)at[k / layouts[l].width] * inv_freq;
                const float value = which < 2 ? cosf(a) : sinf(a);
                const float swapped = which < 2 ? sinf(a) : cosf(a);
                made[o][k] = code < 0 ? -value : value;
                other[o][k] = code < 0 ? -swapped : swapped;
            }
        ck_assert_msg(passes(&e, made), "%s", layouts[l].name);
        ck_assert_msg(!passes(&e, other), "%s exchanged", layouts[l].name);
        for (int o = 0; o < (layouts[l].outputs[1] ? 2 : 1); o++)
            for (int k = layouts[l].width; k < N * layouts[l].width; k++) {
                const float kept = made[o][k];
                made[o][k] = kept + 0.02F;
                ck_assert_msg(!passes(&e, made), "%s %d", layouts[l].name, k);
                made[o][k] = kept;
            }
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(judging_of_angles)
{
    struct evaluation e;
    float made[2][24];
    open_layout(&e, PLAIN, "angles");
    (void)evaluation_run(&e, POSREF_OP_TABLE, "angles", NULL);
    for (int k = 0; k < 2 * N; k++)
        made[0][k] = (float)at[k / 2] * (k % 2 ? 1.0F / powf(10000.0F, 0.5F) : 1.0F);
    ck_assert(passes(&e, made));
    made[0][5] *= 1.0001F;
    ck_assert(!passes(&e, made));
    made[0][5] = -made[0][5];
    ck_assert(!passes(&e, made));
    evaluation_close(&e);
}
END_TEST

/* Left out, the key has no value; given, also as split, it has. */
START_TEST(canonical_text)
{
    struct evaluation e;
    evaluation_open(&e, PLAIN);
    ck_assert(!e.spec.given[POSREF_FIELD_TABLE_LAYOUT]);
    evaluation_close(&e);
    evaluation_open(&e, PLAIN " table_layout=split");
    ck_assert(e.spec.given[POSREF_FIELD_TABLE_LAYOUT]);
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {places_and_values, angles_are_products, judging,
                                         judging_of_angles, canonical_text};
    return RUN_EVALUATIONS("rope_tables", tests);
}
