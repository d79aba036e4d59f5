/* SPDX-License-Identifier: Apache-2.0 */
/* What reports say of a kernel's arithmetic, from the "arithmetic" of a stream's footer. Private to
 * harness/. */
#ifndef POSREF_REPORT_ARITHMETIC_H
#define POSREF_REPORT_ARITHMETIC_H

#include "report.h"

/* The recipes that the outputs of one scheme and dtype have, best first: each agrees in at least
 * 98 % of the elements that tell it from others, and within half a percent of the best. */
#define POSREF_MAX_FITS 8
struct posref_fits {
    const json_t *recipe[POSREF_MAX_FITS]; /* of "tried" */
    int n;
    const json_t *nearest; /* where n = 0: one that agrees in 75 % at least; or NULL */
    bool asked; /* recipes were told apart at all: without a fit there is none that is known */
};
void posref_fits_find(struct posref_fits *out, const json_t *entry);

/* "equals ..., in 28388 of the 28388 elements that tell it from other recipes, ...", or "no known
 * recipe ..."; false: there is nothing to say. Plain text, without a full stop. */
bool posref_fits_text(struct posref_buffer *out, const json_t *entry);

/* "valid to 8191 at 1e-06, to 131072 at 1e-04, ...", or "valid nowhere" and false. */
bool posref_valid_text(struct posref_buffer *out, const json_t *entry);

/* Both, with `between` where there are both. */
void posref_arithmetic_text(struct posref_buffer *out, const json_t *entry, const char *between);
/* The same on one line, escaped for a format. */
void posref_arithmetic_escaped(struct posref_buffer *out, const json_t *entry,
                               posref_escape *escape);

/* Part 0, 1 or 2 of a step: see posref_profile_json. */
double posref_step_part(const json_t *step, size_t part);

/* The error below which 99.9 % of a decade's pairs lie, from its buckets: at most 9 % too large. */
double posref_decade_most(const json_t *decade);
double posref_decade_bias(const json_t *decade); /* mean signed error */

/* Calls draw for each scheme of the footer that is valid somewhere, with its entries by dtype
 * (NULL: none). What is wrong everywhere has no arithmetic to show. */
void posref_arithmetic_each(const struct posref_tally *tally,
                            void (*draw)(void *ctx, const char *scheme,
                                         const json_t *const entry[POSREF_N_FLOATS]),
                            void *ctx);
/* The decade of an entry, or NULL. */
const json_t *posref_arithmetic_decade(const json_t *entry, int bin);
bool posref_arithmetic_has(const json_t *const entry[POSREF_N_FLOATS], int bin);

/* Appends the "arithmetic" of --report json. */
void posref_arithmetic_report(struct posref_buffer *out, const struct posref_tally *tally);

/* Adds a shard's list to another: counts add up, recipes that either dropped are dropped. The list
 * `into` is changed in place. */
void posref_arithmetic_merge(json_t *into, const json_t *list);
/* After the last: in the order of a run, without what only shards have. */
void posref_arithmetic_merge_end(json_t *list);

#endif
