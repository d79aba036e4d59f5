/* SPDX-License-Identifier: Apache-2.0 */
/* Which channels a pair has and which slope a head: the conventions that evaluation and judging
 * share, so that a new pairing or rule is known to both at once. Private to reference/. */
#ifndef POSREF_LAYOUT_H
#define POSREF_LAYOUT_H

#include "reference.h"

/* Rope: the two channels of pair i < rotary_dim / 2, as the spec's pairing has them. */
void posref_layout_rope(int *first, int *second, const struct posref_spec *spec, int i);

/* A block of channels that holds sines and cosines of one coordinate: frequency i < n_sines has its
 * sine, and its cosine when i < n_cosines; channels of no frequency are zero. */
struct posref_block {
    int first, width, n_sines, n_cosines;
    int order; /* enum posref_order */
};
/* The block of a sinusoidal or timestep spec. */
void posref_layout_block(struct posref_block *out, const struct posref_spec *spec);
/* Channels of sine and cosine i < n_sines; *cosine = -1: there is none. */
void posref_layout_wave(int *sine, int *cosine, const struct posref_block *block, int i);

/* ALiBi: slope h < num_heads is 2^(-alibi_bias_max num / den), den a power of two. */
void posref_layout_slope(int *num, int *den, const struct posref_spec *spec, int h);

#endif
