/* SPDX-License-Identifier: Apache-2.0 */
/* Compares every ball function with MPFR: random operands, points at and inside the edges of
 * their balls. Containment: the result holds the value MPFR finds. Accuracy: for exact operands
 * its radius stays within a few units of the precision asked for. usage: check_ball [rounds]
 * [seed] */
#include "reference/ball.h"
#include "tests/numerics/random.h"

#include <gmp.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MPFR_BITS 9000 /* wide enough for any sum of the operands used */

static int failures;
static long checks;

/* Some limbs random, some all ones, some zero: carries and exact cases happen. Half of all have two
 * limbs fewer than the most: of those that check_arithmetic asks for as many as the precision. */
static void random_ball(struct posref_ball *out, int max_limbs, int64_t max_exponent, bool wide)
{
    out->n_limbs = max_limbs > 2 && next_random() & 1 ? max_limbs - 2
                                                      : (int)random_between(1, max_limbs);
    out->sign = next_random() & 1 ? 1 : -1;
    out->exponent = random_between(-max_exponent, max_exponent);
    for (int i = 0; i < out->n_limbs; i++) {
        uint64_t kind = next_random() % 8;
        out->limb[i] = kind == 0 ? 0 : kind == 1 ? UINT64_MAX : next_random();
    }
    out->limb[0] |= (uint64_t)1 << (next_random() % 64);
    out->limb[out->n_limbs - 1] |= (uint64_t)1 << 63;
    out->rad_man = 0;
    out->rad_exponent = 0;
    if (wide) {
        out->rad_man = next_random() >> (next_random() % 64);
        out->rad_exponent = out->exponent - 64 - random_between(2, 64 * max_limbs);
    }
}

static void mid_to_mpfr(mpfr_t out, const struct posref_ball *a)
{
    if (a->sign == 0) {
        mpfr_set_zero(out, 1);
        return;
    }
    mpz_t z;
    mpz_init(z);
    mpz_import(z, (size_t)a->n_limbs, -1, 8, 0, 0, a->limb);
    if (a->sign < 0)
        mpz_neg(z, z);
    mpfr_set_z_2exp(out, z, a->exponent - 64 * (int64_t)a->n_limbs, MPFR_RNDN);
    mpz_clear(z);
}

/* The midpoint, an edge, or a point between: out = mid + t rad. */
static void member(mpfr_t out, const struct posref_ball *a)
{
    static const double t[] = {0, 1, -1, 0.5, -0.9375};
    mpfr_t r;
    mpfr_init2(r, 128);
    mid_to_mpfr(out, a);
    mpfr_set_uj_2exp(r, a->rad_man, a->rad_exponent, MPFR_RNDN);
    mpfr_mul_d(r, r, t[next_random() % 5], MPFR_RNDN);
    mpfr_add(out, out, r, MPFR_RNDN);
    mpfr_clear(r);
}

static void report(const char *what, const char *name, unsigned prec, const struct posref_ball *a)
{
    if (failures++ < 20)
        printf("%s: %s at %u bits, first operand %.17g * 2^%lld, rad %.3g * 2^%lld\n", name, what,
               prec, a->sign ? (double)a->limb[a->n_limbs - 1] * 0x1p-64 * a->sign : 0.0,
               (long long)a->exponent, (double)a->rad_man, (long long)a->rad_exponent);
}

/* got must contain want (itself known to relative 2^-(prec + 100)); when `exact_in`, its radius
 * must not exceed |want| 2^(slack - prec). */
