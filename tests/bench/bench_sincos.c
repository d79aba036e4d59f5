/* SPDX-License-Identifier: Apache-2.0 */
/* What a correctly rounded (cos, sin) pair costs: a table of 4096 positions by 64 pairs, ours
 * beside glibc's sincos, SLEEF's 1-ulp and the arbitrary precision of MPFR and Arb, interleaved in
 * one run. glibc and SLEEF get the angle position * theta in double, so their results are not those
 * of the formula; only the time is compared. Prints a table; asserts nothing. */
#include "reference/turn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef HAVE_SLEEF
#include <sleef.h>
#endif
#ifdef HAVE_MPFR
#include <mpfr.h>
#endif
#ifdef HAVE_ARB
#include <arb.h>
#endif

#define POSITIONS 4096
#define PAIRS 64
#define ROUNDS 15
#define SLOW_STRIDE 64 /* the wide libraries see every 64th position */

struct input {
    struct posref_turn turn[PAIRS];
    double theta[PAIRS];
    double position[POSITIONS];
    double c[POSITIONS], s[POSITIONS];
    bool undecided[POSITIONS];
    size_t n_undecided;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double sink; /* keeps results alive */

static void run_ours(struct input *in, int pair)
{
    in->n_undecided += posref_turn_cos_sin(in->c, in->s, in->undecided, &in->turn[pair],
                                           in->position, POSITIONS);
}

static void run_dd(struct input *in, int pair)
{
    const struct posref_magnitude one = {1, 0, true, true};
    for (int k = 0; k < POSITIONS; k++) {
        struct posref_dd c;
        struct posref_dd s;
        posref_turn_cos_sin_dd(&c, &s, &in->turn[pair], &one, in->position[k]);
        in->n_undecided += !posref_dd_round(&in->c[k], &c) || !posref_dd_round(&in->s[k], &s);
    }
}

static void run_glibc(struct input *in, int pair)
{
    for (int k = 0; k < POSITIONS; k++)
        sincos(in->position[k] * in->theta[pair], &in->s[k], &in->c[k]);
}

#ifdef HAVE_SLEEF
static void run_sleef(struct input *in, int pair)
{
    for (int k = 0; k < POSITIONS; k++) {
        Sleef_double2 v = Sleef_sincos_u10(in->position[k] * in->theta[pair]);
        in->s[k] = v.x;
        in->c[k] = v.y;
    }
}
#endif

#ifdef HAVE_MPFR
static void run_mpfr(struct input *in, int pair)
{
    mpfr_t a;
    mpfr_t c;
    mpfr_t s;
    mpfr_init2(a, 160);
    mpfr_inits2(53, c, s, (mpfr_ptr)0);
    for (int k = 0; k < POSITIONS; k += SLOW_STRIDE) {
        mpfr_set_d(a, in->theta[pair], MPFR_RNDN);
        mpfr_mul_d(a, a, in->position[k], MPFR_RNDN);
        mpfr_sin_cos(s, c, a, MPFR_RNDN);
        in->s[k] = mpfr_get_d(s, MPFR_RNDN);
        in->c[k] = mpfr_get_d(c, MPFR_RNDN);
    }
    mpfr_clears(a, c, s, (mpfr_ptr)0);
}
#endif

#ifdef HAVE_ARB
static void run_arb(struct input *in, int pair)
{
    arb_t a;
    arb_t c;
    arb_t s;
    arb_init(a);
    arb_init(c);
    arb_init(s);
    for (int k = 0; k < POSITIONS; k += SLOW_STRIDE) {
        arb_set_d(a, in->theta[pair]);
        arf_t p;
        arf_init(p);
        arf_set_d(p, in->position[k]);
        arb_mul_arf(a, a, p, 160);
        arf_clear(p);
        arb_sin_cos(s, c, a, 128);
        in->s[k] = arf_get_d(arb_midref(s), ARF_RND_NEAR);
        in->c[k] = arf_get_d(arb_midref(c), ARF_RND_NEAR);
    }
    arb_clear(a);
    arb_clear(c);
    arb_clear(s);
}
#endif

struct column {
    const char *name;
    void (*run)(struct input *, int pair);
    int stride;
};

static const struct column columns[] = {
    {"posref", run_ours, 1},
    {"posref dd", run_dd, 1},
    {"glibc", run_glibc, 1},
#ifdef HAVE_SLEEF
    {"SLEEF u10", run_sleef, 1},
#endif
#ifdef HAVE_MPFR
    {"MPFR", run_mpfr, SLOW_STRIDE},
#endif
#ifdef HAVE_ARB
    {"Arb", run_arb, SLOW_STRIDE},
#endif
};
#define COLUMNS ((int)(sizeof columns / sizeof columns[0]))

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct input *in, double limit)
{
    static double ns[COLUMNS][ROUNDS];
    uint64_t state = 20261129;
    for (int k = 0; k < POSITIONS; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        in->position[k] = floor((double)(state >> 11) * 0x1p-53 * limit);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int col = 0; col < COLUMNS; col++) {
            size_t before = in->n_undecided;
            int pairs = columns[col].stride > 1 ? 8 : PAIRS;
            double start = now_s();
            for (int pair = 0; pair < pairs; pair++)
                columns[col].run(in, pair * (PAIRS / pairs));
            double each = POSITIONS / columns[col].stride * (double)pairs;
            ns[col][round] = (now_s() - start) * 1e9 / each;
            sink += in->c[round] + in->s[round];
            if (col > 0)
                in->n_undecided = before;
        }
    printf("%-12.6g", limit);
    for (int col = 0; col < COLUMNS; col++) {
        qsort(ns[col], ROUNDS, sizeof ns[col][0], compare_doubles);
        printf(" %10.1f", ns[col][0]);
    }
    printf("  %6.2f %9.2f\n", ns[0][0] / ns[2][0], ns[0][ROUNDS / 2] / ns[2][ROUNDS / 2]);
}

int main(void)
{
    static struct input in;
    for (int i = 0; i < PAIRS; i++) {
        struct posref_ball t;
        struct posref_ball pi;
        posref_ball_set_int(&t, 10000);
        if (!posref_ball_pow_ratio(&t, &t, -i, PAIRS, 256) || !posref_ball_round(&in.theta[i], &t))
            return 3;
        posref_ball_pi(&pi, 256);
        posref_ball_scale2(&pi, &pi, 1);
        if (!posref_ball_div(&t, &t, &pi, 256) || !posref_turn_from_ball(&in.turn[i], &t))
            return 3;
    }
    printf("ns for a (cos, sin) pair, %d positions x %d pairs, base 10000, best of %d rounds; the\n"
           "ratio also of the medians (other load on the machine shows in those)\n",
           POSITIONS, PAIRS, ROUNDS);
    printf("%-12s", "positions <");
    for (int col = 0; col < COLUMNS; col++)
        printf(" %10s", columns[col].name);
    printf("  posref/glibc, of medians\n");
    static const double limits[] = {16, 1e4, 1e7, 2147483648.0};
    for (int i = 0; i < 4; i++)
        measure(&in, limits[i]);
    printf("undecided by posref: %zu; checksum %g\n", in.n_undecided, sink);
    return 0;
}
