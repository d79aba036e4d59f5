/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of scores and attention beyond shift and incremental: what they are sums of, which
 * keys they hang on; and the adjoint of a rotation. */
#include "property_impl.h"

#include <math.h>
#include <string.h>

/* ---- scores are the sum of their terms ---- */

enum posref_status posref_terms_ask(struct posref_property *p)
{
    return posref_toeplitz_ask(p);
}

void posref_terms_compare(struct posref_property *p)
{
    const struct posref_tensors *out = &p->call[0]->vector.outputs;
    for (int64_t k = 0; k < posref_tensor_count(&out->item[0]); k++) {
        struct posref_slack slack = posref_property_slack(p, 0, 0, k, 1);
        double sum = 0, size = 0;
        for (int t = 1; t < out->n; t++) {
            sum += posref_property_got(p, 0, t, k);
            size += fabs(posref_property_got(p, 0, t, k));
            slack = posref_slack_sum(slack, posref_property_slack(p, 0, t, k, 1));
        }
        slack = posref_slack_more(slack, out->n * 0x1p-53 * size);
        posref_property_compare(p, 0, 0, k, posref_property_got(p, 0, 0, k), sum, &slack);
    }
}

/* ---- positions count from the key on ---- */

#define N_LEFT_OUT 2

/* Call 0 has all keys, call 1 has not the first ones. */
enum posref_status posref_later_ask(struct posref_property *p)
{
    struct posref_tensors less;
    enum posref_status status = posref_toeplitz_ask(p);
    if (status != POSREF_OK)
        return status;
    const struct posref_tensors *in = &p->call[0]->vector.inputs;
    const int64_t n = posref_tensors_find(in, "k")->shape[0];
    status = posref_property_keys(&less, p, in, N_LEFT_OUT, n - N_LEFT_OUT);
    return status == POSREF_OK ? posref_property_ask(p, p->spec, &less) : status;
}

void posref_later_compare(struct posref_property *p)
{
    const struct posref_tensors *less = &p->call[1]->vector.outputs;
    for (int t = 0; t < less->n; t++) {
        const int64_t n = less->item[t].shape[less->item[t].rank - 1];
        for (int64_t k = 0; k < posref_tensor_count(&less->item[t]); k++)
            posref_property_same(p, 0, k / n * (n + N_LEFT_OUT) + k % n + N_LEFT_OUT, 1, k, t);
    }
}

/* ---- keys in another order ---- */

/* The rows of one input in reverse. */
static enum posref_status reverse(struct posref_tensor *tensor, struct posref_property *p)
{
    const int64_t rows = tensor->shape[0], width = posref_tensor_count(tensor) / rows;
    const double *from = tensor->data;
    double *to = p->arena->alloc(p->arena->ctx, (size_t)(rows * width) * sizeof *to);
    if (!to)
        return posref_fail(p->err, POSREF_NO_MEMORY, "", "no memory");
    for (int64_t row = 0; row < rows; row++)
        memcpy(to + row * width, from + (rows - 1 - row) * width, (size_t)width * sizeof *to);
    tensor->data = to;
    return POSREF_OK;
}

/* Call 1 has keys and values in reverse; positions stay where they are. */
enum posref_status posref_permutation_ask(struct posref_property *p)
{
    enum posref_status status = posref_toeplitz_ask(p);
    if (status != POSREF_OK)
        return status;
    struct posref_tensors other = p->call[0]->vector.inputs;
    for (int i = 0; i < other.n && status == POSREF_OK; i++)
        if (strcmp(other.item[i].name, "k") == 0 || strcmp(other.item[i].name, "v") == 0)
            status = reverse(&other.item[i], p);
    return status == POSREF_OK ? posref_property_ask(p, p->spec, &other) : status;
}

void posref_permutation_compare(struct posref_property *p)
{
    for (int64_t k = 0; k < posref_tensor_count(&p->call[0]->got.item[0]); k++)
        posref_property_same(p, 0, k, 1, k, 0);
}

/* ---- <R x, y> = <x, R^T y> ---- */

#define N_ADJOINT 4

/* Call 0 is rotate of x, call 1 rotate_backward of dy. */
enum posref_status posref_adjoint_ask(struct posref_property *p)
{
    double position[N_ADJOINT];
    struct posref_tensors in = {.n = 0}, forward = {.n = 1};
    for (int k = 0; k < N_ADJOINT; k++)
        position[k] = 1 + (double)posref_draw_below(&p->draw, 1500);
    enum posref_status status = posref_property_positions(p, &in, position, N_ADJOINT);
    if (status == POSREF_OK)
        status = posref_property_draw(p, &in, 0);
    if (status != POSREF_OK)
        return status;
    const struct posref_tensor *dy = posref_tensors_find(&in, "dy");
    forward.item[0] = in.item[0];
    double *x = posref_property_tensor(p, &forward, "x", dy->rank, dy->shape);
    if (!x)
        return POSREF_NO_MEMORY;
    for (int64_t k = 0; k < posref_tensor_count(dy); k++)
        x[k] = posref_draw_value(&p->draw);
    status = posref_property_ask_op(p, p->spec, POSREF_OP_ROTATE, &forward);
    return status == POSREF_OK ? posref_property_ask(p, p->spec, &in) : status;
}

/* The product of a row of an answer and what was handed to the other call. */
static double row_product(struct posref_slack *slack, const struct posref_property *p, int call,
                          const double *with, int64_t row)
{
    const int64_t width = p->spec->dim;
    double sum = 0, size = 0;
    for (int64_t k = row * width; k < (row + 1) * width; k++) {
        const double term = posref_property_got(p, call, 0, k) * with[k];
        sum += term;
        size += fabs(term);
        *slack = posref_slack_sum(*slack, posref_property_slack(p, call, 0, k, fabs(with[k])));
    }
    *slack = posref_slack_more(*slack, (double)width * 0x1p-53 * size);
    return sum;
}

void posref_adjoint_compare(struct posref_property *p)
{
    const double *x = posref_property_data(&p->call[0]->vector.inputs, "x");
    const double *dy = posref_property_data(&p->call[1]->vector.inputs, "dy");
    for (int64_t row = 0; row < N_ADJOINT; row++) {
        struct posref_slack slack = {{0}};
        const double forward = row_product(&slack, p, 0, dy, row);
        const double backward = row_product(&slack, p, 1, x, row);
        posref_property_compare(p, 1, 0, row * p->spec->dim, backward, forward, &slack);
    }
}
