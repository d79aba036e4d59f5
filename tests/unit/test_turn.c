/* SPDX-License-Identifier: Apache-2.0 */
/* Turns: exact cases, the bound against balls, the slow paths forced, and one checksum that every
 * compiler and machine must reproduce. tests/numerics/check_turn compares with MPFR. */
#include "reference/turn_impl.h"
#include "tests/unit/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static const struct posref_magnitude one = {1, 0, true, true};
static uint64_t state;

static uint64_t next_random(void)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* base^(-num/den) / 2pi */
static void frequency(struct posref_ball *out, double base, int num, int den, unsigned prec)
{
    struct posref_ball pi;
    posref_ball_set_double(out, base);
    ck_assert(posref_ball_pow_ratio(out, out, -num, den, prec));
    posref_ball_pi(&pi, prec);
    posref_ball_scale2(&pi, &pi, 1);
    ck_assert(posref_ball_div(out, out, &pi, prec));
}

static struct posref_turn turn_of(double base, int num, int den)
{
    struct posref_ball t;
    struct posref_turn out = {.is_zero = true};
    frequency(&t, base, num, den, 256);
    ck_assert(posref_turn_from_ball(&out, &t));
    return out;
}

static double random_position(double limit)
{
    double p = floor((double)(next_random() >> 11) * 0x1p-53 * (limit + 1));
    return next_random() & 1 ? p : -p;
}

/* cos and sin of position * frequency, from the frequency's ball. */
static void by_ball(struct posref_ball *c, struct posref_ball *s, const struct posref_ball *freq,
                    double position, unsigned prec)
{
    struct posref_ball t;
    posref_ball_set_double(&t, position);
    posref_ball_mul(&t, &t, freq, prec);
    posref_ball_cos_sin_turns(c, s, &t, prec);
}

START_TEST(making_turns)
{
    struct posref_turn t;
    struct posref_ball b;
    posref_ball_set_int(&b, 0);
    ck_assert(posref_turn_from_ball(&t, &b));
    ck_assert(t.is_zero);
    posref_ball_set_double(&b, 0.375);
    ck_assert(posref_turn_from_ball(&t, &b));
    ck_assert(!t.is_zero && t.limb[2] == (uint64_t)3 << 62 && t.limb[1] == 0 && t.limb[0] == 0);
    ck_assert_int_eq(t.exponent, -1 - 192);
    b.rad_man = 1;
    b.rad_exponent = -193; /* one unit */
    ck_assert(posref_turn_from_ball(&t, &b));
    b.rad_exponent = -192;
    ck_assert(!posref_turn_from_ball(&t, &b));
    posref_ball_set_double(&b, -1);
    ck_assert(!posref_turn_from_ball(&t, &b));
}
END_TEST

START_TEST(no_angle_is_exact)
{
    const struct posref_magnitude factor = {1.25, 0, false, true};
    const struct posref_magnitude inexact = {1.25, 0x1p-60, false, false};
    struct posref_turn t = turn_of(10000, 1, 4);
    struct posref_turn zero = {.is_zero = true};
    struct posref_dd c;
    struct posref_dd s;
    posref_turn_cos_sin_dd(&c, &s, &t, &one, -0.0);
    ck_assert(c.hi == 1 && c.lo == 0 && c.err == 0);
    ck_assert(s.hi == 0 && !signbit(s.hi) && s.err == 0);
    posref_turn_cos_sin_dd(&c, &s, &zero, &factor, 77);
    ck_assert(c.hi == 1.25 && c.err == 0 && s.hi == 0 && s.err == 0);
    posref_turn_cos_sin_dd(&c, &s, &t, &inexact, 0);
    ck_assert(c.err > 0 && s.err == 0);
    static const double positions[] = {0, -0.0, 1};
    double cs[3];
    double sn[3];
    bool undecided[3];
    ck_assert_uint_eq(posref_turn_cos_sin(cs, sn, undecided, &t, positions, 3), 0);
    ck_assert(cs[0] == 1 && cs[1] == 1 && sn[0] == 0 && sn[1] == 0);
    ck_assert(!signbit(sn[0]) && !signbit(sn[1]) && sn[2] > 0);
    ck_assert_uint_eq(posref_turn_cos_sin(cs, sn, undecided, &zero, positions, 3), 0);
    ck_assert(cs[2] == 1 && sn[2] == 0);
}
END_TEST