static void check(const char *name, const struct posref_ball *got, const mpfr_t want,
                  const struct posref_ball *operand, unsigned prec, bool exact_in, int slack)
{
    mpfr_t mid;
    mpfr_t rad;
    checks++;
    mpfr_init2(mid, MPFR_BITS);
    mpfr_init2(rad, 128);
    mid_to_mpfr(mid, got);
    mpfr_sub(mid, mid, want, MPFR_RNDN);
    mpfr_abs(mid, mid, MPFR_RNDN);
    mpfr_set_uj_2exp(rad, got->rad_man, got->rad_exponent, MPFR_RNDN);
    mpfr_t tolerance; /* MPFR's own error */
    mpfr_init2(tolerance, 128);
    mpfr_abs(tolerance, want, MPFR_RNDU);
    if (!mpfr_zero_p(want))
        mpfr_mul_2si(tolerance, tolerance, -(long)prec - 90, MPFR_RNDU);
    mpfr_add(tolerance, tolerance, rad, MPFR_RNDU);
    if (mpfr_cmp(mid, tolerance) > 0)
        report("does not contain the value", name, prec, operand);
    if (exact_in) {
        mpfr_abs(tolerance, want, MPFR_RNDN);
        mpfr_mul_2si(tolerance, tolerance, slack - (long)prec, MPFR_RNDN);
        if (mpfr_cmp(rad, tolerance) > 0)
            report("radius too large", name, prec, operand);
    }
    if (got->sign && (got->n_limbs < 1 || !(got->limb[got->n_limbs - 1] >> 63) || !got->limb[0] ||
                      got->n_limbs > POSREF_BALL_LIMBS))
        report("not normalised", name, prec, operand);
    mpfr_clear(mid);
    mpfr_clear(rad);
    mpfr_clear(tolerance);
}

static void check_arithmetic(unsigned prec, bool wide)
{
    struct posref_ball a;
    struct posref_ball b;
    struct posref_ball r;
    mpfr_t x;
    mpfr_t y;
    mpfr_t z;
    mpfr_inits2(MPFR_BITS, x, y, z, (mpfr_ptr)0);
    int limbs = (int)(prec / 64) + 2 > POSREF_BALL_LIMBS ? POSREF_BALL_LIMBS : (int)(prec / 64) + 2;
    random_ball(&a, limbs, next_random() % 4 ? 70 : 3000, wide);
    random_ball(&b, limbs, next_random() % 4 ? 70 : 3000, wide);
    if (next_random() % 8 == 0) { /* near cancellation */
        posref_ball_set(&b, &a);
        b.limb[0] ^= 2;
        b.sign = -a.sign;
    }
    member(x, &a);
    member(y, &b);
    mpfr_add(z, x, y, MPFR_RNDN);
    posref_ball_add(&r, &a, &b, prec);
    check("add", &r, z, &a, prec, !wide, 1);
    mpfr_sub(z, x, y, MPFR_RNDN);
    posref_ball_set(&r, &b);
    posref_ball_sub(&r, &a, &r, prec);
    check("sub", &r, z, &a, prec, !wide, 1);
    mpfr_mul(z, x, y, MPFR_RNDN);
    posref_ball_set(&r, &a);
    posref_ball_mul(&r, &r, &b, prec);
    check("mul", &r, z, &a, prec, !wide, 1);
    mpfr_mul(z, x, x, MPFR_RNDN);
    posref_ball_set(&r, &a);
    posref_ball_mul(&r, &r, &r, prec);
    check("square", &r, z, &a, prec, !wide, 1);
    mpfr_div(z, x, y, MPFR_RNDN);
    if (posref_ball_div(&r, &a, &b, prec))
        check("div", &r, z, &a, prec, !wide, 2);
    else if (!wide)
        report("refused", "div", prec, &b);
    posref_ball_mul(&r, &a, &b, POSREF_BALL_MAX_BITS + 128);
    /* An exact quotient and an exact root stay exact. */
    if (r.rad_man == 0 && posref_ball_div(&r, &r, &b, prec + 128)) {
        mpfr_set(z, x, MPFR_RNDN);
        check("exact div", &r, z, &a, prec, true, -100000);
    }
    a.sign = 1;
    mpfr_abs(x, x, MPFR_RNDN);
    mpfr_sqrt(z, x, MPFR_RNDN);
    if (posref_ball_sqrt(&r, &a, prec))
        check("sqrt", &r, z, &a, prec, !wide, 3);
    else if (!wide)
        report("refused", "sqrt", prec, &a);
    posref_ball_mul(&r, &a, &a, POSREF_BALL_MAX_BITS + 128);
    if (!wide && r.rad_man == 0 && (int)(prec / 64) >= a.n_limbs &&
        posref_ball_sqrt(&r, &r, prec)) {
        mpfr_set(z, x, MPFR_RNDN);
        check("exact sqrt", &r, z, &a, prec, true, -100000);
    }
    mpfr_clears(x, y, z, (mpfr_ptr)0);
}

