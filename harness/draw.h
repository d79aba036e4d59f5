/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs drawn from a nonce: the same nonce and name draw the same values on every machine. Private
 * to harness/. */
#ifndef POSREF_DRAW_H
#define POSREF_DRAW_H

#include "vectors/vectors.h"

struct posref_draw {
    uint64_t state;
};

/* A nonce that nobody knows beforehand, from the system. */
POSREF_MUST_USE enum posref_status posref_nonce_new(uint64_t *out, struct posref_error *err);
/* 1 to 16 hex digits. BAD_INPUT (--nonce) otherwise. */
POSREF_MUST_USE enum posref_status posref_nonce_parse(uint64_t *out, const char *text,
                                                      struct posref_error *err);

/* The start of a stream of words for one purpose, e.g. one vector's id. */
struct posref_draw posref_draw_begin(uint64_t nonce, const char *name);
uint64_t posref_draw_word(struct posref_draw *draw);
/* 0 ... n - 1, n > 0. */
int64_t posref_draw_below(struct posref_draw *draw, int64_t n);
/* A nonzero multiple of 1/16 below 4 in size: exact in every dtype, and so is a sum of two. */
double posref_draw_value(struct posref_draw *draw);

/* A vector's inputs drawn anew, in the arena: shapes, kinds of positions and sizes of values stay.
 * Positions that count up by one begin elsewhere, not above the largest they had; other whole ones
 * shrink by a common share below 1/8, so that order, repetition and zeros stay; fractions and grids
 * over several axes stay. Values keep their exponent (and are exact in the dtypes as before):
 * their other seven bits are drawn, and the sign too where an input is no parameter. Zeros,
 * infinities and masks stay. */
POSREF_MUST_USE enum posref_status posref_draw_inputs(struct posref_tensors *out,
                                                      const struct posref_vector *vector,
                                                      struct posref_draw *draw,
                                                      const struct posref_arena *arena,
                                                      struct posref_error *err);

#endif
