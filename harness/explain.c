/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping failures, class by class, until all are there. */
#include "explain_impl.h"

#include "probe.h"

#include <stdlib.h>
#include <string.h>

struct posref_explainer *posref_explainer_new(void)
{
    struct posref_explainer *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->store = posref_heap_new(2 * POSREF_EXPLAIN_BYTES);
    e->scratch = posref_heap_new(0);
    if (e->store && e->scratch)
        return e;
    posref_explainer_free(e);
    return NULL;
}

void posref_explainer_free(struct posref_explainer *e)
{
    if (!e)
        return;
    for (int k = 0; k < e->n_classes; k++)
        free(e->class[k].failure);
    posref_heap_free(e->store);
    posref_heap_free(e->scratch);
    free(e->class);
    free(e->failure);
    free(e->explanation);
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

bool posref_explain_kin(const struct explain_class *a, const struct explain_class *b)
{
    return a->op == b->op && a->scheme == b->scheme && a->pairing == b->pairing &&
           a->direction == b->direction && a->scaling == b->scaling && a->order == b->order &&
           a->exponent == b->exponent && a->form == b->form;
}

static int find_class(struct posref_explainer *e, const struct posref_vector *v,
                      enum posref_dtype dtype)
{
    const struct explain_class wanted = {.op = v->op, .scheme = v->spec.scheme,
                                         .pairing = v->spec.pairing,
                                         .direction = v->spec.direction,
                                         .scaling = v->spec.scaling, .order = v->spec.order,
                                         .exponent = v->spec.exponent, .form = v->spec.form,
                                         .dtype = dtype, .chosen = -1};
    /* Vectors come suite by suite: the class is most often the last one's, or next to it. */
    const int last = e->n_failures ? e->failure[e->n_failures - 1].class : 0;
    for (int k = 0; k < e->n_classes; k++) {
        const int at = (last + k) % e->n_classes;
        if (posref_explain_kin(&e->class[at], &wanted) && e->class[at].dtype == wanted.dtype)
            return at;
    }
    size_t room = (size_t)e->room_classes;
    struct explain_class *grown = grow(e->class, (size_t)e->n_classes, &room, sizeof *grown);
    if (!grown)
        return -1;
    e->class = grown;
    e->room_classes = (int)room;
    e->class[e->n_classes] = wanted;
    return e->n_classes++;
}

static void *copy(struct posref_explainer *e, const void *from, size_t size)
{
    const struct posref_arena arena = posref_heap_arena(e->store);
    void *to = arena.alloc(arena.ctx, size ? size : 1);
    if (to)
        memcpy(to, from, size);
    e->bytes += size;
    return to;
}

static const struct posref_tensors *copy_tensors(struct posref_explainer *e,
                                                 const struct posref_tensors *set)
{
    struct posref_tensors *out = copy(e, set, sizeof *set);
    for (int i = 0; out && i < set->n; i++) {
        const struct posref_tensor *in = &set->item[i];
        out->item[i].data = copy(e, in->data, (size_t)posref_tensor_count(in) *
                                                  posref_dtype_size(in->dtype));
        if (!out->item[i].data)
            return NULL;
    }
    return out;
}

/* What does not depend on the dtype is copied once: dtypes of a vector come one after the other. */
static bool fill_vector(struct explain_failure *failure, struct posref_explainer *e,
                        const struct posref_vector *vector)
{
    const struct explain_failure *last =
        e->n_failures ? &e->failure[e->n_failures - 1] : NULL;
    if (last && e->last_id == vector->id && last->op == vector->op &&
        strcmp(last->id, vector->id) == 0 &&
        memcmp(last->spec, &vector->spec, sizeof vector->spec) == 0) {
        failure->id = last->id;
        failure->spec = last->spec;
        failure->inputs = last->inputs;
        failure->golden = last->golden;
        return true;
    }
    e->last_id = vector->id;
    failure->id = copy(e, vector->id, strlen(vector->id) + 1);
    failure->spec = copy(e, &vector->spec, sizeof vector->spec);
    failure->inputs = copy_tensors(e, &vector->inputs);
    failure->golden = copy_tensors(e, &vector->outputs);
    return failure->id && failure->spec && failure->inputs && failure->golden;
}

static bool fill_actual(struct explain_failure *failure, struct posref_explainer *e,
                        const struct posref_tensors *actual, struct posref_error *err)
{
    const struct posref_arena arena = posref_heap_arena(e->store);
    failure->actual.n = actual->n;
    for (int i = 0; i < actual->n; i++) {
        if (posref_tensor_widen(&failure->actual.item[i], &actual->item[i], &arena, err) !=
            POSREF_OK)
            return false;
        e->bytes += (size_t)posref_tensor_count(&actual->item[i]) * sizeof(double);
    }
    return true;
}

static bool add_to_class(struct explain_class *class, int number)
{
    size_t room = (size_t)class->room;
    int *grown = grow(class->failure, (size_t)class->n, &room, sizeof *grown);
    if (!grown)
        return false;
    class->failure = grown;
    class->room = (int)room;
    class->failure[class->n++] = number;
    return true;
}

enum posref_status posref_explainer_add(struct posref_explainer *e,
                                        const struct posref_vector *vector,
                                        const struct posref_tensors *actual,
                                        enum posref_dtype dtype, struct posref_error *err)
{
    if (e->bytes > POSREF_EXPLAIN_BYTES) {
        e->n_dropped++;
        return POSREF_OK;
    }
    struct explain_failure *grown = grow(e->failure, e->n_failures, &e->room_failures,
                                         sizeof *grown);
    if (!grown)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    e->failure = grown;
    struct explain_failure *failure = &e->failure[e->n_failures];
    *failure = (struct explain_failure){.op = vector->op, .dtype = dtype};
    failure->class = find_class(e, vector, dtype);
    if (failure->class < 0 || !fill_vector(failure, e, vector) ||
        !fill_actual(failure, e, actual, err) ||
        !add_to_class(&e->class[failure->class], (int)e->n_failures))
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    e->n_failures++;
    return POSREF_OK;
}

enum posref_status posref_explainer_search(struct posref_explainer *e, struct posref_error *err)
{
    enum posref_status status = posref_explain_classes(e, err);
    return status == POSREF_OK ? posref_explain_choose(e, err) : status;
}
