/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the search share. Private to harness/explain_*.c. */
#ifndef POSREF_EXPLAIN_SEARCH_H
#define POSREF_EXPLAIN_SEARCH_H

#include "explain_impl.h"

#define EXPLAIN_FOUND 64
#define EXPLAIN_ESTIMATED 16

/* A single fault, and what it does to the first failure of the class at hand (of pairs). */
struct explain_single {
    struct posref_claim claim;
    int order; /* in the registry */
    bool changes_spec, takes_part;
    struct posref_spec *changed; /* when it takes part and changes the spec; of the search */
    enum explain_fit alone;
};

struct explain_search {
    struct posref_explainer *e;
    struct explain_class *class;
    struct explain_single single[EXPLAIN_SINGLES];
    struct posref_spec changed[EXPLAIN_SINGLES + 1]; /* their specs, and that of one more */
    int n_singles;
    int scheme; /* that they are listed for; -1: none */
    const struct posref_fault *estimated[EXPLAIN_ESTIMATED]; /* whose values outputs show */
    int n_estimated;
    struct posref_claim found[EXPLAIN_FOUND]; /* what fits some class may fit the others */
    int n_found;
};

/* Failure k of the class, known. */
static inline const struct explain_failure *posref_explain_failure(const struct explain_search *s,
                                                                   int k)
{
    struct explain_failure *failure = &s->e->failure[s->class->failure[k]];
    const struct posref_arena scratch = posref_heap_arena(s->e->scratch);
    if (!failure->known)
        posref_explain_right(failure, &scratch);
    return failure;
}

/* Memory until the next try. */
static inline struct posref_arena posref_explain_scratch(struct explain_search *s)
{
    posref_heap_reset(s->e->scratch);
    return posref_heap_arena(s->e->scratch);
}

/* Tries a claim on all failures of the class; keeps it when it fits them, or that it came close.
 * How a single fault fits the first one; what is kept already is not tried. */
enum explain_fit posref_explain_examine(struct explain_search *s, const struct posref_claim *claim);

/* explain_values.c. Examines estimated values of every fault that has one, on top of `base`. */
void posref_explain_examine_estimates(struct explain_search *s, const struct posref_claim *base);
/* Two faults of which neither has a value to begin with: frequencies scaled, and positions. */
void posref_explain_examine_slopes(struct explain_search *s);

/* explain_pairs.c. Examines pairs of faults, for as long as the search's time lasts. */
void posref_explain_pairs(struct explain_search *s);

#endif
