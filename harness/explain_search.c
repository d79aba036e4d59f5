/* SPDX-License-Identifier: Apache-2.0 */
/* Which claims fit all failures of a class: single faults first, then pairs. */
#include "explain_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SINGLES 256
#define MAX_FOUND 64
#define MAX_PAIR_TRIES 250000
#define MAX_EXACT_WORK 2000000 /* about 0.1 us each */

struct search {
    struct posref_explainer *e;
    struct explain_class *class;
    struct posref_claim single[MAX_SINGLES];
    int n_singles;
    struct posref_claim found[MAX_FOUND]; /* what fits some class may fit the others */
    int n_found;
};

static const struct explain_failure *failure_at(const struct search *s, int k)
{
    return &s->e->failure[s->class->failure[k]];
}

static enum explain_fit try_one(double *residual, struct search *s,
                                const struct posref_claim *claim, int k)
{
    posref_heap_reset(s->e->scratch);
    const struct posref_arena arena = posref_heap_arena(s->e->scratch);
    return posref_explain_try(residual, claim, failure_at(s, k), &arena);
}

static bool same_bend(const struct posref_bend *a, const struct posref_bend *b)
{
    bool same = a->n_steps == b->n_steps && memcmp(&a->spec, &b->spec, sizeof a->spec) == 0;
    for (int k = 0; k < a->n_steps && same; k++)
        same = a->step[k].kind == b->step[k].kind && a->step[k].value == b->step[k].value;
    return same;
}

/* Which faults of the claim change inputs or outputs of the failure. */
static unsigned twists(struct search *s, const struct posref_claim *claim,
                       const struct posref_bend *bend, const struct explain_failure *f)
{
    posref_heap_reset(s->e->scratch);
    const struct posref_arena arena = posref_heap_arena(s->e->scratch);
    struct posref_tensors in = *f->inputs, actual = f->actual;
    unsigned changed = posref_claim_twist(&in, claim, bend, f->op, &arena) |
                       posref_claim_untwist(&actual, claim, bend, f->op, &arena);
    for (int k = 0; k < 2 && claim->fault[k]; k++)
        changed |= claim->fault[k]->mend ? 1U << k : 0;
    return changed;
}

/* Whether both faults of a pair change something, in some failure of the class. */
static bool is_pair(struct search *s, const struct posref_claim *claim)
{
    const struct posref_claim alone[2] = {{{claim->fault[0], NULL}, {claim->value[0], 0}},
                                          {{claim->fault[1], NULL}, {claim->value[1], 0}}};
    bool counts[2] = {false, false};
    for (int k = 0; k < s->class->n && !(counts[0] && counts[1]); k++) {
        const struct explain_failure *f = failure_at(s, k);
        struct posref_bend both, one;
        if (!posref_claim_bend(&both, claim, f->spec, f->op))
            continue;
        const unsigned twisted = twists(s, claim, &both, f);
        for (int which = 0; which < 2; which++)
            counts[1 - which] = counts[1 - which] || twisted >> (1 - which) & 1 ||
                                !posref_claim_bend(&one, &alone[which], f->spec, f->op) ||
                                !same_bend(&both, &one);
    }
    return counts[0] && counts[1];
}

static void remember(struct search *s, const struct posref_claim *claim)
{
    for (int k = 0; k < s->n_found; k++)
        if (posref_claim_same(&s->found[k], claim))
            return;
    if (s->n_found < MAX_FOUND)
        s->found[s->n_found++] = *claim;
}

/* Tries a claim on all failures of the class; keeps it when it fits them, or that it came close. */
static void examine(struct search *s, const struct posref_claim *claim)
{
    struct explain_class *c = s->class;
    double worst = 0;
    int n_fits = 0, n_clear = 0;
    int64_t n_missed = 0; /* wrong elements that the claim gets right: too few prove nothing */
    for (int k = 0; k < c->n_alive; k++)
        if (posref_claim_same(&c->alive[k].claim, claim))
            return;
    for (int k = 0; k < c->n; k++) {
        double residual = 0;
        enum explain_fit fit = try_one(&residual, s, claim, k);
        if (fit == EXPLAIN_MISSES) {
            if (n_fits > c->second_fits) {
                c->second = *claim;
                c->second_fits = n_fits;
                c->second_killer = c->failure[k];
            }
            return;
        }
        n_fits += fit == EXPLAIN_FITS;
        n_clear += failure_at(s, k)->right > 1;
        n_missed += fit == EXPLAIN_FITS ? failure_at(s, k)->n_missed : 0;
        worst = fit == EXPLAIN_FITS ? fmax(worst, residual) : worst;
    }
    if (c->n_alive == EXPLAIN_ALIVE || 2 * n_fits < n_clear ||
        n_missed < (claim->fault[1] ? 4 : 1) * (c->dtype <= POSREF_F32 ? 4 : 12) ||
        (claim->fault[1] && !is_pair(s, claim)))
        return;
    c->alive[c->n_alive++] = (struct explain_candidate){*claim, worst, n_fits};
    remember(s, claim);
}

