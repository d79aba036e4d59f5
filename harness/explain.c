/* SPDX-License-Identifier: Apache-2.0 */
/* All failing vectors together: which faults explain them. */
#include "explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sentence that a fault makes of some vectors: pairing=interleaved for half is one, the reverse
 * another. */
struct claim {
    int fault;
    char *summary;
    struct posref_spec spec; /* of the first vector */
    size_t n;                /* failures it is claimed for */
    double residual;
};

struct failure {
    uint32_t class, live, fits;
    uint16_t claim[POSREF_MAX_FAULTS]; /* number + 1 of the fault's claim; 0: none */
    float residual[POSREF_MAX_FAULTS];
};

/* Vectors that one cause is expected to break alike. */
struct class {
    enum posref_op op;
    int scheme, pairing, direction, scaling;
    enum posref_dtype dtype;
    uint32_t claimed; /* faults that fit every failure in which they show */
};

struct posref_explainer {
    struct class *class;
    struct claim *claim;
    struct failure *failure;
    size_t n_classes, n_claims, n_failures, room_classes, room_claims, room_failures;
};

struct posref_explainer *posref_explainer_new(void)
{
    return calloc(1, sizeof(struct posref_explainer));
}

void posref_explainer_free(struct posref_explainer *e)
{
    if (!e)
        return;
    for (size_t k = 0; k < e->n_claims; k++)
        free(e->claim[k].summary);
    free(e->class);
    free(e->claim);
    free(e->failure);
    free(e);
}

/* Room for one element more; NULL: no memory, and the old array stands. */
static void *grow(void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return array;
    size_t wanted = *room ? 2 * *room : 64;
    void *grown = realloc(array, wanted * size);
    if (grown)
        *room = wanted;
    return grown;
}

static bool find_class(uint32_t *out, struct posref_explainer *e, const struct posref_vector *v,
                       enum posref_dtype dtype)
{
    const struct class wanted = {.op = v->op, .scheme = v->spec.scheme, .pairing = v->spec.pairing,
                                 .direction = v->spec.direction, .scaling = v->spec.scaling,
                                 .dtype = dtype};
    for (size_t k = 0; k < e->n_classes; k++) {
        const struct class *c = &e->class[k];
        *out = (uint32_t)k;
        if (c->op == wanted.op && c->scheme == wanted.scheme && c->pairing == wanted.pairing &&
            c->direction == wanted.direction && c->scaling == wanted.scaling &&
            c->dtype == wanted.dtype)
            return true;
    }
    struct class *grown = grow(e->class, e->n_classes, &e->room_classes, sizeof *grown);
    if (!grown)
        return false;
    e->class = grown;
    *out = (uint32_t)e->n_classes;
    e->class[e->n_classes++] = wanted;
    return true;
}

/* The number of the claim with this sentence, made when it is new; SIZE_MAX: no memory. */
static size_t find_claim(struct posref_explainer *e, int fault, const struct posref_spec *wrong,
                         const struct posref_spec *right)
{
    struct posref_buffer text;
    posref_buffer_init(&text, 65536);
    posref_fault_summary(&text, wrong, right);
    posref_buffer_add(&text, "", 1);
    size_t k = text.failed ? SIZE_MAX : 0;
    while (k < e->n_claims &&
           (e->claim[k].fault != fault || strcmp(e->claim[k].summary, text.data) != 0))
        k++;
    struct claim *grown = NULL;
    if (k == e->n_claims && k < UINT16_MAX)
        grown = grow(e->claim, k, &e->room_claims, sizeof *grown);
    if (grown) {
        e->claim = grown;
        e->claim[e->n_claims++] =
            (struct claim){.fault = fault, .summary = text.data, .spec = *wrong};
        return k;
    }
    posref_buffer_clear(&text);
    return k < e->n_claims ? k : SIZE_MAX;
}

enum posref_status posref_explainer_add(struct posref_explainer *e, const struct posref_fit *fit,
                                        const struct posref_alternatives *a,
                                        enum posref_dtype dtype, struct posref_error *err)
{
    struct failure failure = {.live = fit->live, .fits = fit->fits};
    struct failure *grown = grow(e->failure, e->n_failures, &e->room_failures, sizeof *grown);
    if (grown)
        e->failure = grown;
    bool good = grown && find_class(&failure.class, e, a->vector, dtype);
    for (int f = 0; posref_faults[f].name && good; f++)
        if (fit->fits >> f & 1) {
            size_t claim = find_claim(e, f, &a->spec[f], &a->vector->spec);
            good = claim != SIZE_MAX;
            failure.claim[f] = (uint16_t)(claim + 1);
            failure.residual[f] = (float)fit->residual[f];
        }
    if (!good)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    e->failure[e->n_failures++] = failure;
    return POSREF_OK;
}