static void check_exp(unsigned prec, bool wide, int limbs)
{
    struct posref_ball a;
    struct posref_ball r;
    mpfr_t x;
    mpfr_t z;
    mpfr_init2(x, MPFR_BITS); /* the operand, exact */
    mpfr_init2(z, prec + 200);
    random_ball(&a, limbs, next_random() % 4 ? 8 : 45, wide);
    member(x, &a);
    mpfr_exp(z, x, MPFR_RNDN);
    posref_ball_exp(&r, &a, prec);
    if (mpfr_regular_p(z))
        check("exp", &r, z, &a, prec, !wide, 2);
    mpfr_clear(x);
    mpfr_clear(z);
}

/* cos and sin of 2 pi x: the quarter turns come off exactly at MPFR_BITS. */
static void turns_by_mpfr(mpfr_t cosine, mpfr_t sine, const mpfr_t x)
{
    mpfr_t quarters;
    mpfr_t turn;
    mpfr_inits2(MPFR_BITS, quarters, turn, (mpfr_ptr)0);
    mpfr_mul_2si(quarters, x, 2, MPFR_RNDN);
    mpfr_rint(quarters, quarters, MPFR_RNDN);
    mpfr_div_2si(turn, quarters, 2, MPFR_RNDN);
    mpfr_sub(turn, x, turn, MPFR_RNDN);
    mpfr_const_pi(cosine, MPFR_RNDN);
    mpfr_mul(cosine, cosine, turn, MPFR_RNDN);
    mpfr_mul_2si(cosine, cosine, 1, MPFR_RNDN);
    mpfr_sin_cos(sine, cosine, cosine, MPFR_RNDN);
    mpfr_fmod_ui(quarters, quarters, 4, MPFR_RNDN);
    long q = mpfr_get_si(quarters, MPFR_RNDN) & 3;
    if (q & 1) {
        mpfr_swap(cosine, sine);
        mpfr_neg(cosine, cosine, MPFR_RNDN);
    }
    if (q & 2) {
        mpfr_neg(cosine, cosine, MPFR_RNDN);
        mpfr_neg(sine, sine, MPFR_RNDN);
    }
    mpfr_clears(quarters, turn, (mpfr_ptr)0);
}

/* `center` / 8 plus something small; exact as long as a has at most 50 limbs. */
static void near_eighths(struct posref_ball *a, int64_t center, bool wide)
{
    struct posref_ball eighths;
    posref_ball_set_int(&eighths, center);
    posref_ball_scale2(&eighths, &eighths, -3);
    a->exponent = -random_between(10, 300);
    if (wide)
        a->rad_exponent = a->exponent - 64 - random_between(2, 64);
    posref_ball_add(a, a, &eighths, POSREF_BALL_MAX_BITS);
}

