/* SPDX-License-Identifier: Apache-2.0 */
/* Which claims fit all failures of a class: single faults first, then pairs. */
#include "explain_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PAIR_TRIES 50000
#define MAX_EXACT_WORK 2000000 /* about 0.1 us each */

static enum explain_fit try_one(double *residual, struct explain_search *s,
                                const struct posref_claim *claim, int k)
{
    const struct posref_arena arena = posref_explain_scratch(s);
    return posref_explain_try(residual, claim, posref_explain_failure(s, k), &arena);
}

static bool same_bend(const struct posref_bend *a, const struct posref_bend *b)
{
    bool same = a->n_steps == b->n_steps && memcmp(a->spec, b->spec, sizeof *a->spec) == 0;
    for (int k = 0; k < a->n_steps && same; k++)
        same = a->step[k].kind == b->step[k].kind && a->step[k].value == b->step[k].value;
    return same;
}

/* Which faults of the claim change inputs or outputs of the failure. */
static unsigned twists(struct explain_search *s, const struct posref_claim *claim,
                       const struct posref_bend *bend, const struct explain_failure *f)
{
    const struct posref_arena arena = posref_explain_scratch(s);
    struct posref_tensors in = *f->inputs, actual = f->actual;
    unsigned changed = posref_claim_twist(&in, claim, bend, f->op, &arena) |
                       posref_claim_untwist(&actual, claim, bend, f->op, &arena);
    for (int k = 0; k < 2 && claim->fault[k]; k++)
        changed |= claim->fault[k]->mend ? 1U << k : 0;
    return changed;
}

/* Whether both faults of a pair change something, in some failure of the class. */
static bool is_pair(struct explain_search *s, const struct posref_claim *claim)
{
    const struct posref_claim alone[2] = {{{claim->fault[0], NULL}, {claim->value[0], 0}},
                                          {{claim->fault[1], NULL}, {claim->value[1], 0}}};
    bool counts[2] = {false, false};
    for (int k = 0; k < s->class->n && !(counts[0] && counts[1]); k++) {
        const struct explain_failure *f = posref_explain_failure(s, k);
        struct posref_bend both, one;
        struct posref_spec changed[2];
        if (!posref_claim_bend(&both, &changed[0], claim, f->spec, f->op))
            continue;
        const unsigned twisted = twists(s, claim, &both, f);
        for (int which = 0; which < 2; which++)
            counts[1 - which] = counts[1 - which] || twisted >> (1 - which) & 1 ||
                                !posref_claim_bend(&one, &changed[1], &alone[which], f->spec,
                                                   f->op) ||
                                !same_bend(&both, &one);
    }
    return counts[0] && counts[1];
}

static void remember(struct explain_search *s, const struct posref_claim *claim)
{
    for (int k = 0; k < s->n_found; k++)
        if (posref_claim_same(&s->found[k], claim))
            return;
    if (s->n_found < EXPLAIN_FOUND)
        s->found[s->n_found++] = *claim;
}

/* Whether a pair, or a value next to one that came furthest, falls on the failure that the other
 * claim fell on: most do, and one is enough. */
static bool falls_at_once(struct explain_search *s, const struct posref_claim *claim)
{
    const struct explain_class *c = s->class;
    const bool again = c->second_killer > 0 && posref_claim_same(&c->second, claim);
    const int killer = again ? c->second_killer : claim->fault[1] ? c->killer : 0;
    double residual;
    return killer > 0 && try_one(&residual, s, claim, killer) == EXPLAIN_MISSES;
}

enum explain_fit posref_explain_examine(struct explain_search *s,
                                        const struct posref_claim *claim)
{
    struct explain_class *c = s->class;
    enum explain_fit first = EXPLAIN_MISSES;
    double worst = 0;
    int n_fits = 0, n_clear = 0;
    int64_t n_missed = 0; /* wrong elements that the claim gets right: too few prove nothing */
    for (int k = 0; k < c->n_alive; k++)
        if (posref_claim_same(&c->alive[k].claim, claim))
            return EXPLAIN_FITS;
    if (falls_at_once(s, claim))
        return EXPLAIN_MISSES;
    for (int k = 0; k < c->n; k++) {
        double residual = 0;
        enum explain_fit fit = try_one(&residual, s, claim, k);
        first = k == 0 ? fit : first;
        if (fit == EXPLAIN_MISSES) {
            c->killer = k > 0 ? k : c->killer;
            if (n_fits > c->second_fits) {
                c->second = *claim;
                c->second_fits = n_fits;
                c->second_killer = k;
            }
            return first;
        }
        n_fits += fit == EXPLAIN_FITS;
        n_clear += posref_explain_failure(s, k)->right > 1;
        n_missed += fit == EXPLAIN_FITS ? posref_explain_failure(s, k)->n_missed : 0;
        worst = fit == EXPLAIN_FITS ? fmax(worst, residual) : worst;
    }
    if (c->n_alive == EXPLAIN_ALIVE || 2 * n_fits < n_clear ||
        n_missed < (claim->fault[1] ? 4 : 1) * (c->dtype <= POSREF_F32 ? 4 : 12) ||
        (claim->fault[1] && !is_pair(s, claim)))
        return first;
    c->alive[c->n_alive++] = (struct explain_candidate){*claim, worst, n_fits};
    remember(s, claim);
    return first;
}

