/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of rope in the layouts of released code, judged value by value. */
#ifndef ORACLE_ROPE_TABLE_H
#define ORACLE_ROPE_TABLE_H

#include "oracle.h"

enum rope_layout { ROPE_SPLIT, ROPE_COS_SIN, ROPE_CONCAT, ROPE_REPEAT, ROPE_COMPLEX, ROPE_MATRIX,
                   ROPE_SIN_COS, ROPE_INTERLEAVED, ROPE_ANGLES };

struct rope_table {
    enum rope_layout layout;
    struct oracle_tensor *cos, *sin, *table, *angles;
    int64_t n; /* pairs */
};

/* Outputs of the case, before shapes are known. False with c->error: an unknown layout. */
bool rope_table_read(struct rope_table *t, struct oracle_case *c);
bool rope_table_any(const struct rope_table *t);
/* Whether the outputs have the layout's shape for n pairs at that many positions. */
bool rope_table_shaped(struct rope_table *t, struct oracle_case *c, int64_t positions, int64_t n);
/* Judges what a row says of pair i: cosine and sine carry the attention factor; angle does not.
 * False: more bits are needed. */
bool rope_table_judge(const struct rope_table *t, struct oracle_tally *tally, struct oracle_case *c,
                      int64_t row, int64_t i, const arb_t cosine, const arb_t sine, slong prec);
bool rope_table_angle(const struct rope_table *t, struct oracle_tally *tally,
                      struct oracle_case *c, int64_t row, int64_t i, const arb_t angle, slong prec);

#endif
