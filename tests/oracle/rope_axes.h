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
/* Cosine and sine without the attention factor; *part: when not NULL, the denominator of the angle
 * in turns where it is rational and at most 24, else 0. */
void axes_cos_sin(arb_t cosine, arb_t sine, int *part, const struct axes *a, int64_t column,
                  double position, slong prec);

/* Judges every output of a case with several axes. */
void axes_judge(struct oracle_tally *t, struct oracle_case *c);

#endif
