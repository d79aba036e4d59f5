/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of docs/errata.md that no other test computes. */
#include "eval_fixture.h"

#include <math.h>

static double last_frequency(const char *spec)
{
    struct evaluation e;
    int64_t count;
    evaluation_open(&e, spec);
    const double *inv_freq = evaluation_run(&e, POSREF_OP_FREQUENCIES, "inv_freq", &count);
    double last = inv_freq[count - 1];
    evaluation_close(&e);
    return last;
}

START_TEST(last_steps)
{
    ck_assert_close(last_frequency("dim=64"), 1.3335e-4, 5e-9);
    ck_assert_close(last_frequency("dim=128"), 1.1548e-4, 5e-9);
    ck_assert_double_gt(last_frequency("dim=16384"), 1e-4);
}
END_TEST

START_TEST(axes_of_video_models)
{
    ck_assert_double_eq(last_frequency("dim=16 base=256"), 1.0 / 128);
    ck_assert_close(last_frequency("dim=56 base=256"), 0.004761772, 5e-10);
}
END_TEST

START_TEST(small_angles)
{
    struct evaluation e;
    const double at = 1;
    evaluation_open(&e, "dim=4");
    evaluation_positions(&e, &at, 1);
    const double *cosines = evaluation_run(&e, POSREF_OP_TABLE, "cos", NULL);
    ck_assert_close(cosines[1], 0.999950000416, 1e-12);
    ck_assert_close(0.5 * cosines[0], 0.270151152, 1e-9);
    evaluation_close(&e);
}
END_TEST

/* Halves times one factor each: what the sentence "first half cos, second half sin" computes. */
START_TEST(halves_are_no_rotation)
{
    const double x[] = {1, 2, 3, 4}, position = 1, cosine = 0.54030230586813972;
    const double sine = 0.84147098480789651;
    double y[4];
    rotate_rows(y, "dim=4 pairing=half", &position, x, 1);
    ck_assert_close(y[0] * y[0] + y[2] * y[2], 10, 1e-14);
    double wrong = x[0] * cosine * x[0] * cosine + x[2] * sine * x[2] * sine;
    ck_assert_double_gt(fabs(wrong - 10), 3);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {last_steps, axes_of_video_models, small_angles,
                                  halves_are_no_rotation};
    return RUN_EVALUATIONS("errata", tests);
}