static void check_cos_sin(unsigned prec, bool wide, int limbs)
{
    struct posref_ball a;
    struct posref_ball c;
    struct posref_ball s;
    mpfr_t x;
    mpfr_t cosine;
    mpfr_t sine;
    mpfr_init2(x, MPFR_BITS);
    mpfr_inits2(prec + 200, cosine, sine, (mpfr_ptr)0);
    random_ball(&a, limbs, next_random() % 4 ? 8 : 3000, wide);
    if (next_random() % 8 == 0)
        near_eighths(&a, random_between(-1000, 1000), wide);
    member(x, &a);
    turns_by_mpfr(cosine, sine, x);
    posref_ball_cos_sin_turns(&c, &s, &a, prec);
    check("cos", &c, cosine, &a, prec, !wide, 2);
    check("sin", &s, sine, &a, prec, !wide, 2);
    mpfr_clears(x, cosine, sine, (mpfr_ptr)0);
}

static void check_log(unsigned prec, bool wide, int limbs)
{
    struct posref_ball a;
    struct posref_ball r;
    mpfr_t x;
    mpfr_t z;
    mpfr_init2(x, MPFR_BITS);
    mpfr_init2(z, prec + 200);
    random_ball(&a, limbs, next_random() % 4 ? 8 : 3000, wide);
    if (next_random() % 4 == 0)
        near_eighths(&a, 8, wide); /* just beside 1 */
    else
        a.sign = 1;
    member(x, &a);
    mpfr_log(z, x, MPFR_RNDN);
    if (mpfr_cmp_ui(x, 0) > 0 && posref_ball_log(&r, &a, prec))
        check("log", &r, z, &a, prec, !wide, 2);
    else if (!wide && mpfr_cmp_ui(x, 0) > 0)
        report("refused", "log", prec, &a);
    mpfr_clear(x);
    mpfr_clear(z);
}

static void check_elementary(unsigned prec, bool wide)
{
    int limbs = (int)(prec / 64) + 1;
    if (limbs > 4 && next_random() % 2)
        limbs = 1;
    if (limbs > 50)
        limbs = 50;
    check_exp(prec, wide, limbs);
    check_cos_sin(prec, wide, limbs);
    check_log(prec, wide, limbs);
}

/* wide: of a number with a radius, as a quotient is. */
static void check_pow(unsigned prec, bool wide)
{
    struct posref_ball a;
    struct posref_ball r;
    mpfr_t x;
    mpfr_t z;
    mpfr_init2(x, prec + 300);
    mpfr_init2(z, prec + 300);
    int64_t den = random_between(1, next_random() & 3 ? 400 : 70000);
    int64_t num = random_between(-2 * den, 2 * den);
    bool perfect = !wide && next_random() & 1;
    if (perfect) { /* an exact power of a small integer */
        den = random_between(1, 12);
        num = random_between(-12, 12);
        uint64_t root = (uint64_t)random_between(2, 9);
        uint64_t value = 1;
        for (int64_t i = 0; i < den; i++)
            value *= root;
        posref_ball_set_int(&a, (int64_t)value);
    } else {
        int exponent = (int)random_between(-110, -24);
        posref_ball_set_double(&a, 1 + ldexp((double)next_random(), exponent));
    }
    if (wide) {
        posref_ball_ratio(&a, random_between(1, 1 << 20), random_between(1, 1 << 20), prec);
        a.rad_man = next_random() >> 32;
        a.rad_exponent = a.exponent - random_between(34, 64 + (int64_t)prec);
    }
    member(x, &a);
    mpfr_log(z, x, MPFR_RNDN);
    mpfr_mul_si(z, z, num, MPFR_RNDN);
    mpfr_div_si(z, z, den, MPFR_RNDN);
    mpfr_exp(z, z, MPFR_RNDN);
    if (!posref_ball_pow_ratio(&r, &a, num, den, prec))
        report("refused", "pow_ratio", prec, &a);
    else
        check("pow_ratio", &r, z, &a, prec, !wide, 2);
    if (perfect && num >= 0 && r.rad_man)
        report("should be exact", "pow_ratio", prec, &a);
    mpfr_clear(x);
    mpfr_clear(z);
}

