/* SPDX-License-Identifier: Apache-2.0 */
/* What the schemes' bent forms share. Private to reference/. */
#ifndef POSREF_BEND_IMPL_H
#define POSREF_BEND_IMPL_H

#include "bend.h"
#include "judge_impl.h"

#include <math.h>

/* A ladder after the steps that concern frequencies, each rung from when it is first asked for. */
struct bend_ladder {
    int n;
    double base;
    bool *ready;   /* [n] */
    double *theta; /* [n] */
    double *cosine_theta; /* [n]; theta unless sines and cosines differ */
    double *k;     /* [n] error of a float32 angle, in u of float32 */
    enum posref_bend_kind recipe; /* or NOTHING */
    struct bend_chain {           /* [n], of FLOAT32_RECURRENCE: the angle of position p is */
        float step, scale, divisor, share; /* p step^times / divisor (scale (1-share) + share) */
        int times;
    } *chain;
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
    double spacings, least; /* of posref_bend_rounding */
};

bool posref_bend_has(const struct posref_bend *bend, enum posref_bend_kind kind);
bool posref_bend_is_theta(enum posref_bend_kind kind); /* it concerns frequencies */
/* The position of row n (of n_rows) and head h after the steps. */
double posref_bend_position(const struct posref_bend *bend, double position, int64_t row,
                            int64_t head);
/* Room for the first n frequencies. */
POSREF_MUST_USE enum posref_status posref_bend_ladder(struct bend_ladder *out,
                                                      const struct bend_job *job, int n);
/* theta[i]; it, k[i] and what else there is of rung i are set then. */
double posref_bend_theta(struct bend_ladder *ladder, const struct bend_job *job, int i);
/* Cosine and sine (magnitude included) at a position that the steps have changed already; *error
 * is that of an honest float32 kernel, relative to the magnitude. */
void posref_bend_turn(double *cosine, double *sine, double *error, const struct bend_job *job,
                      struct bend_ladder *ladder, int i, double position);
/* Whether recipes have a form for the spec: plain ladders, and the scalings that are formed alike
 * everywhere. */
bool posref_bend_has_recipes(const struct posref_spec *spec);
/* Rung i of a ladder of width d (2i/d is the exponent) as float32 arithmetic forms it. */
struct bend_rung {
    const struct posref_spec *spec;
    int i;
    double width; /* d of the exponent 2i/d */
    double base;
    double plain; /* without scaling */
};
double posref_bend_recipe_theta(const struct bend_rung *rung, double theta,
                                enum posref_bend_kind recipe);
void posref_bend_recipe_chain(struct bend_chain *out, const struct bend_rung *rung);
/* As posref_bend_turn, of recipes. */
void posref_bend_recipe_turn(double *cosine, double *sine, double *error,
                             const struct bend_job *job, const struct bend_ladder *ladder, int i,
                             double position);
/* u c - v s as the recipe forms it. */
double posref_bend_recipe_rotate(const struct bend_job *job, double u, double c, double v,
                                 double s);
/* What cosine and sine of a pair are multiplied by at a position: the ladder's magnitude, and
 * xPos's scale. */
double posref_bend_magnitude(const struct bend_job *job, const struct bend_ladder *ladder, int i,
                             double position);
/* Adds an output of that shape with its limits. */
POSREF_MUST_USE enum posref_status posref_bend_output(double **value, double **limit,
                                                      double **scale, struct bend_job *job,
                                                      const char *name, int rank,
                                                      const int64_t *shape);
/* Room for so many pairs, when they are wanted. */
POSREF_MUST_USE enum posref_status posref_bend_pairs(struct bend_job *job, int64_t n);
/* Notes a pair, when they are wanted. */
void posref_bend_note(struct bend_job *job, const struct posref_bent_pair *pair);
/* Says that an element of output `tensor` is as the steps before truncation have it: once of each.
 * False: the rest is not wanted. */
bool posref_bend_done(struct bend_job *job, int tensor, int64_t element);
/* The element that is wanted first; 0 where it is not there, of n. */
int64_t posref_bend_first(const struct bend_job *job, int64_t n);
/* Where a row, of n tokens with so many heads each, is written to, and whence a row that is written
 * comes: the last two tokens may change places. */
int64_t posref_bend_row(const struct bend_job *job, int64_t row, int64_t n, int64_t heads);
/* Half a spacing of the dtype at x, and a little. */
static inline double posref_bend_rounding(const struct bend_job *job, double x)
{
    return fabs(x) * job->spacings + job->least;
}

POSREF_MUST_USE enum posref_status posref_bend_rope(struct bend_job *job);
/* bend_rotate.c. Rotations and their gradients. */
POSREF_MUST_USE enum posref_status posref_bend_rotate(struct bend_job *job,
                                                      struct bend_ladder *ladder,
                                                      const struct posref_tensor *positions);
/* The position of row n that turns pair i, as given. */
double posref_bend_given(const struct posref_spec *spec, const double *p, int64_t n_rows,
                         int64_t n, int i);
POSREF_MUST_USE enum posref_status posref_bend_sinusoidal(struct bend_job *job);
POSREF_MUST_USE enum posref_status posref_bend_alibi(struct bend_job *job);

#endif