static const struct {
    double base;
    int num, den;
} frequencies[] = {
    {10000, 0, 1},  {10000, 1, 2},    {10000, 63, 64},  {500000, 7, 48}, {1e12, 1, 1},
    {1e6, 95, 96},  {1.0000000000000002, 3, 4}, {150000, 11, 40}, {2, 9, 2}, {256, 3, 8},
};
#define N_FREQUENCIES ((int)(sizeof frequencies / sizeof frequencies[0]))

/* |value - ball| / err, from a ball far narrower than err. */
static double error_ratio(const struct posref_dd *value, const struct posref_ball *want)
{
    struct posref_ball d;
    struct posref_ball t;
    double x = 0;
    posref_ball_set_double(&t, value->hi);
    posref_ball_sub(&d, want, &t, 400);
    posref_ball_set_double(&t, value->lo);
    posref_ball_sub(&d, &d, &t, 400);
    d.rad_man = 0;
    ck_assert(posref_ball_round(&x, &d));
    return fabs(x) / value->err;
}

/* The bound holds, and is not so wide that it says nothing. */
START_TEST(bound_against_balls)
{
    double worst = 0;
    double worst_rotate = 0;
    state = 3;
    for (int i = 0; i < 4000; i++) {
        static const double limits[] = {16, 4096, 1e7, POSREF_MAX_POSITION};
        int f = i % N_FREQUENCIES;
        struct posref_ball freq;
        struct posref_ball c;
        struct posref_ball s;
        struct posref_turn t;
        frequency(&freq, frequencies[f].base, frequencies[f].num, frequencies[f].den, 320);
        ck_assert(posref_turn_from_ball(&t, &freq));
        double position = random_position(limits[i & 3]);
        if (position == 0)
            continue;
        struct posref_dd v[2];
        by_ball(&c, &s, &freq, position, 320);
        posref_turn_cos_sin_dd(&v[0], &v[1], &t, &one, position);
        worst = fmax(worst, fmax(error_ratio(&v[0], &c), error_ratio(&v[1], &s)));
        double x1 = (double)(int64_t)next_random() * 0x1p-60;
        double x2 = (double)(int64_t)next_random() * 0x1p-60;
        struct posref_dd y[2];
        posref_dd_rotate(&y[0], &y[1], &v[0], &v[1], x1, x2);
        struct posref_ball b;
        struct posref_ball want;
        posref_ball_set_double(&b, x1);
        posref_ball_mul(&want, &c, &b, 400);
        posref_ball_set_double(&b, x2);
        posref_ball_mul(&b, &s, &b, 400);
        posref_ball_sub(&want, &want, &b, 400);
        worst_rotate = fmax(worst_rotate, error_ratio(&y[0], &want));
    }
    ck_assert_msg(worst <= 1, "dd: worst error / bound %g", worst);
    ck_assert_msg(worst > 0.05, "dd: the bound is loose: worst error / bound %g", worst);
    ck_assert_msg(worst_rotate <= 1, "rotation: worst error / bound %g", worst_rotate);
    ck_assert_msg(worst_rotate > 0.02, "rotation: loose bound, %g", worst_rotate);
}
END_TEST

struct cos_of_turn {
    const struct posref_ball *turns;
    bool sine;
};

static enum posref_status cos_sin_fn(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct cos_of_turn *q = ctx;
    struct posref_ball c;
    struct posref_ball s;
    posref_ball_cos_sin_turns(&c, &s, q->turns, prec_bits);
    posref_ball_set(out, q->sine ? &s : &c);
    return POSREF_OK;
}

static double decided(const struct posref_ball *turns, bool sine)
{
    struct cos_of_turn q = {turns, sine};
    double x = 0;
    ck_assert_int_eq(posref_ball_decide(&x, cos_sin_fn, &q), POSREF_OK);
    return x;
}

