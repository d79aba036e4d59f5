/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of a property's calls: positions as told, the rest drawn; single rows of them; the calls
 * themselves. */
#include "call_spec.h"
#include "property_impl.h"
#include "trial.h"

#include <math.h>
#include <string.h>

double *posref_property_tensor(struct posref_property *p, struct posref_tensors *in,
                               const char *name, int rank, const int64_t *shape)
{
    struct posref_tensor *tensor = &in->item[in->n];
    *tensor = (struct posref_tensor){.dtype = POSREF_F64, .rank = rank};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    memcpy(tensor->shape, shape, (size_t)rank * sizeof *shape);
    const size_t size = (size_t)posref_tensor_count(tensor) * sizeof(double);
    tensor->data = p->arena->alloc(p->arena->ctx, size ? size : 1);
    if (!tensor->data) {
        (void)posref_fail(p->err, POSREF_NO_MEMORY, "", "no memory");
        return NULL;
    }
    in->n++;
    return tensor->data;
}

/* Queries and keys apart: of cope's contextual positions too, which are its table. */
static bool has_grid(const struct posref_property *p)
{
    const enum posref_op op = p->of->subject->op;
    return op == POSREF_OP_BIAS || op == POSREF_OP_WEIGHTS || op == POSREF_OP_SCORES ||
           op == POSREF_OP_ATTENTION || p->spec->scheme == POSREF_SCHEME_COPE;
}

enum posref_status posref_property_positions(struct posref_property *p, struct posref_tensors *in,
                                             const double *position, int64_t n)
{
    const bool grid = has_grid(p);
    const int axes = posref_spec_axes(p->spec);
    const int64_t shape[] = {axes > 1 ? axes : n, n};
    for (int side = 0; side < (grid ? 2 : 1); side++) {
        const char *name = !grid ? "positions" : side ? "k_positions" : "q_positions";
        double *data = posref_property_tensor(p, in, name, axes > 1 ? 2 : 1, shape);
        if (!data)
            return POSREF_NO_MEMORY;
        for (int axis = 0; axis < axes; axis++)
            memcpy(data + axis * n, position, (size_t)n * sizeof *data);
    }
    return POSREF_OK;
}

static int64_t rows_of(const struct posref_tensors *in)
{
    const struct posref_tensor *at = posref_tensors_find(in, "positions");
    if (!at)
        at = posref_tensors_find(in, "q_positions");
    return at->shape[at->rank - 1];
}

/* Entries of the free axis of an input: of a learned table as many as one likes, of a projection
 * the rows it gives, of what heads may have each their own none (the axis is absent). */
static int64_t free_size(const struct posref_property *p, const char *name)
{
    switch (p->spec->scheme) {
    case POSREF_SCHEME_LEARNED: return 256;
    case POSREF_SCHEME_FOURIER: return p->spec->dim / 2;
    case POSREF_SCHEME_TRANSFORMER_XL: return strcmp(name, "key_weights") == 0 ? p->spec->dim
                                              : strcmp(name, "weights") == 0   ? 8
                                                                               : 0;
    case POSREF_SCHEME_SHAW: return p->spec->dim; /* of the values */
    case POSREF_SCHEME_COPE: return 0;
    case POSREF_SCHEME_DEBERTA: return strcmp(name, "weights") == 0 ? 4 : 0;
    default: return 4;
    }
}

/* x, dy, q, k and v are rows of vectors; the scheme says what shape its own inputs have. */
static enum posref_status shape_of(int64_t shape[POSREF_MAX_RANK], int *rank,
                                   const struct posref_property *p, const struct posref_tensors *in,
                                   const char *name, int64_t heads)
{
    if ((strchr("xqkv", name[0]) && name[1] == '\0') || strcmp(name, "dy") == 0) {
        const int64_t width = p->spec->given[POSREF_FIELD_DIM] ? p->spec->dim : 8;
        if (p->spec->given[POSREF_FIELD_NUM_HEADS])
            heads = p->spec->num_heads;
        const int64_t rows[] = {rows_of(in), heads ? heads : width, width};
        *rank = heads ? 3 : 2;
        memcpy(shape, rows, sizeof rows);
        return POSREF_OK;
    }
    return posref_input_shape(shape, rank, p->spec, in, name, -1, free_size(p, name), p->err);
}

enum posref_status posref_property_draw(struct posref_property *p, struct posref_tensors *in,
                                        int64_t heads)
{
    for (const char *at = p->of->subject->inputs; *at;) {
        char name[32];
        int64_t shape[POSREF_MAX_RANK];
        int rank = 0;
        const size_t length = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        at += length + (at[length] == ' ');
        enum posref_status status = shape_of(shape, &rank, p, in, name, heads);
        if (status != POSREF_OK)
            return status;
        double *value = posref_property_tensor(p, in, name, rank, shape);
        if (!value)
            return POSREF_NO_MEMORY;
        /* kerple's parameters are positive, and below 2; signs of other tables show nothing. */
        const bool positive = name[0] == 'r';
        for (int64_t k = 0; k < posref_tensor_count(&in->item[in->n - 1]); k++) {
            value[k] = posref_draw_value(&p->draw);
            value[k] = positive ? fabs(value[k]) / 2 : value[k];
        }
    }
    return POSREF_OK;
}

