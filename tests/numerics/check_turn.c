/* SPDX-License-Identifier: Apache-2.0 */
/* Turns compared with MPFR: cosine and sine from the formula base^(-2i/d) * position at 500 bits
 * against the double-double phase (its bound must hold, and the worst error / bound is printed),
 * the bulk function (correctly rounded or undecided) and the rotation of a pair.
 * usage: check_turn [rounds] [seed] */
#include "reference/turn.h"
#include "tests/numerics/random.h"

#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BITS 500
#define BATCH 64

static long failures;
static long checks;
static double worst_dd, worst_magnitude, worst_rotate; /* error / bound */
static long undecided_dd, undecided_bulk, undecided_rotate;
static long rotations;

static void fail(const char *what, double position, double got, double want)
{
    if (failures++ < 20)
        printf("%s: position %.17g got %a want %a\n", what, position, got, want);
}

/* |want - (hi + lo)| / err */
static double error_ratio(const struct posref_dd *got, const mpfr_t want)
{
    mpfr_t t;
    mpfr_init2(t, BITS + 100);
    mpfr_sub_d(t, want, got->hi, MPFR_RNDN);
    mpfr_sub_d(t, t, got->lo, MPFR_RNDN);
    mpfr_abs(t, t, MPFR_RNDN);
    double ratio = mpfr_zero_p(t) ? 0 : HUGE_VAL;
    if (!mpfr_zero_p(t) && got->err > 0) {
        mpfr_div_d(t, t, got->err, MPFR_RNDN);
        ratio = mpfr_get_d(t, MPFR_RNDU);
    }
    mpfr_clear(t);
    return ratio;
}

static void check_dd(const char *what, const struct posref_dd *got, const mpfr_t want,
                     double position, double *worst)
{
    checks++;
    if (isinf(got->err))
        return;
    double ratio = error_ratio(got, want);
    if (ratio > *worst)
        *worst = ratio;
    if (!(ratio <= 1))
        fail(what, position, got->hi, mpfr_get_d(want, MPFR_RNDN));
    double rounded = 0;
    if (!posref_dd_round(&rounded, got))
        undecided_dd++;
    else if (rounded != mpfr_get_d(want, MPFR_RNDN))
        fail("rounded dd", position, rounded, mpfr_get_d(want, MPFR_RNDN));
}

static double random_operand(void)
{
    switch (next_random() % 6) {
    case 0:
        return 0;
    case 1: /* few bits, as suites have */
        return ldexp((double)random_between(-128, 128), (int)random_between(-8, 8));
    case 2: /* anything finite */
        return ldexp((double)random_between(-(1 << 30), 1 << 30), (int)random_between(-1074, 990));
    default:
        return ldexp((double)(int64_t)next_random(), (int)random_between(-70, -60));
    }
}

static void check_rotation(const struct posref_dd *c, const struct posref_dd *s,
                           const mpfr_t cosine, const mpfr_t sine, double position)
{
    struct posref_dd y[2];
    double x1 = random_operand();
    double x2 = random_operand();
    mpfr_t want;
    mpfr_t t;
    mpfr_inits2(BITS + 1200, want, t, (mpfr_ptr)0);
    posref_dd_rotate(&y[0], &y[1], c, s, x1, x2);
    for (int k = 0; k < 2; k++) {
        rotations++;
        mpfr_mul_d(want, cosine, k ? x2 : x1, MPFR_RNDN);
        mpfr_mul_d(t, sine, k ? x1 : -x2, MPFR_RNDN);
        mpfr_add(want, want, t, MPFR_RNDN);
        if (isinf(y[k].err)) {
            undecided_rotate++;
            continue;
        }
        double ratio = error_ratio(&y[k], want);
        if (ratio > worst_rotate)
            worst_rotate = ratio;
        if (!(ratio <= 1))
            fail("rotate", position, y[k].hi, mpfr_get_d(want, MPFR_RNDN));
        double rounded = 0;
        if (!posref_dd_round(&rounded, &y[k]))
            undecided_rotate++;
        else if (rounded != mpfr_get_d(want, MPFR_RNDN))
            fail("rounded rotate", position, rounded, mpfr_get_d(want, MPFR_RNDN));
    }
    mpfr_clears(want, t, (mpfr_ptr)0);
}

static const double bases[] = {10000, 500000, 1e6, 150000, 1e12, 1.0000000000000002, 1.5, 4, 256};

struct setup {
    double base;
    int num, den; /* theta = base^(-num/den) */
    struct posref_turn turn;
    struct posref_magnitude mag;
    double factor; /* the magnitude as sqrt of this */
    mpfr_t theta;
    mpfr_t factor_root;
};

