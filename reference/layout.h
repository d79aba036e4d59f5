/* SPDX-License-Identifier: Apache-2.0 */
/* Which channels a pair has and which slope a head: the conventions that evaluation and judging
 * share, so that a new pairing or rule is known to both at once. Private to reference/. */
#ifndef POSREF_LAYOUT_H
#define POSREF_LAYOUT_H

#include "reference.h"

/* One pair of rope: reads channels in[0], in[1] and writes
 *     y[out[0]] = x[in[0]] cos a - x[in[1]] sin a,    a = angle of frequency[0],
 *     y[out[1]] = x[in[1]] cos b + x[in[0]] sin b,    b = angle of frequency[1]. */
struct posref_layout_pair {
    int in[2], out[2], frequency[2];
};

/* Pairs that turn: rotary_dim / 2, or the share of them that partial=proportional leaves. */
int posref_layout_pairs(const struct posref_spec *spec);

/* Rope: pair i < posref_layout_pairs, as the spec's pairing and partial have it. */
void posref_layout_rope(struct posref_layout_pair *out, const struct posref_spec *spec, int i);

/* copied[k] (k < dim) = no pair writes channel k: y is a copy of x there. */
void posref_layout_copied(bool *copied, const struct posref_spec *spec);

/* How a table of rope is laid out. A row has `width` elements in each of its outputs; every cosine
 * and every sine stands in it `copies` times. */
struct posref_table_form {
    enum posref_table_layout layout;
    bool joined; /* one output, table; else cos and sin */
    int copies, rank, width;
    int64_t shape[3]; /* [rank], of a row */
};
/* Angles have the row of one cosine. */
void posref_layout_table(struct posref_table_form *out, const struct posref_spec *spec);
/* Places in the row of a copy of column i's cosine and sine; *negated: -sin stands there. */
void posref_layout_table_at(int *cosine, int *sine, bool *negated,
                            const struct posref_table_form *form, int i, int copy);

/* A block of channels that holds sines and cosines of one coordinate: frequency i < n_sines has its
 * sine, and its cosine when i < n_cosines; channels of no frequency are zero. */
struct posref_block {
    int first, width, n_sines, n_cosines;
    int order; /* enum posref_order */
};
/* The block of a sinusoidal, timestep or fourier spec. */
void posref_layout_block(struct posref_block *out, const struct posref_spec *spec);
/* Channels of sine and cosine i < n_sines; *cosine = -1: there is none. */
void posref_layout_wave(int *sine, int *cosine, const struct posref_block *block, int i);

/* ALiBi: slope h < num_heads is 2^(-alibi_bias_max num / den), before any rounding to bfloat16. */
void posref_layout_slope(int *num, int *den, const struct posref_spec *spec, int h);

#endif
