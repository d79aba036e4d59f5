/* SPDX-License-Identifier: Apache-2.0 */
/* Tables made of waves, one block of channels a coordinate, and the sums x + table. Private to
 * reference/. */
#ifndef POSREF_WAVES_TABLE_H
#define POSREF_WAVES_TABLE_H

#include "rows.h"
#include "waves.h"

/* waves[b] reads coordinates at[b][n]. Blocks cover the channels of a row; a channel that has no
 * sine or cosine, and every channel of a masked row, is zero. */
struct posref_waves_set {
    const struct posref_waves *waves;
    const struct posref_coordinate *const *at;
    int n_blocks;
    const struct posref_rows *rows;
    int x_scale_squared; /* embed: 1, or dim for its square root */
};

/* The output table [n, dim]. */
POSREF_MUST_USE enum posref_status posref_waves_table_output(struct posref_job *job,
                                                             const struct posref_waves_set *set);
/* The output y = x_scale x + table, of the shape of x. */
POSREF_MUST_USE enum posref_status posref_waves_embed_output(struct posref_job *job,
                                                             const struct posref_waves_set *set);

#endif
