/* SPDX-License-Identifier: Apache-2.0 */
/* Rope over several position axes: which axis turns a pair, and by which frequency. Evaluation and
 * judging both ask here. Private to reference/.
 *
 * A ladder is a sequence of frequencies. Sections (M-RoPE) and plain rope have one over the whole
 * rotary_dim; axes_dims gives each axis a ladder of its own over its own width, unless axes_ladder
 * says that they share one. */
#ifndef POSREF_AXES_H
#define POSREF_AXES_H

#include "reference.h"

#define POSREF_MAX_AXES POSREF_MAX_INTS

struct posref_axis_pair {
    int axis;   /* row of the positions */
    int ladder; /* < posref_axes_ladders */
    int index;  /* on the ladder */
};

/* Position axes of a completed rope spec. */
int posref_axes_count(const struct posref_spec *spec);
int posref_axes_ladders(const struct posref_spec *spec);

/* The pair i < rotary_dim / 2. */
void posref_axes_pair(struct posref_axis_pair *out, const struct posref_spec *spec, int i);

/* Twice the length of a ladder: d of its exponent 2i/d, but with partial=proportional. */
int posref_axes_width(const struct posref_spec *spec, int ladder);

/* The spec of rope in one axis whose frequencies are that ladder: its rotary_dim is twice the
 * ladder's length. It is `spec` itself, or *own. */
const struct posref_spec *posref_axes_ladder(struct posref_spec *own,
                                             const struct posref_spec *spec, int ladder);

/* The channels that pair i shares with others of its kind, as if they were a rope of their own:
 * the axis's block, or all rotated ones. *offset is its first channel, *width how many there are,
 * *at the pair's number among its width / 2. */
void posref_axes_block(int *offset, int *width, int *at, const struct posref_spec *spec, int i);

/* Defaults that depend on which fields are given, before all others are filled in. */
void posref_axes_defaults(struct posref_spec *spec);
/* Checks the fields of several axes and derives those without a value; rotary_dim is known. */
POSREF_MUST_USE enum posref_status posref_axes_check(struct posref_spec *spec,
                                                     struct posref_error *err);

#endif
