/* SPDX-License-Identifier: Apache-2.0 */
/* The sine tables are what ball arithmetic says. --print-fixed and
 * --print-parts write reference/turn_fixed.c and reference/turn_parts.c. */
#include "reference/turn_impl.h"
#include "tests/unit/suite.h"

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

/* sin, or 2 pi sin when `slope`, as *head, 26 bits, and *tail, the rest as a double. */
static void split_sine(double *head, double *tail, int j, bool slope)
{
    struct posref_ball s;
    struct posref_ball t;
    sine(&s, j);
    if (slope) {
        posref_ball_pi(&t, 320);
        posref_ball_mul(&s, &s, &t, 320);
        posref_ball_scale2(&s, &s, 1);
    }
    must(posref_ball_round(head, &s));
    *head = bits_double((double_bits(*head) + (1u << 26)) & ~(uint64_t)0x7ffffff);
    posref_ball_set_double(&t, *head);
    posref_ball_sub(&s, &s, &t, 320);
    must(posref_ball_round(tail, &s));
}

static struct turn_parts parts_entry(int j)
{
    double s[4];
    double c[4];
    split_sine(&s[0], &s[1], j, false);
    split_sine(&s[2], &s[3], j, true);
    split_sine(&c[0], &c[1], TURN_STEPS - j, false);
    split_sine(&c[2], &c[3], TURN_STEPS - j, true);
    return (struct turn_parts){{s[0], c[0], -s[0]},
                               {s[1], c[1], -s[1]},
                               {c[2], -s[2], -c[2]},
                               {c[3], -s[3], -c[3]}};
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
        struct turn_parts want = parts_entry(j);
        const struct turn_parts *got = &posref_turn_parts[j];
        for (int k = 0; k < 3; k++) {
            ck_assert(got->head[k] == want.head[k]);
            ck_assert(got->tail[k] == want.tail[k]);
            ck_assert(got->slope_head[k] == want.slope_head[k]);
            ck_assert(got->slope_tail[k] == want.slope_tail[k]);
            ck_assert_uint_eq(double_bits(got->slope_head[k]) & 0x7ffffff, 0); /* 26 bits */
        }
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
           "/* Sine, cosine and their slopes at multiples of 1/1024 turn, each as head and tail. "
           "Written and\n * checked by tests/unit/test_turn_table (--print-parts); see "
           "turn_impl.h. */\n"
           "#include \"turn_impl.h\"\n\n"
           "/* sin, cos, 2 pi cos, 2 pi sin */\n"
           "#define ENTRY(s, st, c, ct, u, ut, v, vt) \\\n"
           "    {{s, c, -(s)}, {st, ct, -(st)}, {u, -(v), -(u)}, {ut, -(vt), -(ut)}}\n\n"
           "const struct turn_parts posref_turn_parts[TURN_STEPS] = {\n");
    for (int j = 0; j < TURN_STEPS; j++) {
        struct turn_parts p = parts_entry(j);
        printf("    ENTRY(%a, %a, %a, %a,\n          %a, %a, %a, %a),\n", p.head[0], p.tail[0],
               p.head[1], p.tail[1], p.slope_head[0], p.slope_tail[0], -p.slope_head[1],
               -p.slope_tail[1]);
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
    return run_suite(suite);
}
