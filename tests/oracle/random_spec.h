/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in the making: arguments of `posref eval`, and the inputs they carry. */
#ifndef ORACLE_RANDOM_SPEC_H
#define ORACLE_RANDOM_SPEC_H

#include "oracle.h"

#define REQUEST_MAX_ARGS 64

/* argv[0] is the program, argv[1] "eval"; ends with NULL. */
struct request {
    char *argv[REQUEST_MAX_ARGS + 1];
    int argc;
};

void request_init(struct request *r, const char *program);
void request_clear(struct request *r);
void request_add(struct request *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* KEY=v,v,... on the command line as hex floats or 17 digits, and the same tensor as the case's
 * input. */
void request_tensor(struct request *r, struct oracle_case *c, const char *name, int rank,
                    const int64_t *shape, const double *values);

/* positions of several axes, rows [n_axes, n], as words with colons, and the case's input (of rank
 * 1 for one axis). */
void request_positions(struct request *r, struct oracle_case *c, int n_axes, int64_t n,
                       const double *rows);
/* The case's input alone, for what the command line has in another form. */
void request_note(struct oracle_case *c, const char *name, int rank, const int64_t *shape,
                  const double *values);

/* splitmix64: reproducible from its seed. */
struct dice {
    uint64_t state;
};
uint64_t dice_bits(struct dice *d);
int64_t dice_below(struct dice *d, int64_t n);        /* 0 .. n-1 */
double dice_real(struct dice *d, double low, double high);
/* One of an array. */
#define PICK(d, list) ((list)[dice_below((d), (int64_t)(sizeof(list) / sizeof *(list)))])

/* A random rope over several axes, and such a sinusoidal table. */
void random_axes(struct request *r, struct oracle_case *c, struct dice *d);
void random_sincos(struct request *r, struct oracle_case *c, struct dice *d);
/* A random valid request of some scheme; its inputs go into *c. random_bias: of the additive biases
 * but alibi. */
void random_request(struct request *r, struct oracle_case *c, struct dice *d);
void random_bias(struct request *r, struct oracle_case *c, struct dice *d);

#endif
