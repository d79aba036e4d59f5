/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the positions at which the angle p w_i of some pair comes closest to a multiple of a
 * quarter turn: where a cosine or sine is smallest and range reduction loses most bits.
 *
 *   worst_cases              for each base and dim in use, the alternatives of core's "reduction"
 *   worst_cases --distances  JSON: the same with pair, quarter turns and distance
 *   worst_cases --check      the method against trying every position, to a small limit
 *
 * |p a - k| with a = w_i / (pi/2) is smallest, among 0 < p <= N, at a convergent of a's continued
 * fraction (Lagrange): no search over positions is needed. */
#include "rope_frequency.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST_POSITION 2147483647
#define PREC 640
#define SHOWN 6 /* pairs of a base and dim */

struct worst {
    int64_t pair, position, quarters;
    double log2_distance; /* of |p w - k pi/2|, radians */
};

/* The quarter turns of one position. */
static void quarter_turns(arb_t out, const struct rope_frequencies *f, int64_t pair)
{
    arb_t pi;
    arb_init(pi);
    rope_frequency(out, f, pair, PREC);
    arb_mul_2exp_si(out, out, 1);
    arb_const_pi(pi, PREC);
    arb_div(out, out, pi, PREC);
    arb_clear(pi);
}

/* |p a - k| in radians, k the nearest integer. */
static double distance_log2(int64_t *quarters, const arb_t a, int64_t position)
{
    arb_t x, half;
    fmpz_t k;
    arb_init(x);
    arb_init(half);
    fmpz_init(k);
    arb_mul_si(x, a, position, PREC);
    arb_set_d(half, 0.5);
    arb_add(half, half, x, PREC);
    arb_floor(half, half, PREC);
    arb_get_unique_fmpz(k, half);
    *quarters = fmpz_get_si(k);
    arb_sub_fmpz(x, x, k, PREC);
    arb_const_pi(half, PREC);
    arb_mul(x, x, half, PREC);
    arb_mul_2exp_si(x, x, -1);
    arb_abs(x, x);
    arb_log(x, x, 64);
    double log2_x = arf_get_d(arb_midref(x), ARF_RND_NEAR) / log(2);
    arb_clear(x);
    arb_clear(half);
    fmpz_clear(k);
    return log2_x;
}

/* The convergent of a with the largest denominator <= limit. */
static int64_t last_convergent(const arb_t a, int64_t limit)
{
    arb_t x;
    fmpz_t term, before, q, next;
    arb_init(x);
    fmpz_init(term);
    fmpz_init(before);
    fmpz_init(q);
    fmpz_init(next);
    arb_set(x, a);
    fmpz_zero(before);
    fmpz_one(q);
    for (;;) { /* q' = term q + before, from the second term on */
        arb_t whole;
        arb_init(whole);
        arb_floor(whole, x, PREC);
        arb_sub(x, x, whole, PREC);
        arb_inv(x, x, PREC);
        arb_floor(whole, x, PREC);
        bool known = arb_get_unique_fmpz(term, whole);
        arb_clear(whole);
        fmpz_mul(next, term, q);
        fmpz_add(next, next, before);
        if (!known || fmpz_cmp_si(next, limit) > 0)
            break;
        fmpz_set(before, q);
        fmpz_set(q, next);
    }
    int64_t position = fmpz_get_si(q);
    arb_clear(x);
    fmpz_clear(term);
    fmpz_clear(before);
    fmpz_clear(q);
    fmpz_clear(next);
    return position;
}

static bool open_frequencies(struct rope_frequencies *f, double base, int dim)
{
    char text[64];
    struct oracle_case c;
    oracle_case_init(&c, "search");
    snprintf(text, sizeof text, "%d", dim);
    oracle_case_set(&c, "rotary_dim", text);
    snprintf(text, sizeof text, "%.17g", base);
    oracle_case_set(&c, "base", text);
    oracle_case_set(&c, "scaling", "none");
    bool ok = rope_frequencies_init(f, &c);
    oracle_case_clear(&c);
    return ok;
}

