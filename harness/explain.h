/* SPDX-License-Identifier: Apache-2.0 */
/* Why vectors failed: every fault is tried on every failing vector, and claimed for a class of
 * vectors only when it fits all failures of the class in which it can be seen. Private to
 * harness/. */
#ifndef POSREF_EXPLAIN_H
#define POSREF_EXPLAIN_H

#include "faults.h"
#include "reference/judge.h"

/* The outputs of a vector under each fault, made when first asked for and shared by its dtypes. */
struct posref_alternatives {
    const struct posref_vector *vector;
    const struct posref_arena *arena; /* lives as long as the vector */
    bool tried[POSREF_MAX_FAULTS], there[POSREF_MAX_FAULTS];
    struct posref_spec spec[POSREF_MAX_FAULTS];
    struct posref_tensors golden[POSREF_MAX_FAULTS];
};

/* What the faults say about one failing vector in one dtype; bit f is posref_faults[f]. */
struct posref_fit {
    uint32_t live; /* its output differs from the right one beyond the limits */
    uint32_t fits; /* live, and within the limits of what came back */
    double residual[POSREF_MAX_FAULTS]; /* largest error in units of the limit, where it fits */
};

POSREF_MUST_USE enum posref_status
posref_fit_try(struct posref_fit *out, struct posref_alternatives *alternatives,
               const struct posref_tensors *actual, enum posref_dtype dtype, enum posref_grade gate,
               const struct posref_arena *scratch, struct posref_error *err);

/* All failures of a run. */
struct posref_explainer;
struct posref_explainer *posref_explainer_new(void); /* NULL: no memory */
void posref_explainer_free(struct posref_explainer *explainer);
/* Keeps what is needed of one failure. */
POSREF_MUST_USE enum posref_status
posref_explainer_add(struct posref_explainer *explainer, const struct posref_fit *fit,
                     const struct posref_alternatives *alternatives, enum posref_dtype dtype,
                     struct posref_error *err);

/* The claims, as a JSON list ordered by the number of vectors, then the number of failures that no
 * claim covers. */
POSREF_MUST_USE enum posref_status posref_explainer_json(struct posref_buffer *out,
                                                         size_t *n_unexplained,
                                                         struct posref_explainer *explainer,
                                                         struct posref_error *err);

#endif
