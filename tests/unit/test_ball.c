/* SPDX-License-Identifier: Apache-2.0 */
/* Balls where the answer is known: exact cases, domains, order, floor, rounding, the loop that asks
 * for more bits, and the stored constants. tests/numerics/check_ball compares random operands with
 * MPFR. */
#include "reference/ball_impl.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct posref_ball ball(double x)
{
    struct posref_ball b;
    posref_ball_set_double(&b, x);
    return b;
}

static struct posref_ball pow2(int64_t e)
{
    struct posref_ball b = ball(1);
    posref_ball_scale2(&b, &b, e);
    return b;
}

static struct posref_ball with_radius(double mid, int64_t rad_exponent)
{
    struct posref_ball b = ball(mid);
    b.rad_man = 1;
    b.rad_exponent = rad_exponent;
    return b;
}

static void is_exactly(const struct posref_ball *a, double x)
{
    struct posref_ball b = ball(x);
    ck_assert_int_eq(posref_ball_compare(a, &b), 0);
    ck_assert_uint_eq(a->rad_man, 0);
}

START_TEST(exact_stays_exact)
{
    struct posref_ball a;
    struct posref_ball b = pow2(-1000);
    struct posref_ball one = ball(1);
    posref_ball_add(&a, &one, &b, 1100);
    ck_assert_uint_eq(a.rad_man, 0);
    posref_ball_sub(&a, &a, &one, 64); /* cancels to something short: no bit is lost */
    ck_assert_int_eq(posref_ball_compare(&a, &b), 0);
    posref_ball_add(&a, &one, &b, 128);
    ck_assert_uint_ne(a.rad_man, 0);
    b = pow2(-20000); /* too far below to be added: it must show in the radius */
    posref_ball_add(&a, &one, &b, POSREF_BALL_MAX_BITS);
    ck_assert_int_eq(posref_ball_compare(&a, &one), 2);
    /* (1 + 2^-255)^2 of 256 bits: what falls off is one bit, far below the last that stays. */
    b = pow2(-255);
    posref_ball_add(&a, &one, &b, 256);
    posref_ball_mul(&a, &a, &a, 256);
    ck_assert_uint_ne(a.rad_man, 0);
    posref_ball_add(&b, &one, &b, 256);
    posref_ball_mul(&b, &b, &b, 576);
    ck_assert_uint_eq(b.rad_man, 0);
    ck_assert_int_eq(posref_ball_compare(&a, &b), 2);
    posref_ball_ratio(&a, -21, 8, 64);
    is_exactly(&a, -2.625);
    posref_ball_ratio(&a, 1, 3, 64);
    ck_assert_uint_ne(a.rad_man, 0);
    posref_ball_set_int(&a, INT64_MIN);
    is_exactly(&a, -0x1p63);
    a = ball(-0.0);
    is_exactly(&a, 0);
    a = ball(0x1p-1074);
    is_exactly(&a, 0x1p-1074);
    a = ball(6.25);
    ck_assert(posref_ball_sqrt(&a, &a, 64));
    is_exactly(&a, 2.5);
    a = ball(1);
    ck_assert(posref_ball_log(&a, &a, 128));
    is_exactly(&a, 0);
    posref_ball_exp(&a, &a, 128);
    is_exactly(&a, 1);
}
END_TEST

