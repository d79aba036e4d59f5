/* SPDX-License-Identifier: Apache-2.0 */
/* What bad plugins share: a right rotation (rope, half pairing, no scaling, double), and an entry
 * that misbehaves on vectors of dim 4 only, so that a test sees the verdicts of the others survive.
 * A mutant defines `misbehave`, and before this header MUTANT_OPEN, MUTANT_CLOSE or MUTANT_FLAGS
 * where it needs them, or MUTANT_WHERE(call) where it misbehaves elsewhere. */
#ifndef POSREF_MUTANT_H
#define POSREF_MUTANT_H

#include "harness/posref_plugin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline double mutant_get(const struct posref_plugin_tensor *t, int64_t k)
{
    return t->dtype == POSREF_PLUGIN_F64 ? ((const double *)t->data)[k]
                                         : (double)((const float *)t->data)[k];
}

static inline void mutant_put(const struct posref_plugin_tensor *t, int64_t k, double value)
{
    if (t->dtype == POSREF_PLUGIN_F64)
        ((double *)t->data)[k] = value;
    else
        ((float *)t->data)[k] = (float)value;
}

static inline int64_t mutant_count(const struct posref_plugin_tensor *t)
{
    int64_t n = 1;
    for (uint32_t axis = 0; axis < t->rank; axis++)
        n *= t->shape[axis];
    return n;
}

static inline int mutant_dim(const struct posref_plugin_call *call)
{
    return (int)strtol(posref_plugin_value(call->spec, "dim", "0"), NULL, 10);
}

/* The right answer. */
static inline int32_t mutant_right(const struct posref_plugin_call *call)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    const struct posref_plugin_tensor *y = posref_plugin_find(call, "y");
    const struct posref_plugin_tensor *at = posref_plugin_find(call, "positions");
    const char *width = posref_plugin_value(call->spec, "rotary_dim", "0");
    int dim = mutant_dim(call), r = (int)strtol(width, NULL, 10);
    double base = strtod(posref_plugin_value(call->spec, "base", "10000"), NULL);
    double sign = posref_plugin_is(call->spec, "direction", "inverse") ? -1 : 1;
    int64_t rows = mutant_count(x) / dim, heads = rows / mutant_count(at);
    for (int64_t row = 0; row < rows; row++) {
        double position = posref_plugin_position(at, 0, row / heads);
        for (int i = 0; i < r / 2; i++) {
            double angle = sign * position * pow(base, -2.0 * i / r);
            int64_t a = row * dim + i, b = a + r / 2;
            mutant_put(y, a, mutant_get(x, a) * cos(angle) - mutant_get(x, b) * sin(angle));
            mutant_put(y, b, mutant_get(x, a) * sin(angle) + mutant_get(x, b) * cos(angle));
        }
        for (int k = r; k < dim; k++)
            mutant_put(y, row * dim + k, mutant_get(x, row * dim + k));
    }
    return POSREF_PLUGIN_OK;
}

/* The memory that the worker shares with posref: its begin, NULL where it is not found, and end. */
static inline unsigned char *mutant_shared(unsigned char **end)
{
    char line[512], *at;
    uintptr_t begin = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:posref")) {
            begin = strtoull(line, &at, 16);
            *end = (unsigned char *)(uintptr_t)strtoull(at + 1, NULL, 16);
        }
    if (maps)
        fclose(maps);
    return (unsigned char *)begin;
}

static int32_t misbehave(const struct posref_plugin_call *call);

static int32_t mutant_supports(void *state, const struct posref_plugin_call *call, char *why,
                               size_t why_size)
{
    const struct posref_plugin_tensor *x = posref_plugin_find(call, "x");
    const struct posref_plugin_tensor *positions = posref_plugin_find(call, "positions");
    (void)state;
    if (posref_plugin_word_is(call->op, "rotate") && posref_plugin_is(call->spec, "scaling", "none")
        && posref_plugin_is(call->spec, "pairing", "half") &&
        posref_plugin_is(call->spec, "partial", "leading") && x &&
        positions && positions->rank == 1 &&
        (x->dtype == POSREF_PLUGIN_F64 || x->dtype == POSREF_PLUGIN_F32))
        return POSREF_PLUGIN_OK;
    snprintf(why, why_size, "only plain rope of half pairing");
    return POSREF_PLUGIN_UNSUPPORTED;
}

#ifndef MUTANT_WHERE
#define MUTANT_WHERE(call) (mutant_dim(call) == 4)
#endif

static int32_t mutant_run(void *state, const struct posref_plugin_call *call, char *why,
                          size_t why_size)
{
    (void)state;
    (void)why;
    (void)why_size;
    return MUTANT_WHERE(call) ? misbehave(call) : mutant_right(call);
}

#ifndef MUTANT_OPEN
#define MUTANT_OPEN NULL
#endif
#ifndef MUTANT_CLOSE
#define MUTANT_CLOSE NULL
#endif
#ifndef MUTANT_FLAGS
#define MUTANT_FLAGS 0
#endif
#ifndef MUTANT_ABI
#define MUTANT_ABI POSREF_PLUGIN_ABI
#endif
#ifndef MUTANT_SIZE
#define MUTANT_SIZE sizeof(struct posref_plugin)
#endif

const struct posref_plugin *posref_plugin_entry(uint32_t host_abi)
{
    static const struct posref_plugin plugin = {
        .abi = MUTANT_ABI, .struct_size = MUTANT_SIZE, .name = "mutant", .version = "1",
        .open = MUTANT_OPEN, .supports = mutant_supports, .run = mutant_run, .close = MUTANT_CLOSE,
        .flags = MUTANT_FLAGS};
    (void)host_abi;
    return &plugin;
}

#endif
