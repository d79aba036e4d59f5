/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that are other inputs than those handed in, or outputs put elsewhere: axes of positions
 * exchanged, a mask read the other way round, a bias transposed. They come before (inputs) and
 * after (outputs) everything a bend does. Private to harness/. */
#ifndef POSREF_TWISTS_H
#define POSREF_TWISTS_H

#include "vectors/vectors.h"

struct posref_twisting {
    const struct posref_spec *spec; /* completed, as changed by the fault */
    enum posref_op op;
    double value;                   /* the fault's parameter */
    const struct posref_arena *arena;
};

/* Changes tensors of `set` (F64; data that change are replaced, never written to) and says whether
 * anything was changed; without memory nothing is. */
typedef bool posref_twist(struct posref_tensors *set, const struct posref_twisting *t);

/* Positions that also say which keys are seen (causal_align=position): what another position of the
 * encoding alone would give cannot be told by evaluating the spec. */
bool posref_positions_hide_keys(const struct posref_spec *spec);

/* Positions of several axes. */
posref_twist posref_twist_axes_exchange; /* the last two */
posref_twist posref_twist_axes_reverse;  /* all */
posref_twist posref_twist_axes_collapse; /* that of axis 0 on every axis */
posref_twist posref_twist_axis_mirror;   /* axis `value` counted from its other end */
posref_twist posref_twist_axes_centre;   /* each axis around the middle of its range */
posref_twist posref_twist_axis_scale;    /* axis 0 times `value` */
posref_twist posref_twist_positions_packed; /* [axes, n] read as [n, axes] */
posref_twist posref_twist_grid_columns;  /* a grid of two axes walked column by column */
posref_twist posref_twist_grid_rows;     /* a grid that is walked otherwise, row by row */
posref_twist posref_twist_grid_blocks;   /* ... in blocks of `value` by `value` tokens */

/* Relative distances and their tables. */
posref_twist posref_twist_negate_positions;
posref_twist posref_twist_cut_table;       /* weights, to the entries that the spec has */
posref_twist posref_twist_reshape_table;   /* weights read as [heads, entries], or the reverse */
posref_twist posref_twist_exchange_parameters; /* r1 and r2, u and v_bias */
posref_twist posref_twist_drop_values;     /* value_weights are 0 */
posref_twist posref_twist_drop_c2p;        /* key_weights are 0 */
posref_twist posref_twist_drop_p2c;        /* query_weights are 0 */
posref_twist posref_twist_drop_u;
posref_twist posref_twist_drop_v;          /* v_bias is 0 */
posref_twist posref_twist_exchange_tables; /* key_weights and query_weights */
posref_twist posref_twist_cut_rows;        /* weights, to npos_max rows */
posref_twist posref_twist_scale_term;      /* what the term of the position is linear in times
                                            * `value`: its tables, or the factor before it */
posref_twist posref_twist_first_head;      /* tables of head 0 for all heads */

/* Scores and attention. */
posref_twist posref_twist_see_all;         /* mask of ones */
posref_twist posref_twist_invert_mask;
posref_twist posref_twist_hide_last_key;   /* of attention, from every query */
posref_twist posref_twist_deal_heads;      /* query head h reads key head h mod kv_heads */
posref_twist posref_twist_bare_keys;       /* k_positions 0 */
posref_twist posref_twist_bare_queries;    /* q_positions 0 */
posref_twist posref_twist_scale_query;     /* q, u and v_bias times softmax_scale */
posref_twist posref_twist_scale_by_heads;  /* the same, by 1/sqrt(heads) */
posref_twist posref_twist_scale_bias;      /* biases times softmax_scale */

/* Of outputs, their own inverses: applied to what came back. */
posref_twist posref_twist_transpose;       /* [..., n, n] in the last two dimensions */
posref_twist posref_twist_negate;

#endif
