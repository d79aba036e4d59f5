/* SPDX-License-Identifier: Apache-2.0 */
/* From what fits each class to the few claims that cover them, ranked, with their runners-up. */
#include "explain_impl.h"

#include <math.h>
#include <stdlib.h>

#define MAX_OPTIONS 512
#define MAX_EXPLANATIONS 64
#define MAX_RUNNERS 3

/* A claim of any class, and where it fits. */
struct option {
    struct posref_claim claim;
    double residual;
    int n_open;  /* failures of classes that are still open */
    int n_all;
    int example;
    int order;   /* in the registry */
    bool taken;
};

struct choice {
    struct posref_explainer *e;
    struct option option[MAX_OPTIONS];
    int n_options;
};

static int order_of(const struct posref_claim *claim)
{
    const struct posref_fault *fault;
    int order = 0;
    for (int k = 0; (fault = posref_fault_at(k)) != NULL; k++)
        for (int part = 0; part < 2; part++)
            order += fault == claim->fault[part] ? k : 0;
    return order;
}

static struct option *option_of(struct choice *c, const struct explain_candidate *candidate)
{
    for (int k = 0; k < c->n_options; k++)
        if (posref_claim_same(&c->option[k].claim, &candidate->claim))
            return &c->option[k];
    if (c->n_options == MAX_OPTIONS)
        return NULL;
    struct option *option = &c->option[c->n_options++];
    *option = (struct option){.claim = candidate->claim, .order = order_of(&candidate->claim),
                              .example = -1};
    return option;
}

/* NULL: the claim does not fit the class. */
static const struct explain_candidate *fits_class(const struct explain_class *class,
                                                  const struct posref_claim *claim)
{
    for (int k = 0; k < class->n_alive; k++)
        if (posref_claim_same(&class->alive[k].claim, claim))
            return &class->alive[k];
    return NULL;
}

static void count(struct choice *c)
{
    for (int k = 0; k < c->n_options; k++)
        c->option[k].n_open = c->option[k].n_all = 0;
    for (int j = 0; j < c->e->n_classes; j++) {
        const struct explain_class *class = &c->e->class[j];
        for (int k = 0; k < class->n_alive; k++) {
            struct option *option = option_of(c, &class->alive[k]);
            if (!option)
                continue;
            option->residual = fmax(option->residual, class->alive[k].residual);
            option->n_all += class->alive[k].n_fits;
            option->n_open += class->chosen < 0 ? class->alive[k].n_fits : 0;
            if (option->example < 0)
                option->example = class->failure[0];
        }
    }
}

/* One cause is likelier than two, and what fits clearly better than what fits. */
static bool better(const struct option *a, const struct option *b, bool open)
{
    const int n_a = open ? a->n_open : a->n_all, n_b = open ? b->n_open : b->n_all;
    if (n_a != n_b)
        return n_a > n_b;
    if (!a->claim.fault[1] != !b->claim.fault[1])
        return !a->claim.fault[1];
    if (a->residual * 3 + 0.05 < b->residual || b->residual * 3 + 0.05 < a->residual)
        return a->residual < b->residual;
    return a->order < b->order;
}

static struct option *best(struct choice *c, bool open)
{
    struct option *found = NULL;
    for (int k = 0; k < c->n_options; k++) {
        struct option *option = &c->option[k];
        if (!option->taken && (open ? option->n_open : option->n_all) > 0 &&
            (!found || better(option, found, open)))
            found = option;
    }
    return found;
}

static struct explain_explanation *add(struct choice *c, const struct option *option, bool covers)
{
    if (c->e->n_explanations == MAX_EXPLANATIONS)
        return NULL;
    struct explain_explanation *x = &c->e->explanation[c->e->n_explanations++];
    *x = (struct explain_explanation){.claim = option->claim, .residual = option->residual,
                                      .n_failures = option->n_all, .example = option->example,
                                      .covers = covers};
    return x;
}