static int by_distance(const void *a, const void *b)
{
    const struct worst *x = a, *y = b;
    if (x->log2_distance != y->log2_distance)
        return x->log2_distance < y->log2_distance ? -1 : 1;
    return x->pair < y->pair ? -1 : x->pair > y->pair;
}

typedef void print_fn(const struct worst *worst, int64_t n, double base, int dim);

static void print_distances(const struct worst *worst, int64_t n, double base, int dim)
{
    for (int64_t i = 0; i < n; i++)
        printf("{\"base\": %.17g, \"dim\": %d, \"pair\": %lld, \"position\": %lld, "
               "\"quarter_turns\": %lld, \"log2_distance\": %.2f}\n", base, dim,
               (long long)worst[i].pair, (long long)worst[i].position,
               (long long)worst[i].quarters, worst[i].log2_distance);
}

/* As suites are declared; every other position is negative. */
static void print_alternative(const struct worst *worst, int64_t n, double base, int dim)
{
    char name[32];
    snprintf(name, sizeof name, "%.1e", base); /* 1.5e+05 */
    int digits = name[2] == '0' ? 1 : 3;
    printf("      {\"slug\": \"d%d-b%.*se%c\", \"spec\": {\"dim\": %d, \"base\": %.17g},\n"
           "       \"positions\": \"", dim, digits, name, name[strlen(name) - 1], dim, base);
    for (int64_t i = 0; i < n; i++)
        printf("%s%lld", i ? "," : "", (long long)(i % 2 ? -worst[i].position : worst[i].position));
    puts("\"},");
}

static void search(double base, int dim, print_fn *print)
{
    struct rope_frequencies f;
    if (!open_frequencies(&f, base, dim))
        exit(3);
    struct worst *worst = calloc((size_t)f.n_pairs, sizeof *worst);
    arb_t a;
    arb_init(a);
    for (int64_t i = 0; worst && i < f.n_pairs; i++) {
        quarter_turns(a, &f, i);
        worst[i].pair = i;
        worst[i].position = last_convergent(a, LAST_POSITION);
        worst[i].log2_distance = distance_log2(&worst[i].quarters, a, worst[i].position);
        if (worst[i].quarters == 0)
            worst[i].log2_distance = 0; /* an angle that is only small */
    }
    if (worst)
        qsort(worst, (size_t)f.n_pairs, sizeof *worst, by_distance);
    if (worst)
        print(worst, f.n_pairs < SHOWN ? f.n_pairs : SHOWN, base, dim);
    free(worst);
    arb_clear(a);
    rope_frequencies_clear(&f);
}

/* Every position up to limit against the convergent. */
static int check(double base, int dim, int64_t limit)
{
    struct rope_frequencies f;
    if (!open_frequencies(&f, base, dim))
        return 1;
    int failed = 0;
    arb_t a;
    arb_init(a);
    for (int64_t i = 0; i < f.n_pairs; i++) {
        int64_t quarters, best = 1;
        double least = HUGE_VAL;
        quarter_turns(a, &f, i);
        for (int64_t p = 1; p <= limit; p++) {
            double here = distance_log2(&quarters, a, p);
            if (here < least) {
                least = here;
                best = p;
            }
        }
        if (last_convergent(a, limit) != best) {
            printf("base %g dim %d pair %lld: %lld is closer than the convergent %lld\n", base, dim,
                   (long long)i, (long long)best, (long long)last_convergent(a, limit));
            failed++;
        }
    }
    arb_clear(a);
    rope_frequencies_clear(&f);
    return failed;
}

int main(int argc, char **argv)
{
    static const double bases[] = {1e4, 150000, 5e5, 1e6};
    static const int dims[] = {64, 80, 96, 128, 192};
    if (argc > 1 && strcmp(argv[1], "--check") == 0) {
        int failed = check(1e4, 80, 1000) + check(5e5, 6, 5000) + check(1e6, 24, 2000);
        flint_cleanup();
        return failed ? 1 : 0;
    }
    bool distances = argc > 1 && strcmp(argv[1], "--distances") == 0;
    for (size_t b = 0; b < 4; b++)
        for (size_t d = 0; d < 5; d++)
            search(bases[b], dims[d], distances ? print_distances : print_alternative);
    flint_cleanup();
    return 0;
}
