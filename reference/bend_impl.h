/* SPDX-License-Identifier: Apache-2.0 */
/* What the schemes' bent forms share. Private to reference/. */
#ifndef POSREF_BEND_IMPL_H
#define POSREF_BEND_IMPL_H

#include "bend.h"
#include "judge_impl.h"

/* A ladder after the steps that concern frequencies. */
struct bend_ladder {
    int n;
    double *theta; /* [n] */
    double *cosine_theta; /* [n]; theta unless sines and cosines differ */
    double *k;     /* [n] error of a float32 angle, in u of float32 */
    double magnitude;
};

struct bend_job {
    const struct posref_bend *bend;
    enum posref_op op;
    const struct posref_tensors *in;
    struct posref_bent *out;
    enum posref_dtype dtype;
    const struct posref_arena *arena;
    struct posref_error *err;
};

bool posref_bend_has(const struct posref_bend *bend, enum posref_bend_kind kind);
/* The position of row n (of n_rows) and head h after the steps. */
double posref_bend_position(const struct posref_bend *bend, double position, int64_t row,
                            int64_t head);
/* The first n frequencies. */
POSREF_MUST_USE enum posref_status posref_bend_ladder(struct bend_ladder *out,
                                                      const struct bend_job *job, int n);
/* Cosine and sine (magnitude included) at a position that the steps have changed already; *error
 * is that of an honest float32 kernel, relative to the magnitude. */
void posref_bend_turn(double *cosine, double *sine, double *error, const struct bend_job *job,
                      const struct bend_ladder *ladder, int i, double position);
/* Adds an output of that shape with its limits. */
POSREF_MUST_USE enum posref_status posref_bend_output(double **value, double **limit,
                                                      double **scale, struct bend_job *job,
                                                      const char *name, int rank,
                                                      const int64_t *shape);
/* Room for so many pairs, when they are wanted. */
POSREF_MUST_USE enum posref_status posref_bend_pairs(struct bend_job *job, int64_t n);
/* Notes a pair, when they are wanted. */
void posref_bend_note(struct bend_job *job, const struct posref_bent_pair *pair);
/* Half a spacing of the dtype at x, and a little. */
double posref_bend_rounding(const struct bend_job *job, double x);

POSREF_MUST_USE enum posref_status posref_bend_rope(struct bend_job *job);
POSREF_MUST_USE enum posref_status posref_bend_sinusoidal(struct bend_job *job);
POSREF_MUST_USE enum posref_status posref_bend_alibi(struct bend_job *job);

#endif
