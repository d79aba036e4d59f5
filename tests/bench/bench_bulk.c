/* SPDX-License-Identifier: Apache-2.0 */
/* A table of 65536 positions x 64 pairs through the public evaluation: one thread beside all
 * cores, interleaved in one run, into memory that has been touched before (the system's page
 * faults cost as much as the table). Prints a line; asserts nothing. */
#include "vectors/vectors.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define POSITIONS 65536
#define ROUNDS 7

typedef enum posref_status eval_fn(struct posref_tensors *, const struct posref_spec *,
                                   enum posref_op, const struct posref_tensors *,
                                   const struct posref_arena *, struct posref_error *);

static double positions[POSITIONS];
static _Alignas(64) unsigned char memory[(size_t)160 << 20];

static void *take(void *ctx, size_t size_bytes)
{
    size_t *used = ctx, at = *used;
    if (size_bytes > sizeof memory - at)
        return NULL;
    *used = (at + size_bytes + 63) & ~(size_t)63;
    return memory + at;
}

/* Seconds of one evaluation, or a negative number. */
static double measure(eval_fn *eval, const struct posref_spec *spec)
{
    struct timespec start, end;
    struct posref_tensors out, in = {.n = 1};
    size_t used = 0;
    const struct posref_arena arena = {take, &used};
    in.item[0] = (struct posref_tensor){.name = "positions", .dtype = POSREF_F64, .rank = 1,
                                        .shape = {POSITIONS}, .data = positions};
    clock_gettime(CLOCK_MONOTONIC, &start);
    enum posref_status status = eval(&out, spec, POSREF_OP_TABLE, &in, &arena, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return status != POSREF_OK ? -1
                               : (double)(end.tv_sec - start.tv_sec) +
                                     1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

int main(void)
{
    struct posref_spec spec;
    double best[2] = {1e9, 1e9};
    memset(memory, 1, sizeof memory);
    for (int k = 0; k < POSITIONS; k++)
        positions[k] = k;
    posref_spec_init(&spec);
    if (posref_spec_parse(&spec, "scheme=rope dim=128", NULL) != POSREF_OK ||
        posref_spec_complete(&spec, NULL) != POSREF_OK)
        return 3;
    for (int round = 0; round < ROUNDS; round++)
        for (int which = 0; which < 2; which++) {
            double seconds = measure(which ? posref_eval_bulk : posref_eval, &spec);
            if (seconds < 0)
                return 3;
            best[which] = seconds < best[which] ? seconds : best[which];
        }
    const double pairs = POSITIONS * 64.0;
    printf("table of %d positions x 64 pairs, best of %d rounds: one thread %.1f ns a pair, "
           "%ld cores %.1f ns (%.2f times as fast)\n", POSITIONS, ROUNDS, best[0] * 1e9 / pairs,
           sysconf(_SC_NPROCESSORS_ONLN), best[1] * 1e9 / pairs, best[0] / best[1]);
    return 0;
}
