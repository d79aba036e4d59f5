/* SPDX-License-Identifier: Apache-2.0 */
/* A rope spec compiled to a plan: for each pair the channels it reads and writes, its axis, its
 * frequency as a fraction of a turn, and the sense of its rotation. Every pairing, partial rotation
 * and axis split is a plan; rotating is one loop over it. Private to reference/. */
#ifndef POSREF_PLAN_H
#define POSREF_PLAN_H

#include "axes.h"
#include "frequencies.h"

/* y[out[0]] = x[in[0]] cos a - sign x[in[1]] sin a,  a = position * theta of column[0];
 * y[out[1]] = x[in[1]] cos b + sign x[in[0]] sin b,  b = position * theta of column[1]. */
struct posref_plan_pair {
    int in[2], out[2];
    int column[2]; /* different ones are no rotation (mismatched tables) */
    int sign;      /* +1 forward, -1 inverse */
};

/* A column of a table is cos and sin of position[axis] * theta, its axis and theta as column[i]
 * says. */
struct posref_plan {
    struct posref_frequencies of[POSREF_MAX_AXES]; /* [n_ladders] */
    struct posref_magnitude magnitude; /* of every pair */
    double attention_factor;           /* the magnitude, correctly rounded */
    int n_pairs, n_columns, n_ladders, n_axes, dim;
    struct posref_plan_pair *pair;   /* [n_pairs] */
    struct posref_axis_pair *column; /* [n_columns] */
    struct posref_turn *turn;        /* [n_columns] */
    double *inv_freq;                /* [n_columns], correctly rounded */
    bool *copied;                    /* [dim]: y is a copy of x in this channel */
};

/* Compiles job->spec; memory from the job's arena. */
POSREF_MUST_USE enum posref_status posref_plan_compile(struct posref_plan *out,
                                                       struct posref_job *job);

/* The plan of the job's spec: the shared one, or one made for it. */
POSREF_MUST_USE enum posref_status posref_rope_plan(const struct posref_plan **out,
                                                    struct posref_job *job);

/* Op table: the outputs of the spec's table_layout (enum posref_op), correctly rounded. */
POSREF_MUST_USE enum posref_status posref_rope_table(struct posref_job *job,
                                                     const struct posref_plan *plan,
                                                     const struct posref_positions *positions);

/* y [n, heads, dim] from x of that shape, each element correctly rounded, copied channels bit for
 * bit. */
POSREF_MUST_USE enum posref_status posref_plan_rotate(double *y, const double *x, int64_t heads,
                                                      const struct posref_plan *plan,
                                                      const struct posref_positions *positions);

/* One element of a rotation, as a posref_ball_fn's context: with_cos cos a + with_sin sin a of
 * angle a = position * frequency `index`, the magnitude included; what is exact has radius 0. */
struct posref_plan_element {
    const struct posref_frequencies *of;
    int index;
    double position, with_cos, with_sin;
};
POSREF_MUST_USE enum posref_status posref_plan_element_ball(struct posref_ball *out,
                                                            const void *ctx, unsigned prec_bits);

/* The complex formulation, a second routine for the same numbers: z = x1 + i x2 times
 * (attention factor) * (e^{i theta})^position, the power by repeated squaring of complex balls.
 * It shares neither the turn, nor the double-double, nor the rotation loop with the first.
 * position must be a whole number. */
POSREF_MUST_USE enum posref_status posref_rotate_complex(double *y1, double *y2,
                                                         const struct posref_frequencies *of,
                                                         int frequency, double position, double x1,
                                                         double x2);

#endif
