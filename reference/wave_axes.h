/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal tables over several position axes: which channels encode which axis. Evaluation and
 * judging both ask here. Private to reference/.
 *
 * axes_dims gives each axis a block of channels of its own width D, filled as the table of that
 * width alone; axes_channels says in which order the blocks lie:
 *     in_order      that of the axes (DETR: y, x; VideoMAE: t, y, x)
 *     column_first  that of the axes, but the last two exchanged (MAE, DiT: x, y; CogVideoX: t, x,
 *                   y, where the positions are t, y, x)
 *     reversed      the last axis first
 * Position p of an axis of length L stands for the coordinate c = (p + offset) / (L + length_eps),
 * or p + offset without axes_lengths, and turns frequency i by c theta_i units of angle_unit. */
#ifndef POSREF_WAVE_AXES_H
#define POSREF_WAVE_AXES_H

#include "layout.h"

/* Blocks of a completed sinusoidal spec: 1 without axes_dims. */
int posref_wave_axes_count(const struct posref_spec *spec);

/* The axis (row of the positions) of block b, its channels, and the spec of that axis alone, whose
 * dim is the block's width and whose axes_lengths begins with the axis's. */
void posref_wave_axes_block(struct posref_block *block, int *axis, struct posref_spec *alone,
                            const struct posref_spec *spec, int b);

/* Checks the fields of several axes and derives those without a value. */
POSREF_MUST_USE enum posref_status posref_wave_axes_check(struct posref_spec *spec,
                                                          struct posref_error *err);

#endif
