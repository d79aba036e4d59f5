/* SPDX-License-Identifier: Apache-2.0 */
/* Positions while they are read, token after token. Shared by the positions*.c files alone. */
#ifndef POSREF_POSITIONS_H
#define POSREF_POSITIONS_H

#include "vectors/vectors.h"

#define POSREF_GATHER_AXES 8

/* value[token * n_axes + axis], with room for all that will come; NULL: they are only counted. */
struct posref_gather {
    const char *key; /* for errors */
    double *value;
    int n_axes; /* 0: not known yet */
    int64_t n;
};

POSREF_MUST_USE enum posref_status posref_gather_add(struct posref_gather *to, const double *token,
                                                     int n_axes, struct posref_error *err);

/* The grid words, without a list's commas: grid:..., xgrid:..., blocks:M:... False: `word` is none
 * of them. `word` is cut up. */
bool posref_gather_is_grid(const char *word);
POSREF_MUST_USE enum posref_status posref_gather_grid(struct posref_gather *to, char *word,
                                                      struct posref_error *err);

/* What follows "mrope:": a sequence of texts, images and videos with commas between them. */
POSREF_MUST_USE enum posref_status posref_gather_mrope(struct posref_gather *to, const char *text,
                                                       struct posref_error *err);

/* A whole number in [least, most] that is the whole text. */
POSREF_MUST_USE enum posref_status posref_gather_whole(int64_t *out, const char *text,
                                                       int64_t least, int64_t most,
                                                       const char *key, struct posref_error *err);

#endif