static void check_constants(void)
{
    struct posref_ball r;
    mpfr_t z;
    mpfr_init2(z, POSREF_BALL_MAX_BITS + 300);
    mpfr_const_pi(z, MPFR_RNDN);
    for (unsigned prec = 64; prec <= POSREF_BALL_MAX_BITS; prec += 64) {
        posref_ball_pi(&r, prec);
        check("pi", &r, z, &r, prec, true, 1);
    }
    mpfr_clear(z);
}

/* Doubles, ties, subnormals, overflow: the correctly rounded double as MPFR gives it. */
static void check_round(void)
{
    struct posref_ball a;
    mpfr_t x;
    mpfr_init2(x, MPFR_BITS);
    random_ball(&a, 3, next_random() & 1 ? 1100 : 60, false);
    if (next_random() & 1) { /* a tie, or a tie and a little */
        uint64_t top = a.limb[a.n_limbs - 1];
        a.n_limbs = 2;
        a.limb[1] = (top & ~(uint64_t)0x7ff) | 0x400;
        a.limb[0] = next_random() & 1 ? (uint64_t)1 << 63 : 0;
        if (!a.limb[0]) {
            a.n_limbs = 1;
            a.limb[0] = a.limb[1];
        }
    }
    mid_to_mpfr(x, &a);
    mpfr_exp_t low = mpfr_get_emin();
    mpfr_exp_t high = mpfr_get_emax();
    mpfr_t d;
    mpfr_init2(d, 53);
    mpfr_set_emin(-1073);
    mpfr_set_emax(1024);
    int t = mpfr_set(d, x, MPFR_RNDN);
    t = mpfr_check_range(d, t, MPFR_RNDN);
    (void)mpfr_subnormalize(d, t, MPFR_RNDN);
    double want = mpfr_get_d(d, MPFR_RNDN);
    mpfr_set_emin(low);
    mpfr_set_emax(high);
    double got = 0;
    checks++;
    if (!posref_ball_round(&got, &a) || memcmp(&got, &want, sizeof got) != 0) {
        printf("round: got %a want %a\n", got, want);
        failures++;
    }
    /* With a radius: both edges must round to the result. */
    a.rad_man = next_random() >> 32 | 1;
    a.rad_exponent = a.exponent - random_between(60, 140);
    if (posref_ball_round(&got, &a)) {
        for (int edge = -1; edge <= 1; edge += 2) {
            struct posref_ball e;
            struct posref_ball r;
            posref_ball_set_int(&e, edge * (int64_t)a.rad_man);
            posref_ball_scale2(&e, &e, a.rad_exponent);
            posref_ball_set(&r, &a);
            r.rad_man = 0;
            posref_ball_add(&e, &e, &r, POSREF_BALL_MAX_BITS);
            double at_edge = 0;
            if (!posref_ball_round(&at_edge, &e) || memcmp(&got, &at_edge, sizeof got) != 0) {
                printf("round: members disagree: %a %a\n", got, at_edge);
                failures++;
            }
        }
    }
    mpfr_clear(x);
    mpfr_clear(d);
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 0);
    if (end == text || *end) {
        fprintf(stderr, "check_ball: not a number: %s\n", text);
        exit(2);
    }
    return n;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? number(argv[1]) : 2000;
    state = argc > 2 ? number(argv[2]) : 20261129;
    printf("check_ball: %llu rounds, seed %llu\n", (unsigned long long)rounds,
           (unsigned long long)state);
    check_constants();
    static const unsigned precs[] = {64, 128, 192, 256, 320, 512, 1024, 2048, 4032};
    for (uint64_t i = 0; i < rounds; i++) {
        unsigned prec = precs[next_random() % (i % 16 ? 5 : 9)];
        check_arithmetic(prec, false);
        check_arithmetic(prec, true);
        check_elementary(prec, false);
        check_elementary(prec, true);
        check_pow(prec, false);
        check_pow(prec, true);
        check_round();
    }
    printf("check_ball: %ld comparisons, %d failures\n", checks, failures);
    return failures != 0;
}
