/* SPDX-License-Identifier: Apache-2.0 */
/* Why vectors failed. Failures are kept as they come; at the end every fault, then every pair of
 * faults, is tried on them: a claim must fit every failure of a class of vectors (op, scheme,
 * pairing, direction, scaling, dtype), within the error that an honest float32 kernel with that
 * fault would have. What nothing fits is described instead. Private to harness/. */
#ifndef POSREF_EXPLAIN_H
#define POSREF_EXPLAIN_H

#include "faults.h"
#include "reference/judge.h"

struct posref_explainer;
struct posref_explainer *posref_explainer_new(void); /* NULL: no memory */
void posref_explainer_free(struct posref_explainer *explainer); /* NULL is fine */

/* Keeps a copy of what is needed of one failure. Beyond POSREF_EXPLAIN_BYTES failures are counted
 * and not kept. */
#define POSREF_EXPLAIN_BYTES ((size_t)256 << 20)
POSREF_MUST_USE enum posref_status posref_explainer_add(struct posref_explainer *explainer,
                                                        const struct posref_vector *vector,
                                                        const struct posref_tensors *actual,
                                                        enum posref_dtype dtype,
                                                        struct posref_error *err);

/* Searches, once, after the last failure. */
POSREF_MUST_USE enum posref_status posref_explainer_search(struct posref_explainer *explainer,
                                                           struct posref_error *err);

/* At most so many distinct sentences are said of one explanation, and so many vectors named that
 * tell a runner-up from it; posref merge keeps to them too. */
#define POSREF_EXPLAIN_SENTENCES 8
#define POSREF_EXPLAIN_KILLERS 3

/* After the search: the explanations as a JSON list, best first, and how many failures none
 * covers. */
void posref_explainer_json(struct posref_buffer *out, size_t *n_unexplained,
                           const struct posref_explainer *explainer);
/* What the unexplained failures look like, as a JSON object; null when there are none. */
void posref_explainer_describe(struct posref_buffer *out, const struct posref_explainer *explainer);
/* The sentence for failure number k (in the order of adding); false: nothing explains it. */
bool posref_explainer_sentence(struct posref_buffer *out, const struct posref_explainer *explainer,
                               size_t k);

#endif