/* What the quick phase leaves: it does leave some, and the bulk function has them right. */
START_TEST(slow_path_after_the_quick_phase)
{
    int left = 0;
    int quick = 0;
    for (int f = 0; f < N_FREQUENCIES; f++) {
        struct posref_ball freq;
        struct posref_turn t = turn_of(frequencies[f].base, frequencies[f].num, frequencies[f].den);
        frequency(&freq, frequencies[f].base, frequencies[f].num, frequencies[f].den, 320);
        for (int p = 1; p < 20000; p++) {
            double position = p * 1009.0;
            double c = 0;
            double s = 0;
            bool undecided;
            if (posref_turn_quick(&c, &s, &t, position)) {
                quick++;
                continue;
            }
            left++;
            ck_assert_uint_eq(posref_turn_cos_sin(&c, &s, &undecided, &t, &position, 1), 0);
            struct posref_ball turns;
            posref_ball_set_double(&turns, position);
            posref_ball_mul(&turns, &turns, &freq, 320);
            ck_assert(c == decided(&turns, false));
            ck_assert(s == decided(&turns, true));
        }
    }
    ck_assert_int_gt(left, 20);
    ck_assert_int_gt(quick, 500 * left); /* and it is rare */
}
END_TEST

/* A frequency whose cosine at position 1 is the middle between two doubles, to 2^-250: Newton's
 * iteration on turns. */
static void turn_at(struct posref_ball *turns, const struct posref_ball *cosine, double start)
{
    const unsigned prec = 400;
    struct posref_ball c;
    struct posref_ball s;
    struct posref_ball pi;
    posref_ball_set_double(turns, start);
    for (int i = 0; i < 12; i++) {
        posref_ball_cos_sin_turns(&c, &s, turns, prec);
        posref_ball_sub(&c, &c, cosine, prec);
        posref_ball_pi(&pi, prec);
        posref_ball_mul(&s, &s, &pi, prec);
        posref_ball_scale2(&s, &s, 1);
        ck_assert(posref_ball_div(&c, &c, &s, prec));
        posref_ball_add(turns, turns, &c, 256);
        turns->rad_man = 0;
    }
}

/* So near a boundary that the double-double phase cannot decide either: it must say so, and the
 * balls decide, to different sides one unit of the turn apart. */
START_TEST(undecided_goes_to_balls)
{
    for (int k = 1; k < 20; k++) {
        struct posref_ball middle;
        struct posref_ball turns;
        struct posref_ball t;
        double below = 0.04 * k + 0.1;
        double above = nextafter(below, 1);
        posref_ball_set_double(&middle, below);
        posref_ball_set_double(&t, above);
        posref_ball_add(&middle, &middle, &t, 128);
        posref_ball_scale2(&middle, &middle, -1);
        turn_at(&turns, &middle, 0.25 - 0.15 * below);
        struct posref_turn turn;
        ck_assert(posref_turn_from_ball(&turn, &turns));
        double position = 1;
        double c = 0;
        double s = 0;
        bool undecided = false;
        ck_assert(!posref_turn_quick(&c, &s, &turn, position));
        ck_assert_uint_eq(posref_turn_cos_sin(&c, &s, &undecided, &turn, &position, 1), 1);
        ck_assert(undecided);
        struct posref_ball unit;
        posref_ball_set_int(&unit, 1);
        posref_ball_scale2(&unit, &unit, turns.exponent - 190);
        posref_ball_add(&t, &turns, &unit, 512);
        ck_assert(decided(&t, false) == below); /* the cosine falls */
        posref_ball_sub(&t, &turns, &unit, 512);
        ck_assert(decided(&t, false) == above);
    }
}
END_TEST

/* Angles that come back to within 2^-20 to 2^-70 turn of a quarter turn: the small one of sine and
 * cosine needs its bits from far below. */
