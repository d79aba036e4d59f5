/* SPDX-License-Identifier: Apache-2.0 */
/* What was left out, and putting it right. */
#include "mends.h"

#include "reference/judge.h"

#include <math.h>
#include <string.h>

/* Outputs by query and key, their last two axes: scores and their terms, biases, indices. */
static bool is_grid(const struct posref_mending *m)
{
    return m->op == POSREF_OP_SCORES || m->op == POSREF_OP_BIAS || m->op == POSREF_OP_WEIGHTS ||
           m->op == POSREF_OP_INDEX ||
           (m->op == POSREF_OP_TABLE && m->spec->scheme == POSREF_SCHEME_COPE);
}

static int64_t product(const struct posref_tensor *t, int from, int to)
{
    int64_t n = 1;
    for (int axis = from; axis < to; axis++)
        n *= t->shape[axis];
    return n;
}

/* The input that an output is made from in place. */
static const double *source_of(const struct posref_tensor *out, const struct posref_mending *m)
{
    const struct posref_tensor *x =
        posref_tensors_find(m->in, m->op == POSREF_OP_ROTATE_BACKWARD ? "dy" : "x");
    return x && posref_tensor_count(x) == posref_tensor_count(out) ? x->data : NULL;
}

static double value_of(const struct posref_tensor *t, int64_t k)
{
    return t->dtype == POSREF_I64 ? (double)((const int64_t *)t->data)[k]
                                  : ((const double *)t->data)[k];
}

/* The last entry of an axis of one output. */
static bool mend_last(struct posref_tensor *t, const struct posref_mending *m, int axis,
                      const struct posref_tensor *wanted)
{
    const double *got = t->data, *source = source_of(t, m);
    const int64_t n = t->shape[axis], inner = product(t, axis + 1, t->rank);
    const int64_t outer = product(t, 0, axis), count = posref_tensor_count(t);
    double *data = m->arena->alloc(m->arena->ctx, (size_t)count * sizeof *data + 1);
    bool zeros = true, copies = source != NULL;
    if (!data || n < 1)
        return false;
    memcpy(data, got, (size_t)count * sizeof *data);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = (o * n + n - 1) * inner; k < (o + 1) * n * inner; k++) {
            zeros = zeros && got[k] == 0;
            copies = copies && got[k] == source[k];
            data[k] = value_of(wanted, k);
        }
    t->data = data;
    return zeros || copies;
}

/* Every output of rank `least` or more: this axis of it, from the end where negative. */
static bool mend_axis(struct posref_tensors *actual, const struct posref_mending *m, int axis,
                      int least)
{
    bool any = false;
    for (int i = 0; i < actual->n; i++) {
        struct posref_tensor *t = &actual->item[i];
        if (t->rank < least)
            continue;
        if (posref_tensor_count(t) != posref_tensor_count(&m->wanted->item[i]) ||
            !mend_last(t, m, axis < 0 ? t->rank + axis : axis, &m->wanted->item[i]))
            return false;
        any = true;
    }
    return any;
}

bool posref_mend_last_row(struct posref_tensors *actual, const struct posref_mending *m)
{
    if (m->op == POSREF_OP_FREQUENCIES)
        return false;
    return is_grid(m) ? mend_axis(actual, m, -2, 2) : mend_axis(actual, m, 0, 2);
}

bool posref_mend_last_head(struct posref_tensors *actual, const struct posref_mending *m)
{
    if (m->op == POSREF_OP_FREQUENCIES)
        return m->spec->scheme == POSREF_SCHEME_ALIBI && mend_axis(actual, m, 0, 1);
    return is_grid(m) ? mend_axis(actual, m, 0, 3) : mend_axis(actual, m, 1, 3);
}

bool posref_mend_last_key(struct posref_tensors *actual, const struct posref_mending *m)
{
    return m->op == POSREF_OP_ATTENTION || (is_grid(m) && mend_axis(actual, m, -1, 2));
}

/* y = factor x (or x sqrt(dim), where that is the content) for the whole output. */
static bool mend_embedded(struct posref_tensors *actual, const struct posref_mending *m,
                          double factor)
{
    const double *source = m->op == POSREF_OP_EMBED && actual->n == 1
                               ? source_of(&actual->item[0], m) : NULL;
    const double *got = actual->item[0].data, u = posref_unit(m->dtype);
    const double by = factor * (m->spec->x_scale == POSREF_X_SCALE_SQRT_DIM
                                    ? sqrt((double)m->spec->dim) : 1);
    for (int64_t k = 0; source && k < posref_tensor_count(&actual->item[0]); k++)
        if (!(fabs(got[k] - by * source[k]) <= 2 * u * fabs(by * source[k])))
            return false;
    if (source)
        actual->item[0].data = m->wanted->item[0].data;
    return source != NULL;
}

bool posref_mend_not_added(struct posref_tensors *actual, const struct posref_mending *m)
{
    return mend_embedded(actual, m, 1);
}

bool posref_mend_doubled(struct posref_tensors *actual, const struct posref_mending *m)
{
    return mend_embedded(actual, m, 2);
}
