/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of faults. Of some ten thousand only those are tried of which both change the first failure
 * of the class: what one alone does to it is known, and such a pair does no more. */
#include "explain_search.h"

/* Takes one try of a failure from what is left of the search's time; false: nothing is. */
static bool afford(struct posref_explainer *e, const struct explain_failure *f)
{
    int64_t *left = f->bent ? &e->n_tries_left : &e->exact_work_left;
    *left -= f->bent ? 1 + f->work / 64 : f->work;
    return *left > 0;
}

/* What a fault alone does to the first failure. */
static void fill_alone(struct explain_single *single, const struct explain_search *s,
                       struct posref_spec *changed, enum explain_fit alone)
{
    const struct explain_failure *first = posref_explain_failure(s, 0);
    struct posref_bend bend;
    single->takes_part =
        posref_claim_bend(&bend, changed, &single->claim, first->spec, first->op) != 0;
    single->changes_spec = bend.spec != first->spec;
    single->changed = single->takes_part && single->changes_spec ? changed : NULL;
    single->alone = alone;
}

/* Which of the two, in their order, take part in the pair. Where no spec changes, those that do so
 * alone; where one of them changes it as it does alone, the steps are what is left to add. */
static unsigned parts_of(struct posref_bend *bend, struct posref_spec *changed,
                         const struct posref_claim *pair, const struct explain_single *a,
                         const struct explain_single *b, const struct explain_failure *f)
{
    const bool none = !a->changes_spec && !b->changes_spec;
    if ((!a->takes_part && !b->changes_spec) || (!b->takes_part && !a->changes_spec))
        return (a->takes_part ? 1U : 0U) | (b->takes_part ? 2U : 0U);
    if (none)
        return posref_claim_steps(bend, pair, f->spec, f->op);
    if (a->changed && !posref_fault_is_spec(b->claim.fault[0]))
        return 1U | posref_claim_steps(bend, pair, a->changed, f->op);
    if (b->changed && !a->changes_spec)
        return 2U | posref_claim_steps(bend, pair, b->changed, f->op);
    return posref_claim_bend(bend, changed, pair, f->spec, f->op);
}

/* Two single claims together, in the order of the registry; false: there is no time left. */
static bool examine_pair(struct explain_search *s, const struct explain_single *a,
                         const struct explain_single *b)
{
    const struct explain_failure *first = posref_explain_failure(s, 0);
    if (a->claim.fault[0] == b->claim.fault[0])
        return true;
    if (b->order < a->order) {
        const struct explain_single *kept = a;
        a = b;
        b = kept;
    }
    const struct posref_claim claim = {{a->claim.fault[0], b->claim.fault[0]},
                                       {a->claim.value[0], b->claim.value[0]}};
    struct posref_bend bend;
    struct posref_spec changed;
    enum explain_fit fit = EXPLAIN_MISSES;
    double residual;
    const unsigned parts = parts_of(&bend, &changed, &claim, a, b, first);
    if (parts == 3) {
        if (!afford(s->e, first))
            return false;
        const struct posref_arena scratch = posref_explain_scratch(s);
        fit = posref_explain_try_bend(&residual, &claim, &bend, first, &scratch);
    } else if (parts != 0) {
        fit = parts == 1 ? a->alone : b->alone;
    }
    if (fit != EXPLAIN_MISSES)
        posref_explain_examine(s, &claim);
    return true;
}

static struct explain_single single_of(const struct posref_claim *claim)
{
    struct explain_single single = {.claim = *claim};
    while (posref_fault_at(single.order) != claim->fault[0])
        single.order++;
    return single;
}

void posref_explain_pairs(struct explain_search *s)
{
    const struct posref_claim second = s->class->second; /* alone it fits some failures */
    for (int a = 0; a < s->n_singles; a++)
        fill_alone(&s->single[a], s, &s->changed[a], (enum explain_fit)s->class->first_fit[a]);
    posref_explain_examine_slopes(s);
    if (second.fault[0] && !second.fault[1]) {
        struct explain_single partial = single_of(&second);
        fill_alone(&partial, s, &s->changed[EXPLAIN_SINGLES], EXPLAIN_FITS);
        for (int b = 0; b < s->n_singles; b++)
            if (!examine_pair(s, &partial, &s->single[b]))
                return;
    }
    for (int a = 0; a < s->n_singles; a++) {
        for (int b = a + 1; b < s->n_singles; b++)
            if (!examine_pair(s, &s->single[a], &s->single[b]))
                return;
        posref_explain_examine_estimates(s, &s->single[a].claim);
    }
}
