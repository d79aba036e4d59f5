/* SPDX-License-Identifier: Apache-2.0 */
/* Which channels a pair has and which slope a head: the conventions that evaluation and judging
 * share, so that a new pairing or rule is known to both at once. Private to reference/. */
#ifndef POSREF_LAYOUT_H
#define POSREF_LAYOUT_H

#include "reference.h"

/* Rope: the two channels of pair i < rotary_dim / 2, as the spec's pairing has them. */
void posref_layout_rope(int *first, int *second, const struct posref_spec *spec, int i);

/* Sinusoidal: the channels of the sine and cosine of frequency i < dim / 2, as its order says. */
void posref_layout_sinusoidal(int *sine, int *cosine, const struct posref_spec *spec, int i);

/* ALiBi: slope h < num_heads is 2^(-alibi_bias_max num / den), den a power of two. */
void posref_layout_slope(int *num, int *den, const struct posref_spec *spec, int h);

#endif
