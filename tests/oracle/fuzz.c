/* SPDX-License-Identifier: Apache-2.0 */
/* Differential fuzz: random requests through `posref eval`, every value judged by the oracle.
 *
 *   fuzz POSREF SECONDS [SEED]      exit 1 when anything disagrees; prints what reproduces it */
#include "random_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show_request(const struct request *r)
{
    for (int i = 0; i < r->argc; i++)
        printf("%s%s", i ? " " : "  ", r->argv[i]);
    printf("\n");
}

/* True when the request was answered. */
static bool try_one(struct oracle_tally *t, const char *program, struct dice *d, int64_t number)
{
    char id[64];
    struct oracle_case c;
    struct request r;
    int64_t before = t->n_mismatches;
    snprintf(id, sizeof id, "fuzz %lld", (long long)number);
    oracle_case_init(&c, id);
    request_init(&r, program);
    random_request(&r, &c, d);
    int code = oracle_run_eval(&c, r.argv);
    if (code == 0)
        oracle_case_judge(t, &c);
    else if (code != 2)
        oracle_tally_mismatch(t, "%s: exit code %d %s", id, code, c.error);
    if (t->n_mismatches > before && before < ORACLE_MAX_SHOWN) {
        printf("%s\n", t->shown[before]);
        show_request(&r);
    }
    request_clear(&r);
    oracle_case_clear(&c);
    return code == 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: fuzz POSREF SECONDS [SEED]\n", stderr);
        return 2;
    }
    double end = seconds_now() + strtod(argv[2], NULL);
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL);
    struct dice dice = {seed};
    struct oracle_tally tally;
    int64_t tried = 0, refused = 0;
    oracle_tally_init(&tally);
    printf("fuzz: seed %llu\n", (unsigned long long)seed);
    while (seconds_now() < end)
        refused += !try_one(&tally, argv[1], &dice, tried++);
    flint_cleanup();
    printf("fuzz: %lld requests, %lld refused, %lld values, nearest boundary %.3g ulp (%s), "
           "%lld ties, largest precision %lld, %lld mismatches\n",
           (long long)tried, (long long)refused, (long long)tally.n_values, tally.nearest_ulp,
           tally.nearest_at, (long long)tally.n_ties, (long long)tally.largest_prec,
           (long long)tally.n_mismatches);
    if (tally.n_values == 0) {
        puts("fuzz: nothing was judged");
        return 1;
    }
    return tally.n_mismatches ? 1 : 0;
}
