/* SPDX-License-Identifier: Apache-2.0 */
/* Which channels a rotation mixes, read off what it makes of basis vectors. The same reading is
 * applied to the plugin and to the reference under each layout it knows. Private to harness/. */
#ifndef POSREF_IDENTIFY_PAIRS_H
#define POSREF_IDENTIFY_PAIRS_H

#include "probe.h"

/* y of every basis vector, [dim, dim] row major: row c is what channel c becomes. */
struct posref_basis {
    int dim;
    const double *at_0, *at_1, *at_5; /* at positions 0, 1 and 5 */
};

/* Asks the plugin about the probe's spec, all axes of the positions at `unit` times these; the
 * first question finds the dtype. */
POSREF_MUST_USE enum posref_status posref_basis_ask(struct posref_basis *out,
                                                    struct posref_probe *probe, double unit,
                                                    struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_basis_eval(struct posref_basis *out,
                                                     const struct posref_spec *spec,
                                                     const struct posref_arena *arena,
                                                     struct posref_error *err);

struct posref_pair {
    int in[2];  /* in[0] < in[1] */
    int out[2]; /* where they are at position 0 */
    double angle;     /* at position 1, positive when in[0] turns towards in[1]; in (-pi, pi] */
    double magnitude; /* at position 1 */
    double offset;    /* angle at position 0 */
    double crooked;   /* how far the pair's matrix is from a rotation, relative */
};

struct posref_pairs {
    int dim, n;
    struct posref_pair *pair; /* by in[0] */
    int n_copied;             /* channels that are left alone */
    int n_moved;              /* channels that are only put elsewhere */
    int n_scaled;             /* channels alone that change */
    int n_mixed;              /* channels in groups of three and more: no rotation */
    int first_copied;         /* or -1 */
};

POSREF_MUST_USE enum posref_status posref_pairs_read(struct posref_pairs *out,
                                                     const struct posref_basis *basis,
                                                     const struct posref_arena *arena,
                                                     struct posref_error *err);

/* The same channels mix, come out at the same places and turn the same way. */
bool posref_pairs_alike(const struct posref_pairs *a, const struct posref_pairs *b);

#endif
