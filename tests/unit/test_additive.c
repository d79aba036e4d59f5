/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of sinusoidal embeddings in four terms: those of content plus table, exact where positions
 * are equal, relative in the last term alone; refusals; judging. */
#include "eval_fixture.h"
#include "reference/judge.h"

#include <math.h>

enum { N_Q = 2, N_K = 4, DIM = 6 };

static const double q_at[N_Q] = {5, 300}, k_at[N_K] = {0, 5, 299, 70000};
static const char *const names[] = {"content_content", "content_position", "position_content",
                                    "position_position"};

struct data {
    double q[N_Q * DIM], k[N_K * DIM];
};

static void draw(struct data *d)
{
    uint64_t seed = 43;
    for (int n = 0; n < N_Q * DIM; n++)
        d->q[n] = next_random(&seed);
    for (int n = 0; n < N_K * DIM; n++)
        d->k[n] = next_random(&seed);
}

static void open_at(struct evaluation *e, const char *spec, const struct data *d, double shift)
{
    double q[N_Q], k[N_K];
    for (int n = 0; n < N_Q; n++)
        q[n] = q_at[n] + shift;
    for (int n = 0; n < N_K; n++)
        k[n] = k_at[n] + shift;
    evaluation_open(e, spec);
    evaluation_input(e, "q_positions", q, 1, (const int64_t[]){N_Q});
    evaluation_input(e, "k_positions", k, 1, (const int64_t[]){N_K});
    evaluation_input(e, "q", d->q, 2, (const int64_t[]){N_Q, DIM});
    evaluation_input(e, "k", d->k, 2, (const int64_t[]){N_K, DIM});
}

/* Channel c of the table of offset=1, table_scale=0.5, sines first. */
static double table(double position, int c)
{
    double angle = (position + 1) * pow(10000, -2.0 * (c % 3) / DIM);
    return 0.5 * (c < 3 ? sin(angle) : cos(angle));
}

static void model(double *out, const struct data *d, bool keys)
{
    for (int i = 0; i < N_Q; i++)
        for (int j = 0; j < N_K; j++) {
            double sum = 0;
            for (int c = 0; c < DIM; c++)
                sum += (d->q[i * DIM + c] + table(q_at[i], c)) *
                       (d->k[j * DIM + c] + (keys ? table(k_at[j], c) : 0));
            out[i * N_K + j] = sum / sqrt(DIM);
        }
}

static const char spec[] = "scheme=sinusoidal dim=6 order=concat offset=1 table_scale=0.5";

START_TEST(equals_content_plus_table)
{
    struct data d;
    struct evaluation e;
    double want[N_Q * N_K];
    draw(&d);
    model(want, &d, true);
    open_at(&e, spec, &d, 0);
    const double *got = evaluation_run(&e, POSREF_OP_ALL, "scores", NULL);
    for (int n = 0; n < N_Q * N_K; n++) {
        double sum = 0;
        for (int term = 0; term < 4; term++)
            sum += ((const double *)posref_tensors_find(&e.out, names[term])->data)[n];
        ck_assert_close(got[n], want[n], 1e-11);
        ck_assert_close(got[n], sum, 1e-15 * 16);
    }
    evaluation_close(&e);
}
END_TEST

START_TEST(last_term_is_relative_and_exact)
{
    struct data d;
    struct evaluation e[2];
    draw(&d);
    open_at(&e[0], "scheme=sinusoidal dim=6 softmax_scale=1 table_scale=0.5", &d, 0);
    open_at(&e[1], "scheme=sinusoidal dim=6 softmax_scale=1 table_scale=0.5", &d, 4097);
    const double *got[2], *other[2];
    for (int n = 0; n < 2; n++) {
        got[n] = evaluation_run(&e[n], POSREF_OP_SCORES, names[3], NULL);
        other[n] = posref_tensors_find(&e[n].out, names[1])->data;
    }
    ck_assert_same(got[0], got[1], N_Q * N_K);
    ck_assert_double_eq(got[0][1], 0.75); /* both at 5: three pairs of 1/4 */
    ck_assert_double_ne(other[0][0], other[1][0]);
    evaluation_close(&e[0]);
    evaluation_close(&e[1]);
}
END_TEST

START_TEST(bad_inputs_are_named)
{
    static const struct {
        const char *spec, *key;
    } bad[] = {{"scheme=sinusoidal dim=6 x_scale=sqrt_dim", "x_scale"},
               {"scheme=sinusoidal dim=6 padding_idx=1", "padding_idx"},
               {"scheme=sinusoidal dim=8", "q"}};
    struct data d;
    draw(&d);
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
        struct evaluation e;
        open_at(&e, bad[n].spec, &d, 0);
        evaluation_refused(&e, POSREF_OP_SCORES, bad[n].key);
        evaluation_close(&e);
    }
}
END_TEST

START_TEST(judged)
{
    struct data d;
    struct evaluation e;
    draw(&d);
    open_at(&e, spec, &d, 0);
    evaluation_run(&e, POSREF_OP_SCORES, "scores", NULL);
    for (int honest = 0; honest < 2; honest++) {
        double x[N_Q * N_K];
        float single[N_Q * N_K];
        struct posref_tensors actual = e.out;
        struct posref_judgement out;
        model(x, &d, honest);
        for (int n = 0; n < N_Q * N_K; n++)
            single[n] = (float)x[n];
        for (int t = 0; t < actual.n; t++) { /* the terms as they are */
            float *values = e.arena.alloc(e.arena.ctx, sizeof single);
            for (int n = 0; n < N_Q * N_K; n++)
                values[n] = t ? (float)((const double *)e.out.item[t].data)[n] : single[n];
            actual.item[t].dtype = POSREF_F32;
            actual.item[t].data = values;
        }
        ck_assert_int_eq(posref_judge(&out, &e.spec, POSREF_OP_SCORES, &e.in, &e.out, &actual,
                                      POSREF_F32, posref_grade_default(POSREF_F32), &e.arena,
                                      &e.err), POSREF_OK);
        ck_assert_int_eq(out.pass, honest);
    }
    evaluation_close(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        equals_content_plus_table, last_term_is_relative_and_exact, bad_inputs_are_named, judged,
    };
    return RUN_EVALUATIONS("additive", tests);
}