static void take(struct choice *c, struct option *option)
{
    const int number = c->e->n_explanations;
    struct explain_explanation *x = add(c, option, true);
    option->taken = true;
    if (x)
        x->n_failures = 0;
    for (int j = 0; j < c->e->n_classes; j++) {
        struct explain_class *class = &c->e->class[j];
        const struct explain_candidate *fitting = fits_class(class, &option->claim);
        if (class->chosen >= 0 || !fitting)
            continue;
        class->chosen = number;
        if (x && x->n_failures == 0)
            x->example = class->failure[0];
        if (x) {
            x->n_failures += fitting->n_fits;
            x->n_untold += class->n - fitting->n_fits;
        }
    }
}

/* Whether a claim fits every class that explanation `number` was chosen for. */
static bool fits_all_of(const struct choice *c, const struct posref_claim *claim, int number)
{
    for (int j = 0; j < c->e->n_classes; j++)
        if (c->e->class[j].chosen == number && !fits_class(&c->e->class[j], claim))
            return false;
    return true;
}

/* What is claimed must not hide what would do as well: neither is the cause before they are told
 * apart. Of several faults more than in the claim nothing is said. */
static void find_alike(struct choice *c, int number)
{
    struct explain_explanation *x = &c->e->explanation[number];
    for (int k = 0; k < c->n_options && x->n_alike < POSREF_EXPLAIN_KILLERS; k++) {
        const struct posref_claim *other = &c->option[k].claim;
        if (!posref_claim_same(other, &x->claim) && (!other->fault[1] || x->claim.fault[1]) &&
            fits_all_of(c, other, number))
            x->alike[x->n_alike++] = *other;
    }
}

/* Failures of the first explanation's classes that tell the runner-up from it. */
static void find_killers(struct choice *c, struct explain_explanation *x)
{
    x->look_alike = true;
    for (int j = 0; j < c->e->n_classes; j++) {
        const struct explain_class *class = &c->e->class[j];
        if (class->chosen != 0 || fits_class(class, &x->claim))
            continue;
        x->look_alike = false;
        for (int k = 0; k < class->n && k < 32 && x->n_killers < POSREF_EXPLAIN_KILLERS; k++) {
            double residual;
            posref_heap_reset(c->e->scratch);
            const struct posref_arena arena = posref_heap_arena(c->e->scratch);
            if (posref_explain_try(&residual, &x->claim, &c->e->failure[class->failure[k]],
                                   &arena) == EXPLAIN_MISSES)
                x->killer[x->n_killers++] = class->failure[k];
        }
    }
}

/* Where nothing else is left standing: what fell last, and on what. */
static void add_fallen(struct choice *c)
{
    const struct explain_class *from = NULL;
    for (int j = 0; j < c->e->n_classes; j++) {
        const struct explain_class *class = &c->e->class[j];
        if (class->chosen == 0 && class->second_fits > 0 && class->second_killer >= 0 &&
            (!from || class->second_fits > from->second_fits))
            from = class;
    }
    if (!from || c->e->n_explanations == MAX_EXPLANATIONS)
        return;
    struct explain_explanation *x = &c->e->explanation[c->e->n_explanations++];
    *x = (struct explain_explanation){.claim = from->second, .n_failures = from->second_fits,
                                      .example = from->failure[0], .residual = (double)NAN,
                                      .killer = {from->failure[from->second_killer]},
                                      .n_killers = 1};
}

enum posref_status posref_explain_choose(struct posref_explainer *e, struct posref_error *err)
{
    struct choice *c = calloc(1, sizeof *c);
    struct option *option;
    e->explanation = calloc(MAX_EXPLANATIONS, sizeof *e->explanation);
    if (!c || !e->explanation) {
        free(c);
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    }
    c->e = e;
    for (count(c); (option = best(c, true)) != NULL; count(c))
        take(c, option);
    const int n_covering = e->n_explanations;
    for (int k = 0; k < n_covering; k++)
        find_alike(c, k);
    for (int k = 0; k < MAX_RUNNERS && n_covering > 0 && (option = best(c, false)) != NULL; k++) {
        struct explain_explanation *x = add(c, option, false);
        option->taken = true;
        if (x)
            find_killers(c, x);
    }
    if (n_covering > 0 && e->n_explanations == n_covering)
        add_fallen(c);
    free(c);
    return POSREF_OK;
}