static void add_single(struct search *s, const struct posref_fault *fault, double value)
{
    if (s->n_singles < MAX_SINGLES)
        s->single[s->n_singles++] = (struct posref_claim){{fault, NULL}, {value, 0}};
}

static void list_singles(struct search *s)
{
    const struct posref_fault *fault;
    s->n_singles = 0;
    for (int k = 0; (fault = posref_fault_at(k)) != NULL; k++) {
        const bool only_spec = posref_fault_is_spec(fault) && !fault->twist && !fault->untwist &&
                               !fault->mend;
        if (!posref_fault_concerns(fault, s->class->scheme) && !only_spec)
            continue;
        for (int v = 0; v < fault->n_values; v++)
            add_single(s, fault, fault->value[v]);
        if (fault->n_values == 0 && !fault->parameter)
            add_single(s, fault, 0);
    }
}

static bool estimate(double *value, struct search *s, const struct posref_fault *fault,
                     const struct posref_claim *base, int k, bool sloping)
{
    posref_heap_reset(s->e->scratch);
    const struct posref_arena arena = posref_heap_arena(s->e->scratch);
    return posref_explain_estimate(value, fault, base, failure_at(s, k), sloping, &arena);
}

/* The round numbers that may have been meant, and the value itself. */
static void examine_near(struct search *s, struct posref_claim *claim, int slot, double value)
{
    const bool rounds = slot == 1; /* the other fault may have rounded what was estimated from */
    char text[40];
    for (int digits = 0; digits < 6; digits++) {
        double rounded;
        snprintf(text, sizeof text, "%.*e", digits, value);
        if (posref_number_parse(&rounded, text, "", NULL) != POSREF_OK ||
            fabs(rounded - value) > (rounds ? 4e-3 : 2e-5) * fabs(value) ||
            (digits > 0 && rounded == claim->value[slot]))
            continue;
        claim->value[slot] = rounded;
        examine(s, claim);
        if (!rounds)
            break;
    }
    claim->value[slot] = value;
    examine(s, claim);
}

/* Estimated values of every fault that has one, on top of `base`. */
static void examine_estimates(struct search *s, const struct posref_claim *base)
{
    const struct posref_fault *fault;
    for (int k = 0; (fault = posref_fault_at(k)) != NULL; k++) {
        double value;
        if (!fault->estimated || base->fault[0] == fault || s->class->n == 0)
            continue;
        for (int at = 0; at < 2 && at < s->class->n; at++) {
            if (!estimate(&value, s, fault, base, at ? s->class->n - 1 : 0, false))
                continue;
            struct posref_claim claim = {{fault, NULL}, {value, 0}};
            if (base->fault[0]) {
                claim = *base;
                claim.fault[1] = fault;
            }
            examine_near(s, &claim, base->fault[0] ? 1 : 0, value);
        }
    }
}

/* Two faults of which neither has a value to begin with: frequencies scaled, and positions. */
static void examine_slopes(struct search *s)
{
    const struct posref_claim nothing = {{NULL, NULL}, {0, 0}};
    const struct posref_fault *fault = posref_fault_find("theta_scaled");
    double value, rounded;
    char text[40];
    for (int at = 0; at < s->class->n && at < 4; at++) {
        if (!fault || !estimate(&value, s, fault, &nothing, at, true))
            continue;
        snprintf(text, sizeof text, "%.3g", value);
        const bool parsed = posref_number_parse(&rounded, text, "", NULL) == POSREF_OK;
        const struct posref_claim base = {
            {fault, NULL}, {parsed && fabs(rounded - value) < 1e-3 * value ? rounded : value, 0}};
        examine_estimates(s, &base);
    }
}

/* What a try of the failure costs: outputs of a bent form; where the reference itself has to be
 * evaluated, products. */
static int64_t work_of(const struct explain_failure *f)
{
    const struct posref_tensor *q = posref_tensors_find(f->inputs, "q");
    const struct posref_tensor *k = posref_tensors_find(f->inputs, "k");
    int64_t n = 0;
    for (int i = 0; i < f->actual.n; i++)
        n += posref_tensor_count(&f->actual.item[i]);
    if (f->bent)
        return n;
    if (!q || !k)
        return 64 * n;
    const int64_t products = posref_tensor_count(q) * k->shape[0];
    return products + 64 * (products / q->shape[q->rank - 1] + n);
}

