/* SPDX-License-Identifier: Apache-2.0 */
/* What the harness adds to a plugin's own time: the hand-over, both guarded runs, their checks.
 *
 *   bench_harness PROGRAM PLUGIN [ROUNDS] */
#include "harness/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_CASES 1000
#define N_ROWS 8
#define DIM 64
#define LIMIT_US 20.0

static const char spec[] = "scheme=rope dim=64 base=10000 rotary_dim=64 partial=leading "
                           "pairing=half direction=forward scaling=none";

struct made {
    int64_t positions[N_ROWS];
    float x[N_ROWS * DIM], y[N_CASES][N_ROWS * DIM];
    struct posref_trial trial[N_CASES], *list[N_CASES];
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void make_trials(struct made *m)
{
    for (int k = 0; k < N_ROWS; k++)
        m->positions[k] = 17 * k;
    for (int k = 0; k < N_ROWS * DIM; k++)
        m->x[k] = 1.0f - 0.001f * (float)k;
    for (int k = 0; k < N_CASES; k++) {
        m->list[k] = &m->trial[k];
        m->trial[k] = (struct posref_trial){
            .op = "rotate",
            .spec = spec,
            .in = {.item = {{"positions", POSREF_I64, 1, {N_ROWS}, m->positions},
                            {"x", POSREF_F32, 2, {N_ROWS, DIM}, m->x}},
                   .n = 2},
            .out = {.item = {{"y", POSREF_F32, 2, {N_ROWS, DIM}, m->y[k]}}, .n = 1}};
    }
}

static int failed(const struct posref_error *err)
{
    fprintf(stderr, "bench_harness: %s: %s\n", err->key, err->text);
    return 3;
}

int main(int argc, char **argv)
{
    struct posref_error err = {{0}, {0}};
    struct posref_runner *runner;
    struct made *m = calloc(1, sizeof *m);
    int rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 20;
    if (!m || argc < 3)
        return 2;
    const struct posref_runner_options options = {.plugin_path = argv[2], .config = "",
                                                  .start_timeout_s = 60, .timeout_s = 10,
                                                  .program = argv[1]};
    double best = 1e9, own = 0;
    make_trials(m);
    if (posref_runner_new(&runner, &options, &err) != POSREF_OK)
        return failed(&err);
    for (int round = 0; round < rounds; round++) {
        uint64_t plugin_ns = 0;
        double begin = seconds();
        if (posref_runner_run(runner, m->list, N_CASES, &err) != POSREF_OK)
            return failed(&err);
        double took = seconds() - begin;
        for (int k = 0; k < N_CASES; k++) {
            plugin_ns += m->trial[k].run_ns;
            if (m->trial[k].verdict != POSREF_VERDICT_PASS)
                return failed(&(struct posref_error){"verdict", "not pass"});
        }
        double above = (took - 1e-9 * (double)plugin_ns) / N_CASES * 1e6;
        if (above < best) {
            best = above;
            own = 1e-3 * (double)plugin_ns / N_CASES;
        }
    }
    printf("harness: %.1f us above the plugin's own time for a case of %d outputs, run twice in "
           "%.1f us (limit %.0f us)\n", best, N_ROWS * DIM, own, LIMIT_US);
    posref_runner_free(runner);
    free(m);
    return 0;
}