START_TEST(powers)
{
    static const struct {
        double x;
        int64_t num, den;
        double want; /* NAN: not dyadic, must keep a radius */
    } cases[] = {
        {65536, 1, 4, 16},   {65536, -3, 4, 0x1p-12}, {10000, 1, 2, 100},
        {10000, 2, 4, 100},  {10000, 0, 7, 1},        {10000, -1, -4, 10},
        {0.25, 3, -2, 8},    {1, 12345, 678, 1},      {2, 200, 2, 0x1p100},
        {1e12, 1, 12, 10},   {10000, -1, 2, (double)NAN},
        {10000, 1, 3, (double)NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct posref_ball x = ball(cases[i].x);
        ck_assert(posref_ball_pow_ratio(&x, &x, cases[i].num, cases[i].den, 128));
        if (isnan(cases[i].want))
            ck_assert_uint_ne(x.rad_man, 0);
        else
            is_exactly(&x, cases[i].want);
    }
    double hundredth = 0;
    struct posref_ball x = ball(10000);
    ck_assert(posref_ball_pow_ratio(&x, &x, -1, 2, 128));
    ck_assert(posref_ball_round(&hundredth, &x));
    ck_assert(hundredth == 0.01);
}
END_TEST

START_TEST(quarter_turns)
{
    static const double turns[] = {0, 0.25, 0.5, 0.75, 1, -0.25, -0.5, 1048576.75, 0x1p80, -0x1p52};
    static const int quarter[] = {0, 1, 2, 3, 0, 3, 2, 3, 0, 0};
    static const double cosine[] = {1, 0, -1, 0};
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        struct posref_ball t = ball(turns[i]);
        struct posref_ball c;
        posref_ball_cos_sin_turns(&c, &t, &t, 128);
        is_exactly(&c, cosine[quarter[i]]);
        is_exactly(&t, cosine[(quarter[i] + 3) & 3]);
    }
    struct posref_ball wide = with_radius(0.125, 2);
    struct posref_ball c;
    posref_ball_cos_sin_turns(&c, &wide, &wide, 64);
    struct posref_ball two = ball(2);
    ck_assert_int_eq(posref_ball_compare(&c, &two), -1); /* useful even so */
}
END_TEST

START_TEST(domains)
{
    struct posref_ball out;
    struct posref_ball zero = ball(0);
    struct posref_ball one = ball(1);
    struct posref_ball minus = ball(-1);
    struct posref_ball straddling = with_radius(1, 0);
    ck_assert(!posref_ball_div(&out, &one, &zero, 64));
    ck_assert(!posref_ball_div(&out, &one, &straddling, 64));
    ck_assert(!posref_ball_log(&out, &zero, 64));
    ck_assert(!posref_ball_log(&out, &minus, 64));
    ck_assert(!posref_ball_log(&out, &straddling, 64));
    ck_assert(!posref_ball_sqrt(&out, &minus, 64));
    ck_assert(posref_ball_sqrt(&out, &zero, 64));
    ck_assert(!posref_ball_pow_ratio(&out, &minus, 1, 2, 64));
    ck_assert(!posref_ball_pow_ratio(&out, &one, 1, 0, 64));
    double x = 0;
    struct posref_ball huge = ball(1e300);
    posref_ball_exp(&out, &huge, 64); /* beyond every exponent: says nothing, but says so */
    ck_assert(!posref_ball_round(&x, &out));
    huge = ball(-1e300);
    posref_ball_exp(&out, &huge, 64);
    ck_assert_int_eq(posref_ball_compare(&out, &one), -1);
}
END_TEST

START_TEST(order)
{
    struct posref_ball one = ball(1);
    struct posref_ball near = with_radius(1, -200);
    struct posref_ball above = pow2(-199);
    posref_ball_add(&above, &above, &one, 512);
    ck_assert_int_eq(posref_ball_compare(&one, &one), 0);
    ck_assert_int_eq(posref_ball_compare(&one, &near), 2);
    ck_assert_int_eq(posref_ball_compare(&near, &near), 2); /* members are independent */
    ck_assert_int_eq(posref_ball_compare(&near, &above), -1);
    ck_assert_int_eq(posref_ball_compare(&above, &near), 1);
}
END_TEST

