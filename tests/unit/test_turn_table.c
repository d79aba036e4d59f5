/* SPDX-License-Identifier: Apache-2.0 */
/* The sine tables are what ball arithmetic says. --print-fixed and
 * --print-parts write reference/turn_fixed.c and reference/turn_parts.c. */
#include "reference/turn_impl.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* Stands in for ck_assert, which cannot be used when printing. */
static void must(bool decided)
{
    if (!decided) {
        fprintf(stderr, "test_turn_table: a ball of 320 bits does not decide an entry\n");
        exit(1);
    }
}

static void sine(struct posref_ball *out, int j)
{
    struct posref_ball turns;
    struct posref_ball cosine;
    posref_ball_set_int(&turns, j);
    posref_ball_scale2(&turns, &turns, -10);
    posref_ball_cos_sin_turns(&cosine, out, &turns, 320);
}

/* floor(sin * 2^127), decided. */
static struct turn_fixed fixed_entry(int j)
{
    struct posref_ball s;
    struct posref_ball part;
    struct turn_fixed out;
    int64_t high = 0;
    int64_t middle = 0;
    int64_t low = 0;
    sine(&s, j);
    posref_ball_scale2(&s, &s, 60); /* 127 = 60 + 60 + 7 */
    must(posref_ball_floor(&high, &s));
    posref_ball_set_int(&part, high);
    posref_ball_sub(&s, &s, &part, 320);
    posref_ball_scale2(&s, &s, 60);
    must(posref_ball_floor(&middle, &s));
    posref_ball_set_int(&part, middle);
    posref_ball_sub(&s, &s, &part, 320);
    posref_ball_scale2(&s, &s, 7);
    must(posref_ball_floor(&low, &s));
    turn_u128 all = (turn_u128)(uint64_t)high << 67 | (turn_u128)(uint64_t)middle << 7 |
                    (uint64_t)low;
    out.high = (uint64_t)(all >> 64);
    out.low = (uint64_t)all;
    return out;
}

/* *head: sin to 26 bits, *tail: the rest as a double. */
static void split_sine(double *head, double *tail, int j)
{
    struct posref_ball s;
    struct posref_ball t;
    sine(&s, j);
    must(posref_ball_round(head, &s));
    *head = bits_double((double_bits(*head) + (1u << 26)) & ~(uint64_t)0x7ffffff);
    posref_ball_set_double(&t, *head);
    posref_ball_sub(&s, &s, &t, 320);
    must(posref_ball_round(tail, &s));
}

START_TEST(fixed_table)
{
    for (int j = 0; j <= TURN_STEPS; j++) {
        struct turn_fixed want = fixed_entry(j);
        ck_assert_uint_eq(posref_turn_fixed[j].high, want.high);
        ck_assert_uint_eq(posref_turn_fixed[j].low, want.low);
    }
}
END_TEST

START_TEST(parts_table)
{
    for (int j = 0; j < TURN_STEPS; j++) {
        const struct turn_parts *got = &posref_turn_parts[j];
        double want[4];
        split_sine(&want[0], &want[1], j);
        split_sine(&want[2], &want[3], TURN_STEPS - j);
        ck_assert(got->head[0][0] == want[0] && got->head[0][1] == want[2]);
        ck_assert(got->head[1][0] == want[2] && got->head[1][1] == -want[0]);
        ck_assert(got->tail[0][0] == want[1] && got->tail[0][1] == want[3]);
        ck_assert(got->tail[1][0] == want[3] && got->tail[1][1] == -want[1]);
        ck_assert_uint_eq(double_bits(want[0]) & 0x7ffffff, 0);
        ck_assert_uint_eq(double_bits(want[2]) & 0x7ffffff, 0);
    }
}
END_TEST

START_TEST(two_pi)
{
    struct posref_ball pi;
    int64_t high = 0;
    posref_ball_pi(&pi, 320);
    posref_ball_scale2(&pi, &pi, 1 + 59); /* 125 = 59 + 60 + 6 */
    ck_assert(posref_ball_floor(&high, &pi));
    turn_u128 got = (turn_u128)(uint64_t)high;
    for (int k = 0; k < 2; k++) {
        static const int bits[] = {60, 6};
        struct posref_ball part;
        posref_ball_set_int(&part, high);
        posref_ball_sub(&pi, &pi, &part, 320);
        posref_ball_scale2(&pi, &pi, bits[k]);
        ck_assert(posref_ball_floor(&high, &pi));
        got = got << bits[k] | (uint64_t)high;
    }
    ck_assert_uint_eq((uint64_t)(got >> 64), TURN_TWO_PI_HIGH);
    ck_assert_uint_eq((uint64_t)got, TURN_TWO_PI_LOW);
}
END_TEST

static int print_fixed(void)
{
    printf("/* SPDX-License-Identifier: Apache-2.0 */\n"
           "/* Sines of multiples of 1/1024 turn to 127 bits. Written and checked by "
           "tests/unit/test_turn_table\n * (--print-fixed); see turn_impl.h. */\n"
           "#include \"turn_impl.h\"\n\n"
           "const struct turn_fixed posref_turn_fixed[TURN_STEPS + 1] = {\n");
    for (int j = 0; j <= TURN_STEPS; j++) {
        struct turn_fixed f = fixed_entry(j);
        printf("%s{0x%016llx, 0x%016llx},%s", j % 2 ? " " : "    ", (unsigned long long)f.high,
               (unsigned long long)f.low, j % 2 || j == TURN_STEPS ? "\n" : "");
    }
    printf("};\n");
    return 0;
}

static int print_parts(void)
{
    printf("/* SPDX-License-Identifier: Apache-2.0 */\n"
           "/* Sine and cosine of multiples of 1/1024 turn, each as head and tail. Written and "
           "checked by\n * tests/unit/test_turn_table (--print-parts); see turn_impl.h. */\n"
           "#include \"turn_impl.h\"\n\n"
           "#define ENTRY(s1, s2, c1, c2) \\\n"
           "    {{{s1, c1}, {c1, -(s1)}}, {{s2, c2}, {c2, -(s2)}}}\n\n"
           "const struct turn_parts posref_turn_parts[TURN_STEPS] = {\n");
    for (int j = 0; j < TURN_STEPS; j++) {
        double v[4];
        split_sine(&v[0], &v[1], j);
        split_sine(&v[2], &v[3], TURN_STEPS - j);
        printf("    ENTRY(%a, %a, %a, %a),\n", v[0], v[1], v[2], v[3]);
    }
    printf("};\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print-fixed") == 0)
        return print_fixed();
    if (argc == 2 && strcmp(argv[1], "--print-parts") == 0)
        return print_parts();
    Suite *suite = suite_create("turn_table");
    TCase *tcase = tcase_create("turn_table");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, fixed_table);
    tcase_add_test(tcase, parts_table);
    tcase_add_test(tcase, two_pi);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