/* A fault that shows in a failure and does not fit it is wrong for the whole class. */
static void settle_classes(struct posref_explainer *e)
{
    for (size_t k = 0; k < e->n_classes; k++)
        e->class[k].claimed = ~0u;
    for (size_t k = 0; k < e->n_failures; k++)
        e->class[e->failure[k].class].claimed &= ~(e->failure[k].live & ~e->failure[k].fits);
}

static uint32_t claims_of(const struct posref_explainer *e, const struct failure *failure)
{
    return failure->fits & e->class[failure->class].claimed;
}

/* Adds the fault that explains most of what is still open, then the next; faults that add nothing
 * are left out: one cause is likelier than two. Of two that explain as much, the first in the
 * registry. Returns the faults kept. */
static uint32_t choose_faults(size_t *n_open, const struct posref_explainer *e)
{
    uint32_t chosen = 0;
    for (;;) {
        size_t n[POSREF_MAX_FAULTS] = {0};
        int best = -1;
        *n_open = 0;
        for (size_t k = 0; k < e->n_failures; k++) {
            uint32_t claims = claims_of(e, &e->failure[k]);
            if (claims & chosen)
                continue;
            (*n_open)++;
            for (int f = 0; posref_faults[f].name; f++)
                n[f] += claims >> f & 1;
        }
        for (int f = 0; posref_faults[f].name; f++)
            if (n[f] > 0 && (best < 0 || n[f] > n[best]))
                best = f;
        if (best < 0)
            return chosen;
        chosen |= 1u << best;
    }
}

static int by_number(const void *a, const void *b)
{
    const struct claim *const *first = a, *const *second = b;
    if ((*first)->n != (*second)->n)
        return (*first)->n < (*second)->n ? 1 : -1;
    return strcmp((*first)->summary, (*second)->summary);
}

static void claim_json(struct posref_buffer *out, const struct claim *claim)
{
    const struct posref_fault *fault = &posref_faults[claim->fault];
    posref_buffer_text(out, "{\"fault\": ");
    posref_buffer_json_string(out, fault->name);
    posref_buffer_text(out, ", \"summary\": ");
    posref_buffer_json_string(out, claim->summary);
    posref_buffer_text(out, ", \"formula\": ");
    posref_buffer_json_string(out, fault->formula);
    posref_buffer_text(out, ", \"advice\": ");
    posref_buffer_json_string(out, fault->advice);
    posref_buffer_printf(out, ", \"vectors\": %zu, \"residual\": ", claim->n);
    posref_buffer_number(out, claim->residual);
    posref_buffer_text(out, ", \"spec\": ");
    posref_spec_json(out, &claim->spec);
    posref_buffer_text(out, "}");
}

enum posref_status posref_explainer_json(struct posref_buffer *out, size_t *n_unexplained,
                                         struct posref_explainer *e, struct posref_error *err)
{
    settle_classes(e);
    const uint32_t chosen = choose_faults(n_unexplained, e);
    for (size_t k = 0; k < e->n_failures; k++) {
        const struct failure *failure = &e->failure[k];
        uint32_t claims = claims_of(e, failure) & chosen;
        for (int f = 0; posref_faults[f].name; f++)
            if (claims >> f & 1) {
                struct claim *claim = &e->claim[failure->claim[f] - 1];
                claim->n++;
                claim->residual = fmax(claim->residual, (double)failure->residual[f]);
            }
    }
    const struct claim **order = calloc(e->n_claims + 1, sizeof *order);
    if (!order)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (size_t k = 0; k < e->n_claims; k++)
        order[k] = &e->claim[k];
    qsort(order, e->n_claims, sizeof *order, by_number);
    posref_buffer_text(out, "[");
    for (size_t k = 0; k < e->n_claims && order[k]->n > 0; k++) {
        posref_buffer_text(out, k ? ", " : "");
        claim_json(out, order[k]);
    }
    posref_buffer_text(out, "]");
    free(order);
    return POSREF_OK;
}
