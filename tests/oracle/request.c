/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the command line of `posref eval` and the same inputs as tensors of a case. */
#include "random_spec.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void request_init(struct request *r, const char *program)
{
    memset(r, 0, sizeof *r);
    request_add(r, "%s", program);
    request_add(r, "eval");
}

void request_clear(struct request *r)
{
    for (int i = 0; i < r->argc; i++)
        free(r->argv[i]);
    memset(r, 0, sizeof *r);
}

static void add_owned(struct request *r, char *text)
{
    if (!text || r->argc == REQUEST_MAX_ARGS) {
        fputs("request: no memory, or too many arguments\n", stderr);
        exit(3);
    }
    r->argv[r->argc++] = text;
}

void request_add(struct request *r, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    add_owned(r, strdup(text));
}

void request_note(struct oracle_case *c, const char *name, int rank, const int64_t *shape,
                  const double *values)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    double *copy = malloc(((size_t)count + 1) * sizeof *copy);
    if (!copy)
        exit(3);
    memcpy(copy, values, (size_t)count * sizeof *copy);
    oracle_case_add(c, false, name, rank, shape, copy);
}

void request_tensor(struct request *r, struct oracle_case *c, const char *name, int rank,
                    const int64_t *shape, const double *values)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    size_t size = 64 + 32 * (size_t)count, used = 0;
    char *text = malloc(size);
    if (!text)
        exit(3);
    used = (size_t)snprintf(text, size, "%s=", name);
    for (int64_t k = 0; k < count; k++) /* both notations of numbers are tried */
        used += (size_t)snprintf(text + used, size - used, k % 2 ? "%s%a" : "%s%.17g",
                                 k ? "," : "", values[k]);
    add_owned(r, text);
    request_note(c, name, rank, shape, values);
}

uint64_t dice_bits(struct dice *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t dice_below(struct dice *d, int64_t n)
{
    return (int64_t)(dice_bits(d) % (uint64_t)n);
}

double dice_real(struct dice *d, double low, double high)
{
    return low + (high - low) * ((double)(dice_bits(d) >> 11) * 0x1p-53);
}

void request_positions(struct request *r, struct oracle_case *c, int n_axes, int64_t n,
                       const double *rows)
{
    const int64_t shape[2] = {n_axes, n};
    char text[512] = "";
    size_t used = 0;
    for (int64_t k = 0; k < n; k++)
        for (int axis = 0; axis < n_axes; axis++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.17g",
                                     axis ? ":" : k ? "," : "", rows[axis * n + k]);
    request_add(r, "positions=%s", text);
    request_note(c, "positions", n_axes > 1 ? 2 : 1, n_axes > 1 ? shape : shape + 1, rows);
}