START_TEST(floors)
{
    static const struct {
        double mid;
        int64_t rad_exponent; /* 1: exact */
        bool decided;
        int64_t want;
    } cases[] = {
        {2.5, 1, true, 2},   {-2.5, 1, true, -3}, {3, 1, true, 3},   {-3, 1, true, -3},
        {0, 1, true, 0},     {0.75, 1, true, 0},  {-0.75, 1, true, -1}, {3, -100, false, 0},
        {2.5, -2, true, 2},  {2.5, -1, false, 0}, {-2.5, -2, true, -3}, {0, -100, false, 0},
        {1e17, 1, true, 100000000000000000}, {1e300, 1, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct posref_ball a = ball(cases[i].mid);
        if (cases[i].rad_exponent != 1)
            a = with_radius(cases[i].mid, cases[i].rad_exponent);
        int64_t n = 0;
        ck_assert_msg(posref_ball_floor(&n, &a) == cases[i].decided, "case %zu", i);
        ck_assert_int_eq(n, cases[i].want);
    }
}
END_TEST

START_TEST(rounding)
{
    double x = 1;
    struct posref_ball a;
    struct posref_ball b = pow2(-53);
    struct posref_ball one = ball(1);
    posref_ball_add(&a, &one, &b, 128); /* a tie: to even */
    ck_assert(posref_ball_round(&x, &a) && x == 1);
    b = pow2(-900);
    posref_ball_add(&b, &b, &a, 1024);
    ck_assert(posref_ball_round(&x, &b) && x == 0x1.0000000000001p0);
    a.rad_man = 1; /* a tie, give or take: never decided */
    a.rad_exponent = -2000;
    ck_assert(!posref_ball_round(&x, &a));
    a = with_radius(1, -53);
    ck_assert(!posref_ball_round(&x, &a)); /* below 1 the cell is half as wide */
    a = with_radius(1, -55);
    ck_assert(posref_ball_round(&x, &a) && x == 1);
    a = pow2(-1075); /* half the smallest subnormal */
    ck_assert(posref_ball_round(&x, &a) && x == 0 && !signbit(x));
    posref_ball_neg(&a, &a);
    ck_assert(posref_ball_round(&x, &a) && x == 0 && signbit(x));
    a = ball(0x1.8p-1074 / 1);
    ck_assert(posref_ball_round(&x, &a) && x == 0x1p-1073); /* the compiler rounded 1.5 to 2 */
    a = pow2(1024);
    ck_assert(posref_ball_round(&x, &a) && isinf(x) && x > 0);
    b = pow2(970); /* half an ulp of the largest double */
    posref_ball_sub(&a, &a, &b, 128);
    ck_assert(posref_ball_round(&x, &a) && isinf(x));
    b = pow2(0);
    posref_ball_sub(&a, &a, &b, 1100);
    ck_assert(posref_ball_round(&x, &a) && x == 0x1.fffffffffffffp1023);
    a = with_radius(0, -2000);
    ck_assert(!posref_ball_round(&x, &a)); /* its sign is open */
    a = ball(-0.0);
    ck_assert(posref_ball_round(&x, &a) && x == 0 && !signbit(x));
}
END_TEST

/* Whether every member of |a| lies strictly between x and the middle to its neighbour y. */
static bool on_this_side(const struct posref_ball *a, double x, double y)
{
    struct posref_ball edge = ball(x), other = ball(y);
    posref_ball_add(&edge, &edge, &other, 128);
    posref_ball_scale2(&edge, &edge, -1);
    return posref_ball_compare(a, &edge) == (y > x ? -1 : 1);
}

/* A ball is rounded exactly when all of it lies between the middles around one double. */
static bool round_as_defined(const struct posref_ball *a)
{
    struct posref_ball mid = *a, size = *a;
    double x, nearest;
    mid.rad_man = 0;
    size.sign = 1;
    mid.sign = 1;
    ck_assert(posref_ball_round(&nearest, &mid));
    bool decided = on_this_side(&size, nearest, nextafter(nearest, HUGE_VAL)) &&
                   on_this_side(&size, nearest, nextafter(nearest, 0));
    ck_assert_int_eq(posref_ball_round(&x, a), decided);
    if (decided)
        ck_assert(x == a->sign * nearest);
    return decided;
}

START_TEST(rounding_beside_ties)
{
    static const double starts[] = {1, 0x1.0000000000001p0, 0x1.fffffffffffffp0, 1.5,
                                    0x1.23456789abcdep-1000, 0x1.fffffffffffffp1021, 0x1p-1022};
    static const int64_t radius[] = {50, 54, 56, 60, 67,  68,  70,  72,
                                     75, 78, 80, 90, 120, 128, 140, 250};
    int n_decided = 0, n = 0;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        for (int by = -4; by <= 4; by++) /* quarters of a unit */
            for (int64_t depth = 54; depth < 200; depth++)
                for (size_t k = 0; k < sizeof radius / sizeof *radius; k++, n++) {
                    struct posref_ball a = ball(starts[i]), t = ball(by);
                    int e;
                    frexp(starts[i], &e);
                    posref_ball_scale2(&t, &t, e - 55);
                    posref_ball_add(&a, &a, &t, 400);
                    t = pow2(e - depth);
                    if (k % 2)
                        posref_ball_neg(&t, &t);
                    posref_ball_add(&a, &a, &t, 400);
                    a.rad_man = 1 + (uint64_t)(depth * 1234567 % 4294967295);
                    a.rad_exponent = e - radius[k] - 32;
                    a.sign = depth % 2 ? 1 : -1;
                    n_decided += round_as_defined(&a);
                }
    ck_assert_int_gt(n_decided, n / 3);
    ck_assert_int_gt(n - n_decided, n / 20);
}
END_TEST

/* 1 + 2^-53 + 2^-depth to prec bits: the depth decides the precision that is needed. */
static enum posref_status near_tie(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    int64_t depth = *(const int64_t *)ctx;
    struct posref_ball t = pow2(-53);
    *out = ball(1);
    posref_ball_add(out, out, &t, prec_bits);
    t = pow2(-depth);
    posref_ball_add(out, out, &t, prec_bits);
    if (depth > 5000) { /* an exact tie that is never recognised as one */
        out->rad_man = 1;
        out->rad_exponent = -(int64_t)prec_bits;
    }
    return POSREF_OK;
}

START_TEST(deciding)
{
    double x = 0;
    for (int64_t depth = 60; depth < 4000; depth += 97) {
        ck_assert_int_eq(posref_ball_decide(&x, near_tie, &depth), POSREF_OK);
        ck_assert(x == 0x1.0000000000001p0);
    }
    int64_t never = 6000;
    ck_assert_int_eq(posref_ball_decide(&x, near_tie, &never), POSREF_INTERNAL);
}
END_TEST

/* sum of sign * 1 / ((2i+1) k^(2i+1)): atan(1/k) or atanh(1/k). */
static void inverse_tangent(struct posref_ball *out, uint64_t k, bool hyperbolic, unsigned prec)
{
    struct posref_ball power = ball(1);
    struct posref_ball term;
    posref_ball_div_small(&power, &power, k, prec);
    posref_ball_set(out, &power);
    for (uint64_t i = 3; power.exponent > -(int64_t)prec; i += 2) {
        posref_ball_div_small(&power, &power, k * k, prec);
        if (!hyperbolic)
            posref_ball_neg(&power, &power);
        posref_ball_div_small(&term, &power, i, prec);
        posref_ball_add(out, out, &term, prec);
    }
    ball_add_radius(out, ball_upper(&power));
}

static void weighted(struct posref_ball *sum, uint64_t k, bool hyperbolic, int64_t weight)
{
    const unsigned prec = POSREF_BALL_MAX_BITS + 128;
    struct posref_ball t;
    struct posref_ball w;
    inverse_tangent(&t, k, hyperbolic, prec);
    posref_ball_set_int(&w, weight);
    posref_ball_mul(&t, &t, &w, prec);
    posref_ball_add(sum, sum, &t, prec);
}

/* The stored constant lies within 2^-4100 of the series, whose own radius is as small. */
static void agrees(const struct posref_ball *stored, const struct posref_ball *series)
{
    struct posref_ball d;
    struct posref_ball limit = pow2(-4100);
    posref_ball_sub(&d, stored, series, POSREF_BALL_MAX_BITS + 128);
    ck_assert_int_eq(posref_ball_compare(&d, &limit), -1);
    posref_ball_neg(&d, &d);
    ck_assert_int_eq(posref_ball_compare(&d, &limit), -1);
}

START_TEST(constants)
{
    struct posref_ball series = ball(0);
    struct posref_ball stored;
    /* Machin-like formulas other than those that made the table. */
    weighted(&series, 18, false, 48);
    weighted(&series, 57, false, 32);
    weighted(&series, 239, false, -20);
    posref_ball_pi(&stored, POSREF_BALL_MAX_BITS + 128);
    agrees(&stored, &series);
    series = ball(0);
    weighted(&series, 31, true, 14);
    weighted(&series, 49, true, 10);
    weighted(&series, 161, true, 6);
    posref_ball_ln2(&stored, POSREF_BALL_MAX_BITS + 128);
    agrees(&stored, &series);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ball");
    TCase *tcase = tcase_create("ball");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, exact_stays_exact);
    tcase_add_test(tcase, powers);
    tcase_add_test(tcase, quarter_turns);
    tcase_add_test(tcase, domains);
    tcase_add_test(tcase, order);
    tcase_add_test(tcase, floors);
    tcase_add_test(tcase, rounding);
    tcase_add_test(tcase, rounding_beside_ties);
    tcase_add_test(tcase, deciding);
    tcase_add_test(tcase, constants);
    return run_suite(suite);
}
