/* SPDX-License-Identifier: Apache-2.0 */
/* Rope whose positions have several axes, for scheme_rope.c and rope_axes*.c. */
#ifndef ORACLE_ROPE_AXES_H
#define ORACLE_ROPE_AXES_H

#include "rope_frequency.h"

#define AXES_MAX 8

struct axes_list {
    int64_t n, item[AXES_MAX];
};

/* A column of the tables: cosine and sine of coordinate `axis` times a frequency, which is
 * power * extra_base^extra / divisor, counted in radians, turns or quarter turns; or that of pair
 * `shared` of a scaled ladder. */
struct axes_column {
    int64_t axis, shared;
    struct oracle_power power;
    double extra_base, divisor; /* 1: none */
    fmpq_t extra;
};

/* Columns first ... first + n - 1 pair up the channels of 2 n consecutive ones, from 2 first on. */
struct axes_block {
    int64_t first, n;
};

struct axes {
    int64_t r, n_columns, n_axes, n_blocks;
    enum { AXES_RADIAN, AXES_TURN, AXES_QUARTER } unit;
    bool scaled; /* frequencies and attention factor are those of f */
    struct rope_frequencies f;
    struct axes_column *column;
    struct axes_block block[AXES_MAX];
};

/* Whether the spec has several axes. */
bool axes_present(const struct oracle_case *c);
/* Reads the spec; false with c->error. Clear in both cases. */
bool axes_init(struct axes *a, struct oracle_case *c);
void axes_clear(struct axes *a);
/* The frequency in radians. */
void axes_frequency(arb_t out, const struct axes *a, int64_t column, slong prec);
/* Cosine and sine without the attention factor; *part: the denominator of the angle in turns
 * where it is rational and at most 24, else 0. */
void axes_cos_sin(arb_t cosine, arb_t sine, int *part, const struct axes *a, int64_t column,
                  double position, slong prec);

/* How pairs lie in a head of `dim` channels, of which the rotated ones begin at `first`. */
struct axes_layout {
    int64_t dim, first;
    bool reads_half, writes_half, mismatched, inverse;
};

/* Channel `which` of pair j of the block. */
int64_t axes_channel(const struct axes_layout *l, const struct axes_block *block, bool half,
                     int64_t j, int which);

/* rope_axes_attention.c: scores and attention, where the case has them. */
void axes_attention_judge(struct oracle_tally *t, struct oracle_case *c, const struct axes *a,
                          const struct axes_layout *layout);

/* Judges every output of a case with several axes. */
void axes_judge(struct oracle_tally *t, struct oracle_case *c);

#endif