/* Which axis of an input counts rows or queries, and which keys; -1: none. */
static void axes_of(int *row, int *key, const struct posref_tensor *in)
{
    static const struct {
        const char *name;
        int row, key; /* -2: the last */
    } known[] = {{"positions", -2, -1}, {"q_positions", -2, -1}, {"k_positions", -1, -2},
                 {"x", 0, -1},          {"q", 0, -1},            {"k", -1, 0},
                 {"v", -1, 0},          {"logits", 1, 2}};
    *row = *key = -1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(in->name, known[i].name) == 0) {
            *row = known[i].row == -2 ? in->rank - 1 : known[i].row;
            *key = known[i].key == -2 ? in->rank - 1 : known[i].key;
        }
}

/* Copies entries first ... first + n - 1 of one axis. */
static enum posref_status cut(struct posref_tensor *tensor, struct posref_property *p, int axis,
                              int64_t first, int64_t n)
{
    int64_t before = 1, after = 1;
    const double *from = tensor->data;
    for (int k = 0; k < axis; k++)
        before *= tensor->shape[k];
    for (int k = axis + 1; k < tensor->rank; k++)
        after *= tensor->shape[k];
    double *to = p->arena->alloc(p->arena->ctx, (size_t)(before * n * after) * sizeof *to);
    if (!to)
        return posref_fail(p->err, POSREF_NO_MEMORY, "", "no memory");
    for (int64_t k = 0; k < before; k++)
        memcpy(to + k * n * after, from + (k * tensor->shape[axis] + first) * after,
               (size_t)(n * after) * sizeof *to);
    tensor->shape[axis] = n;
    tensor->data = to;
    return POSREF_OK;
}

enum posref_status posref_property_row(struct posref_tensors *out, struct posref_property *p,
                                       const struct posref_tensors *in, int64_t row,
                                       int64_t n_keys)
{
    enum posref_status status = POSREF_OK;
    *out = *in;
    for (int i = 0; i < in->n && status == POSREF_OK; i++) {
        int row_axis, key_axis;
        axes_of(&row_axis, &key_axis, &in->item[i]);
        if (row_axis >= 0)
            status = cut(&out->item[i], p, row_axis, row, 1);
        if (key_axis >= 0 && status == POSREF_OK)
            status = cut(&out->item[i], p, key_axis, 0, n_keys);
    }
    return status;
}

enum posref_status posref_property_keys(struct posref_tensors *out, struct posref_property *p,
                                        const struct posref_tensors *in, int64_t first, int64_t n)
{
    enum posref_status status = POSREF_OK;
    *out = *in;
    for (int i = 0; i < in->n && status == POSREF_OK; i++) {
        int row_axis, key_axis;
        axes_of(&row_axis, &key_axis, &in->item[i]);
        if (key_axis >= 0)
            status = cut(&out->item[i], p, key_axis, first, n);
    }
    return status;
}

double *posref_property_data(const struct posref_tensors *in, const char *name)
{
    return posref_tensors_find(in, name)->data;
}

enum posref_status posref_property_ask(struct posref_property *p, const struct posref_spec *spec,
                                       const struct posref_tensors *in)
{
    return posref_property_ask_op(p, spec, p->of->subject->op, in);
}

enum posref_status posref_property_ask_op(struct posref_property *p,
                                          const struct posref_spec *spec, enum posref_op op,
                                          const struct posref_tensors *in)
{
    const enum posref_dtype dtype = p->settings->dtype;
    struct posref_property_call *call = p->arena->alloc(p->arena->ctx, sizeof *call);
    const char *text = posref_call_spec(spec, p->arena);
    if (!call || !text || p->n_calls == POSREF_PROPERTY_CALLS)
        return posref_fail(p->err, POSREF_NO_MEMORY, "", "no memory");
    call->vector = (struct posref_vector){.id = p->of->id, .suite_min = "", .op = op, .spec = *spec,
                                          .inputs = *in, .flags = "", .source = ""};
    enum posref_status status =
        posref_eval(&call->vector.outputs, spec, op, in, p->arena, p->err);
    if (status == POSREF_OK)
        status = posref_judge_limits(call->limit, spec, op, in, &call->vector.outputs, dtype,
                                     p->arena, p->err);
    if (status == POSREF_OK)
        status = posref_trial_make(&call->trial, &call->vector, text, dtype, p->arena, p->err);
    call->trial.group = p->settings->group;
    if (status == POSREF_OK)
        p->call[p->n_calls++] = call;
    return status;
}