START_TEST(near_quarter_turns)
{
    state = 9;
    for (int k = 0; k < 3000; k++) {
        struct posref_ball turns;
        struct posref_ball t;
        double position = (double)(2 * (next_random() % 5000) + 7);
        /* (quarters / 4 + r) / position, quarters prime to it more often than not */
        posref_ball_set_double(&turns, 0.25 * (double)(1 + next_random() % 20));
        posref_ball_set_double(&t, (double)(int64_t)next_random());
        posref_ball_scale2(&t, &t, -64 - 20 - k % 50);
        posref_ball_add(&turns, &turns, &t, 256);
        posref_ball_set_double(&t, position);
        ck_assert(posref_ball_div(&turns, &turns, &t, 320));
        struct posref_turn turn;
        ck_assert(posref_turn_from_ball(&turn, &turns));
        double c = 0;
        double s = 0;
        bool undecided = false;
        ck_assert_uint_eq(posref_turn_cos_sin(&c, &s, &undecided, &turn, &position, 1), 0);
        posref_ball_mul(&turns, &turns, &t, 320);
        ck_assert(c == decided(&turns, false));
        ck_assert(s == decided(&turns, true));
    }
}
END_TEST

START_TEST(rounding_test)
{
    static const struct {
        struct posref_dd value;
        bool decides;
        double want;
    } cases[] = {
        {{1, 0x1p-53, 0}, true, 1}, /* exact tie: to even */
        {{0x1.0000000000001p0, 0x1p-53, 0}, true, 0x1.0000000000002p0},
        {{1, 0x1p-53 + 0x1p-100, 0}, true, 0x1.0000000000001p0},
        {{1, 0x1p-53, 0x1p-105}, false, 0},
        {{1, 0x1p-53 + 0x1p-100, 0x1p-105}, true, 0x1.0000000000001p0},
        {{1, 0x1p-53 - 0x1p-100, 0x1p-105}, true, 1},
        {{1, 0x1p-53 + 0x1p-104, 0x1p-104}, false, 0},
        {{1, 0x1p-53 - 0x1p-104, 0x1p-104}, false, 0},
        {{1, -0x1p-54, 0x1p-105}, false, 0}, /* below a power of two the cell is narrower */
        {{1, -0x1p-54 + 0x1p-100, 0x1p-105}, true, 1},
        {{-1, -0x1p-53 - 0x1p-100, 0x1p-105}, true, -0x1.0000000000001p0},
        {{0, 0, 0x1p-300}, false, 0},
        {{1, 0, HUGE_VAL}, false, 0},
        {{1, 0, (double)NAN}, false, 0},
        {{0x1p-1000, 0, 0x1p-1060}, false, 0}, /* too near the subnormals */
        {{-0.0, 0, 0}, true, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double got = 0;
        ck_assert_msg(posref_dd_round(&got, &cases[i].value) == cases[i].decides, "case %zu", i);
        ck_assert_msg(got == cases[i].want, "case %zu: %a", i, got);
    }
}
END_TEST

START_TEST(rotations)
{
    const struct posref_dd zero = {0, 0, 0};
    struct posref_dd y1;
    struct posref_dd y2;
    double got = 0;
    /* At position 0 a factor given as a double makes exact products, ties included. */
    for (int k = 0; k < 2000; k++) {
        double factor = 1 + (double)(next_random() >> 12) * 0x1p-52;
        double x = k & 1 ? (double)(k + 1) : (double)(int64_t)next_random();
        const struct posref_dd c = {factor, 0, 0};
        posref_dd_rotate(&y1, &y2, &c, &zero, x, 3);
        ck_assert(y1.err == 0 && y2.err == 0);
        ck_assert(posref_dd_round(&got, &y1) && got == x * factor);
        ck_assert(posref_dd_round(&got, &y2) && got == 3 * factor);
    }
    struct posref_turn t = turn_of(10000, 1, 4);
    struct posref_dd c;
    struct posref_dd s;
    posref_turn_cos_sin_dd(&c, &s, &t, &one, 5);
    posref_dd_rotate(&y1, &y2, &c, &s, 0, 0);
    ck_assert(posref_dd_round(&got, &y1) && got == 0 && !signbit(got));
    posref_dd_rotate(&y1, &y2, &c, &s, -0.0, 0.0); /* -0 c - 0 s: every term -0 */
    ck_assert(posref_dd_round(&got, &y1) && got == 0 && signbit(got));
    ck_assert(posref_dd_round(&got, &y2) && got == 0 && !signbit(got));
    /* Where the error-free product does not hold, nothing is claimed. */
    static const double extremes[] = {0x1p-1074, 1e-300, 1e308, -0x1.fffffffffffffp1023};
    for (int k = 0; k < 4; k++) {
        posref_dd_rotate(&y1, &y2, &c, &s, extremes[k], 1);
        ck_assert(!posref_dd_round(&got, &y1) && !posref_dd_round(&got, &y2));
        posref_dd_rotate(&y1, &y2, &c, &s, 1, extremes[k]);
        ck_assert(!posref_dd_round(&got, &y1) && !posref_dd_round(&got, &y2));
    }
    const struct posref_dd open = {0, 0, HUGE_VAL};
    posref_dd_rotate(&y1, &y2, &open, &s, 1, 1);
    ck_assert(!posref_dd_round(&got, &y1) && !posref_dd_round(&got, &y2));
    posref_dd_rotate(&y1, &y2, &open, &open, 0, 1);
    ck_assert(!posref_dd_round(&got, &y1) && !posref_dd_round(&got, &y2));
}
END_TEST

START_TEST(extreme_arguments)
{
    struct posref_turn t = turn_of(10000, 1, 4);
    static const double bad[] = {HUGE_VAL, -HUGE_VAL, (double)NAN, 0x1p-1074, 1e300};
    struct posref_dd c;
    struct posref_dd s;
    double got;
    for (int k = 0; k < 5; k++) {
        posref_turn_cos_sin_dd(&c, &s, &t, &one, bad[k]);
        ck_assert(!posref_dd_round(&got, &c));
        ck_assert(!posref_dd_round(&got, &s));
        bool undecided = false;
        double x[2];
        ck_assert_uint_eq(posref_turn_cos_sin(&x[0], &x[1], &undecided, &t, &bad[k], 1), 1);
        ck_assert(undecided);
    }
}
END_TEST

static void mix(uint64_t *hash, double x)
{
    uint64_t bits = double_bits(x);
    for (int i = 0; i < 8; i++) {
        *hash ^= bits >> (8 * i) & 0xff;
        *hash *= 0x100000001b3u;
    }
}

/* FNV-1a over the bits of double-doubles, bounds and rotations. The constant was computed once; a
 * compiler or target that contracts, widens or reorders anything changes it. */
START_TEST(same_bits_everywhere)
{
    const struct posref_magnitude factor = {1.25, 0x1.23456789abcdep-54, false, false};
    uint64_t hash = 0xcbf29ce484222325u;
    state = 5;
    for (int i = 0; i < 20000; i++) {
        int f = i % N_FREQUENCIES;
        static struct posref_turn turns[N_FREQUENCIES];
        if (i < N_FREQUENCIES)
            turns[f] = turn_of(frequencies[f].base, frequencies[f].num, frequencies[f].den);
        struct posref_dd v[4];
        double position = random_position(POSREF_MAX_POSITION);
        posref_turn_cos_sin_dd(&v[0], &v[1], &turns[f], i & 1 ? &one : &factor, position);
        double x1 = (double)(int64_t)next_random() * 0x1p-60;
        posref_dd_rotate(&v[2], &v[3], &v[0], &v[1], x1, 0.75);
        for (int k = 0; k < 4; k++) {
            mix(&hash, v[k].hi);
            mix(&hash, v[k].lo);
            mix(&hash, v[k].err);
        }
        double c = 0;
        double s = 0;
        if (posref_turn_quick(&c, &s, &turns[f], position)) {
            mix(&hash, c);
            mix(&hash, s);
        }
    }
    ck_assert_uint_eq(hash, 14966057023138652508u);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("turn");
    TCase *tcase = tcase_create("turn");
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, making_turns);
    tcase_add_test(tcase, no_angle_is_exact);
    tcase_add_test(tcase, bound_against_balls);
    tcase_add_test(tcase, slow_path_after_the_quick_phase);
    tcase_add_test(tcase, undecided_goes_to_balls);
    tcase_add_test(tcase, near_quarter_turns);
    tcase_add_test(tcase, rounding_test);
    tcase_add_test(tcase, rotations);
    tcase_add_test(tcase, extreme_arguments);
    tcase_add_test(tcase, same_bits_everywhere);
    return run_suite(suite);
}