/* Takes one try of a failure from what is left of the search's time; false: nothing is. */
static bool afford(struct posref_explainer *e, const struct explain_failure *f)
{
    int64_t *left = f->bent ? &e->n_tries_left : &e->exact_work_left;
    *left -= f->bent ? 1 + work_of(f) / 64 : work_of(f);
    return *left > 0;
}

static bool comes_before(const struct posref_fault *a, const struct posref_fault *b)
{
    const struct posref_fault *fault;
    for (int k = 0; (fault = posref_fault_at(k)) != NULL && fault != b; k++)
        if (fault == a)
            return true;
    return false;
}

/* Two single claims together, in the order of the registry; false: there is no time left. */
static bool examine_pair(struct search *s, const struct posref_claim *a,
                         const struct posref_claim *b)
{
    const struct explain_failure *first = failure_at(s, 0);
    if (comes_before(b->fault[0], a->fault[0])) {
        const struct posref_claim *kept = a;
        a = b;
        b = kept;
    }
    struct posref_claim claim = *a;
    double residual;
    if (a->fault[0] == b->fault[0])
        return true;
    claim.fault[1] = b->fault[0];
    claim.value[1] = b->value[0];
    if (!afford(s->e, first))
        return false;
    if (try_one(&residual, s, &claim, 0) != EXPLAIN_MISSES)
        examine(s, &claim);
    return true;
}

static void examine_pairs(struct search *s)
{
    const struct posref_claim partial = s->class->second; /* alone it fits some failures */
    examine_slopes(s);
    if (partial.fault[0] && !partial.fault[1])
        for (int b = 0; b < s->n_singles; b++)
            if (!examine_pair(s, &partial, &s->single[b]))
                return;
    for (int a = 0; a < s->n_singles; a++) {
        for (int b = a + 1; b < s->n_singles; b++)
            if (!examine_pair(s, &s->single[a], &s->single[b]))
                return;
        examine_estimates(s, &s->single[a]);
    }
}

/* What fits elsewhere. Of two faults, one alone may be what shows in this class. */
static void examine_found(struct search *s)
{
    const int n = s->n_found;
    for (int k = 0; k < n; k++)
        examine(s, &s->found[k]);
}

static void search_singles(struct search *s, const struct explain_class *sibling)
{
    const struct posref_claim nothing = {{NULL, NULL}, {0, 0}};
    struct explain_class *c = s->class;
    c->second_killer = -1;
    for (int k = 0; sibling && k < sibling->n_alive; k++)
        examine(s, &sibling->alive[k].claim);
    if (c->n_alive > 0)
        return;
    examine_found(s);
    /* Where the reference itself is asked, the dtype makes no difference to what fits. */
    if (sibling && c->n > 0 && !failure_at(s, 0)->bent)
        return;
    list_singles(s);
    for (int k = 0; k < s->n_singles; k++)
        examine(s, &s->single[k]);
    examine_estimates(s, &nothing);
}

/* ---- the order in which classes and failures are looked at ---- */

/* Small ones first: they cost least and tell most claims apart. */
static void sort_failures(struct posref_explainer *e, struct explain_class *c)
{
    for (int gap = c->n / 2; gap > 0; gap /= 2)
        for (int k = gap; k < c->n; k++) {
            const int kept = c->failure[k];
            const int64_t size = work_of(&e->failure[kept]);
            int at = k;
            for (; at >= gap && work_of(&e->failure[c->failure[at - gap]]) > size; at -= gap)
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
static void search_all(struct search *s, struct posref_explainer *e, bool *done)
{
    static const enum posref_dtype order[] = {POSREF_F32, POSREF_F64, POSREF_F16, POSREF_BF16};
    s->e = e;
    e->n_tries_left = MAX_PAIR_TRIES;
    e->exact_work_left = MAX_EXACT_WORK;
    for (int pass = 0; pass < 4; pass++) {
        memset(done, 0, (size_t)e->n_classes * sizeof *done);
        for (int d = 0; d < 4; d++)
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
                    list_singles(s);
                    if (pass == 2 && s->class->n_alive == 0 && !sibling)
                        examine_pairs(s);
                }
            }
    }
}

enum posref_status posref_explain_classes(struct posref_explainer *e, struct posref_error *err)
{
    struct search *s = calloc(1, sizeof *s);
    bool *done = calloc((size_t)e->n_classes + 1, sizeof *done);
    enum posref_status status = POSREF_OK;
    if (!s || !done)
        status = posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (size_t k = 0; k < e->n_failures && status == POSREF_OK; k++) {
        posref_heap_reset(e->scratch);
        const struct posref_arena arena = posref_heap_arena(e->scratch);
        posref_explain_right(&e->failure[k], &arena);
    }
    if (status == POSREF_OK)
        search_all(s, e, done);
    free(done);
    free(s);
    return status;
}