static void add_single(struct explain_search *s, const struct posref_fault *fault, double value,
                       int order)
{
    if (s->n_singles < EXPLAIN_SINGLES)
        s->single[s->n_singles++] = (struct explain_single){
            .claim = {{fault, NULL}, {value, 0}}, .order = order};
}

static void list_singles(struct explain_search *s)
{
    const struct posref_fault *fault;
    if (s->scheme == s->class->scheme)
        return;
    s->scheme = s->class->scheme;
    s->n_singles = 0;
    for (int k = 0; (fault = posref_fault_at(k)) != NULL; k++) {
        const bool only_spec = posref_fault_is_spec(fault) && !fault->twist && !fault->untwist &&
                               !fault->mend;
        if (!posref_fault_concerns(fault, s->class->scheme) && !only_spec)
            continue;
        for (int v = 0; v < fault->n_values; v++)
            add_single(s, fault, fault->value[v], k);
        if (fault->n_values == 0 && !fault->parameter)
            add_single(s, fault, 0, k);
    }
}

/* What fits elsewhere. Of two faults, one alone may be what shows in this class. */
static void examine_found(struct explain_search *s)
{
    const int n = s->n_found;
    for (int k = 0; k < n; k++)
        posref_explain_examine(s, &s->found[k]);
}

static void search_singles(struct explain_search *s, const struct explain_class *sibling)
{
    const struct posref_claim nothing = {{NULL, NULL}, {0, 0}};
    struct explain_class *c = s->class;
    c->second_killer = -1;
    for (int k = 0; sibling && k < sibling->n_alive; k++)
        posref_explain_examine(s, &sibling->alive[k].claim);
    if (c->n_alive > 0)
        return;
    examine_found(s);
    /* Where the reference itself is asked, the dtype makes no difference to what fits. */
    if (sibling && c->n > 0 && !posref_explain_failure(s, 0)->bent)
        return;
    list_singles(s);
    for (int k = 0; k < s->n_singles; k++)
        c->first_fit[k] = (signed char)posref_explain_examine(s, &s->single[k].claim);
    posref_explain_examine_estimates(s, &nothing);
}

static void list_estimated(struct explain_search *s)
{
    const struct posref_fault *fault;
    s->n_estimated = 0;
    for (int k = 0; (fault = posref_fault_at(k)) != NULL; k++)
        if (fault->estimated && s->n_estimated < EXPLAIN_ESTIMATED)
            s->estimated[s->n_estimated++] = fault;
}

/* ---- the order in which classes and failures are looked at ---- */

/* Small ones first: they cost least and tell most claims apart. */
static void sort_failures(struct posref_explainer *e, struct explain_class *c)
{
    for (int gap = c->n / 2; gap > 0; gap /= 2)
        for (int k = gap; k < c->n; k++) {
            const int kept = c->failure[k];
            const int64_t size = e->failure[kept].work;
            int at = k;
            for (; at >= gap && e->failure[c->failure[at - gap]].work > size; at -= gap)
                c->failure[at] = c->failure[at - gap];
            c->failure[at] = kept;
        }
}

/* A class that was searched already and differs in the dtype only. */
static const struct explain_class *sibling_of(const struct posref_explainer *e, int k,
                                              const bool *done)
{
    const struct explain_class *c = &e->class[k];
    for (int j = 0; j < e->n_classes; j++) {
        const struct explain_class *o = &e->class[j];
        if (done[j] && posref_explain_kin(o, c))
            return o;
    }
    return NULL;
}

/* Singles everywhere, then what was found once more where nothing fits, then pairs. */
static void search_all(struct explain_search *s, struct posref_explainer *e, bool *done)
{
    static const enum posref_dtype order[] = {POSREF_F32,  POSREF_F64,    POSREF_F16,
                                              POSREF_BF16, POSREF_F8E4M3, POSREF_F8E5M2};
    const size_t n_order = sizeof order / sizeof *order;
    s->e = e;
    s->scheme = -1;
    list_estimated(s);
    e->n_tries_left = MAX_PAIR_TRIES;
    e->exact_work_left = MAX_EXACT_WORK;
    for (int pass = 0; pass < 4; pass++) {
        memset(done, 0, (size_t)e->n_classes * sizeof *done);
        for (size_t d = 0; d < n_order; d++)
            for (int k = 0; k < e->n_classes; k++) {
                s->class = &e->class[k];
                if (s->class->dtype != order[d])
                    continue;
                const struct explain_class *sibling = sibling_of(e, k, done);
                done[k] = true;
                if (pass == 0) {
                    sort_failures(e, s->class);
                    search_singles(s, sibling);
                } else if (s->class->n_alive == 0) {
                    examine_found(s);
                    if (pass == 2 && s->class->n_alive == 0 && !sibling) {
                        list_singles(s);
                        posref_explain_pairs(s);
                    }
                }
            }
    }
}

enum posref_status posref_explain_classes(struct posref_explainer *e, struct posref_error *err)
{
    struct explain_search *s = calloc(1, sizeof *s);
    bool *done = calloc((size_t)e->n_classes + 1, sizeof *done);
    enum posref_status status = POSREF_OK;
    if (!s || !done)
        status = posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (size_t k = 0; k < e->n_failures && status == POSREF_OK; k++) {
        posref_heap_reset(e->scratch);
        const struct posref_arena arena = posref_heap_arena(e->scratch);
        posref_explain_size(&e->failure[k], &arena);
    }
    if (status == POSREF_OK)
        search_all(s, e, done);
    free(done);
    free(s);
    return status;
}
