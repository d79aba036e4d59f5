/* SPDX-License-Identifier: Apache-2.0 */
/* The footers of the shards of one run as that of the run. Private to harness/. */
#ifndef POSREF_MERGE_FOOTERS_H
#define POSREF_MERGE_FOOTERS_H

#include "stream.h"
#include "wire.h"

struct posref_merged_footers {
    json_t *explanations, *description, *arithmetic; /* owned; description: NULL is none */
    json_t *sentences; /* owned; an object: "ID DTYPE" to the shard's {"id", "dtype", "summary"} */
    char *printed;     /* owned; of the first shard whose plugin printed, or NULL */
    struct posref_left left;
    int64_t n_unexplained, n_failing, printed_bytes;
    unsigned n_workers;
    enum posref_verdict close_verdict;
};

/* Adds up n footers, in the order of the shards. false: no memory; *out is to be cleared in any
 * case. */
POSREF_MUST_USE bool posref_merge_footers(struct posref_merged_footers *out,
                                          json_t *const *footers, size_t n);
void posref_merged_footers_clear(struct posref_merged_footers *footers); /* {0} is fine */

/* The explanations of shards as those of the run: claims of one fault become one. The list `into`
 * is changed in place. merge_explanations.c */
POSREF_MUST_USE bool posref_merge_explanations(json_t *into, const json_t *list);
/* Claims first, those that explain more before others, with their new ranks; and no runner-up that
 * is claimed by another shard. `failing`: the failures that were looked at, of all. */
POSREF_MUST_USE bool posref_merge_explanations_end(json_t **list, int64_t failing);

#endif
