/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of the input space through `posref eval`, each value judged by the oracle: bases from
 * the first double above 1 to 1e12, the largest positions of both signs, zeros of both signs,
 * subnormal and huge inputs, and the worst positions of worst_cases. Nothing here may be refused.
 *
 *   extremes POSREF      exit 1 when anything disagrees or is refused */
#include "random_spec.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double positions[] = {0,          -0.0,       1,          -1,        2147483647.0,
                                   -2147483647.0, 534483448.0,    300281868.0, 1072174191.0,
                                   2062062878.0};
#define N_POSITIONS 10

static const double values[] = {0,         -0.0,       0x1p-1074, -0x1p-1074, DBL_MIN, -DBL_MIN,
                                DBL_MAX,   -DBL_MAX,   1,         -1,
                                0x1.ffffffffffffep-1023,
                                0x1p-1022, 0x1p1023,   1e-300,    -1e300,     0x1.0000000000001p0,
                                0,         0x1p-537,   -0.0};
#define N_VALUES 19

struct run {
    struct oracle_tally tally;
    const char *program;
    int64_t n_runs;
};

static void finish(struct run *run, struct request *r, struct oracle_case *c)
{
    int64_t before = run->tally.n_mismatches;
    int code = oracle_run_eval(c, r->argv);
    run->n_runs++;
    if (code == 0)
        oracle_case_judge(&run->tally, c);
    else
        oracle_tally_mismatch(&run->tally, "%s: exit code %d %s", c->id, code, c->error);
    if (run->tally.n_mismatches > before && before < ORACLE_MAX_SHOWN) {
        printf("%s\n ", run->tally.shown[before]);
        for (int i = 0; i < r->argc; i++)
            printf(" %s", r->argv[i]);
        printf("\n");
    }
    request_clear(r);
    oracle_case_clear(c);
}

/* Rows of extreme values; `turn` moves them so that every channel meets every value. */
static void add_values(struct request *r, struct oracle_case *c, const char *name, int rank,
                       const int64_t *shape, int64_t turn)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    double *x = malloc((size_t)count * sizeof *x);
    for (int64_t k = 0; x && k < count; k++)
        x[k] = values[(k * 7 + turn + k / N_VALUES) % N_VALUES];
    if (x)
        request_tensor(r, c, name, rank, shape, x);
    free(x);
}

static void try_rope(struct run *run, double base, int64_t dim, const char *scaling, int64_t turn)
{
    struct request r;
    struct oracle_case c;
    int64_t n = N_POSITIONS, shape[2] = {n, dim};
    oracle_case_init(&c, scaling);
    request_init(&r, run->program);
    request_add(&r, "scheme=rope");
    request_add(&r, "dim=%lld", (long long)dim);
    request_add(&r, "base=%.17g", base);
    request_add(&r, "scaling=%s", scaling);
    if (scaling[0] != 'n' || scaling[1] == 't')
        request_add(&r, "factor=8");
    if (scaling[0] == 'y' || scaling[1] == 'l')
        request_add(&r, "original_max_position_embeddings=4096");
    request_add(&r, "pairing=%s", turn % 2 ? "half" : "interleaved");
    request_add(&r, "direction=%s", turn % 3 ? "forward" : "inverse");
    request_tensor(&r, &c, "positions", 1, &n, positions);
    add_values(&r, &c, "x", 2, shape, turn);
    finish(run, &r, &c);
}

/* Both ends of yarn's ramp at one correction dimension, a little below pair 2: the pair lies in the
 * ramp that the formula then makes 0.001 wide (not when the distance is 0.004). */
static void try_narrow_ramp(struct run *run, double below)
{
    struct request r;
    struct oracle_case c;
    double beta = 4096 / (2 * acos(-1)) * pow(10000, -(2 - below) / 4);
    oracle_case_init(&c, "narrow ramp");
    request_init(&r, run->program);
    request_add(&r, "scheme=rope");
    request_add(&r, "dim=8");
    request_add(&r, "scaling=yarn");
    request_add(&r, "factor=4");
    request_add(&r, "original_max_position_embeddings=4096");
    request_add(&r, "truncate=false");
    request_add(&r, "beta_fast=%.17g", beta);
    request_add(&r, "beta_slow=%.17g", beta);
    finish(run, &r, &c);
}

static void try_sinusoidal(struct run *run, double base, int64_t dim, int64_t turn)
{
    struct request r;
    struct oracle_case c;
    int64_t n = N_POSITIONS, shape[2] = {n, dim};
    oracle_case_init(&c, "sinusoidal");
    request_init(&r, run->program);
    request_add(&r, "scheme=sinusoidal");
    request_add(&r, "dim=%lld", (long long)dim);
    request_add(&r, "base=%.17g", base);
    request_add(&r, "order=%s", turn % 2 ? "concat" : "interleaved");
    request_add(&r, "exponent=%s", turn % 3 ? "half_minus_one" : "d");
    request_tensor(&r, &c, "positions", 1, &n, positions);
    add_values(&r, &c, "x", 2, shape, turn);
    finish(run, &r, &c);
}

static void try_alibi(struct run *run, int64_t heads, double bias_max, const char *form)
{
    struct request r;
    struct oracle_case c;
    int64_t n = N_POSITIONS, shape[3] = {heads, n, n};
    oracle_case_init(&c, "alibi");
    request_init(&r, run->program);
    request_add(&r, "scheme=alibi");
    request_add(&r, "num_heads=%lld", (long long)heads);
    request_add(&r, "alibi_bias_max=%.17g", bias_max);
    request_add(&r, "form=%s", form);
    request_tensor(&r, &c, "positions", 1, &n, positions);
    add_values(&r, &c, "logits", 3, shape, heads);
    finish(run, &r, &c);
}

int main(int argc, char **argv)
{
    static const double bases[] = {0x1.0000000000001p0, 1.0001, 2, 9, 150000, 0x1p39, 1e12};
    static const int dims[] = {2, 4, 6, 24, 80, 96, 192};
    static const char *const scalings[] = {"none", "linear", "ntk", "yarn", "llama3"};
    static const char *const forms[] = {"distance", "row", "symmetric"};
    struct run run = {.program = argc > 1 ? argv[1] : "build/posref"};
    oracle_tally_init(&run.tally);
    for (int b = 0; b < 7; b++)
        for (int s = 0; s < 5; s++)
            for (int d = b % 2; d < 7; d += 2)
                if (dims[d] != 2 || s != 2)
                    try_rope(&run, bases[b], dims[d], scalings[s], b + s + d);
    for (int b = 0; b < 7; b++)
        for (int d = 1; d < 7; d++)
            try_sinusoidal(&run, bases[b], dims[d], b + d);
    for (int k = 1; k <= 40; k++)
        try_narrow_ramp(&run, k * 1e-4);
    for (int f = 0; f < 3; f++) {
        try_alibi(&run, 1, 8, forms[f]);
        try_alibi(&run, 12, 8, forms[f]);
        try_alibi(&run, 3, 256, forms[f]);
    }
    flint_cleanup();
    printf("extremes: %lld requests, %lld values, %lld exact, %lld ties, nearest boundary "
           "%.3g ulp, %lld mismatches\n", (long long)run.n_runs, (long long)run.tally.n_values,
           (long long)run.tally.n_exact, (long long)run.tally.n_ties, run.tally.nearest_ulp,
           (long long)run.tally.n_mismatches);
    return run.tally.n_mismatches ? 1 : 0;
}