static void set_up(struct setup *u)
{
    struct posref_ball theta;
    struct posref_ball t;
    u->base = bases[next_random() % (sizeof bases / sizeof bases[0])];
    u->den = (int)random_between(1, 256);
    u->num = (int)random_between(0, u->den);
    posref_ball_set_double(&t, u->base);
    (void)posref_ball_pow_ratio(&theta, &t, -u->num, u->den, 256);
    posref_ball_pi(&t, 256);
    posref_ball_scale2(&t, &t, 1);
    (void)posref_ball_div(&theta, &theta, &t, 256);
    if (!posref_turn_from_ball(&u->turn, &theta)) {
        fail("turn_from_ball", 0, u->base, 0);
        exit(1);
    }
    mpfr_init2(u->theta, BITS);
    mpfr_set_d(u->theta, u->base, MPFR_RNDN);
    mpfr_log(u->theta, u->theta, MPFR_RNDN);
    mpfr_mul_si(u->theta, u->theta, -u->num, MPFR_RNDN);
    mpfr_div_si(u->theta, u->theta, u->den, MPFR_RNDN);
    mpfr_exp(u->theta, u->theta, MPFR_RNDN);
    /* A magnitude of about 106 bits. */
    mpfr_init2(u->factor_root, BITS);
    mpfr_set_d(u->factor_root, 1 + 0x1p-63 * (double)next_random(), MPFR_RNDN);
    mpfr_sqrt(u->factor_root, u->factor_root, MPFR_RNDN);
    u->mag.hi = mpfr_get_d(u->factor_root, MPFR_RNDN);
    mpfr_t rest;
    mpfr_init2(rest, BITS);
    mpfr_sub_d(rest, u->factor_root, u->mag.hi, MPFR_RNDN);
    u->mag.lo = mpfr_get_d(rest, MPFR_RNDN);
    u->mag.is_one = false;
    u->mag.is_exact = false;
    mpfr_clear(rest);
}

static double random_position(void)
{
    static const double limits[] = {16, 4096, 1048576, 1e7, POSREF_MAX_POSITION};
    double limit = limits[next_random() % 5];
    double p = (double)random_between(0, (int64_t)limit);
    switch (next_random() % 16) {
    case 0:
        return POSREF_MAX_POSITION - (double)random_between(0, 3);
    case 1: /* fractional */
        return ldexp((double)(int64_t)(next_random() >> 11), (int)random_between(-80, -23));
    case 2:
        return (p + 0.25) * 0.5;
    default:
        return next_random() & 1 ? p : -p;
    }
}

static void check_setup(void)
{
    struct setup u;
    double positions[BATCH];
    double c[BATCH];
    double s[BATCH];
    bool undecided[BATCH];
    const struct posref_magnitude one = {1, 0, true, true};
    mpfr_t angle;
    mpfr_t cosine;
    mpfr_t sine;
    mpfr_t scaled;
    mpfr_inits2(BITS, angle, cosine, sine, scaled, (mpfr_ptr)0);
    set_up(&u);
    for (int k = 0; k < BATCH; k++)
        positions[k] = random_position();
    undecided_bulk += (long)posref_turn_cos_sin(c, s, undecided, &u.turn, positions, BATCH);
    for (int k = 0; k < BATCH; k++) {
        struct posref_dd cd;
        struct posref_dd sd;
        mpfr_mul_d(angle, u.theta, positions[k], MPFR_RNDN);
        mpfr_sin_cos(sine, cosine, angle, MPFR_RNDN);
        if (!undecided[k]) {
            checks += 2;
            if (c[k] != mpfr_get_d(cosine, MPFR_RNDN))
                fail("cos", positions[k], c[k], mpfr_get_d(cosine, MPFR_RNDN));
            if (s[k] != mpfr_get_d(sine, MPFR_RNDN))
                fail("sin", positions[k], s[k], mpfr_get_d(sine, MPFR_RNDN));
        }
        posref_turn_cos_sin_dd(&cd, &sd, &u.turn, &one, positions[k]);
        check_dd("cos dd", &cd, cosine, positions[k], &worst_dd);
        check_dd("sin dd", &sd, sine, positions[k], &worst_dd);
        check_rotation(&cd, &sd, cosine, sine, positions[k]);
        posref_turn_cos_sin_dd(&cd, &sd, &u.turn, &u.mag, positions[k]);
        mpfr_mul(cosine, cosine, u.factor_root, MPFR_RNDN);
        mpfr_mul(sine, sine, u.factor_root, MPFR_RNDN);
        check_dd("magnitude * cos", &cd, cosine, positions[k], &worst_magnitude);
        check_dd("magnitude * sin", &sd, sine, positions[k], &worst_magnitude);
        check_rotation(&cd, &sd, cosine, sine, positions[k]);
    }
    mpfr_clears(angle, cosine, sine, scaled, u.theta, u.factor_root, (mpfr_ptr)0);
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 0);
    if (end == text || *end) {
        fprintf(stderr, "check_turn: not a number: %s\n", text);
        exit(2);
    }
    return n;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? number(argv[1]) : 1000;
    state = argc > 2 ? number(argv[2]) : 20261129;
    long positions = (long)rounds * BATCH;
    printf("check_turn: %llu rounds of %d positions, seed %llu\n", (unsigned long long)rounds,
           BATCH, (unsigned long long)state);
    for (uint64_t i = 0; i < rounds; i++)
        check_setup();
    printf("check_turn: %ld comparisons, %ld failures\n", checks + rotations, failures);
    printf("check_turn: worst error / bound: dd %.3f, with magnitude %.3f, rotation %.3f\n",
           worst_dd, worst_magnitude, worst_rotate);
    printf("check_turn: undecided: bulk %ld of %ld, dd %ld of %ld, rotation %ld of %ld (a sixth of "
           "the\noperands are extreme)\n", undecided_bulk, positions, undecided_dd, positions * 4,
           undecided_rotate, rotations);
    return failures != 0;
}
