/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of biases, weights, scores and attention, over queries and keys, and that of taking
 * rows one at a time. */
#include "property_impl.h"

#include <math.h>
#include <string.h>

#define N_ROWS 6 /* rows, queries and keys */

static bool has_keys(const struct posref_property *p)
{
    return posref_tensors_find(&p->call[0]->vector.inputs, "k_positions") != NULL;
}

/* The axis of an output that counts rows or queries. */
static int row_axis(const struct posref_property *p, const struct posref_tensor *out)
{
    return has_keys(p) && p->of->subject->op != POSREF_OP_ATTENTION ? out->rank - 2 : 0;
}

static enum posref_status lay(struct posref_tensors *in, struct posref_property *p, double first)
{
    double position[N_ROWS];
    *in = (struct posref_tensors){.n = 0};
    for (int k = 0; k < N_ROWS; k++)
        position[k] = first + k;
    enum posref_status status = posref_property_positions(p, in, position, N_ROWS);
    return status == POSREF_OK ? posref_property_draw(p, in, 0) : status;
}

/* ---- one row at a time ---- */

/* Call 0 has all rows, call 1 + i row i alone: of the keys those that it may see, as a decoder
 * that keeps its keys has them. */
enum posref_status posref_incremental_ask(struct posref_property *p)
{
    struct posref_tensors in, row;
    const bool causal = p->spec->given[POSREF_FIELD_CAUSAL] && p->spec->causal;
    enum posref_status status = lay(&in, p, (double)posref_draw_below(&p->draw, 120));
    if (status == POSREF_OK)
        status = posref_property_ask(p, p->spec, &in);
    for (int64_t i = 0; i < N_ROWS && status == POSREF_OK; i++) {
        status = posref_property_row(&row, p, &in, i, causal ? i + 1 : N_ROWS);
        if (status == POSREF_OK)
            status = posref_property_ask(p, p->spec, &row);
    }
    return status;
}

/* Element k of a single row's answer as an element of the whole's. */
static int64_t place_in_whole(int64_t k, const struct posref_tensor *one,
                              const struct posref_tensor *whole, int axis, int64_t row)
{
    int64_t at = 0, index[POSREF_MAX_RANK];
    for (int a = one->rank - 1; a >= 0; a--) {
        index[a] = k % one->shape[a];
        k /= one->shape[a];
    }
    index[axis] = row;
    for (int a = 0; a < whole->rank; a++)
        at = at * whole->shape[a] + index[a];
    return at;
}

void posref_incremental_compare(struct posref_property *p)
{
    const struct posref_tensors *whole = &p->call[0]->vector.outputs;
    p->bits_matter = true;
    for (int row = 0; row < N_ROWS; row++)
        for (int t = 0; t < whole->n; t++) {
            const struct posref_tensor *one = &p->call[1 + row]->vector.outputs.item[t];
            for (int64_t k = 0; k < posref_tensor_count(one); k++)
                posref_property_same(p, 0,
                                     place_in_whole(k, one, &whole->item[t],
                                                    row_axis(p, &whole->item[t]), row),
                                     1 + row, k, t);
        }
}

/* ---- all positions moved ---- */

enum posref_status posref_shift_ask(struct posref_property *p)
{
    struct posref_tensors in, moved;
    enum posref_status status = lay(&in, p, (double)posref_draw_below(&p->draw, 200));
    if (status == POSREF_OK)
        status = posref_property_ask(p, p->spec, &in);
    const double by = 1 + (double)posref_draw_below(&p->draw, 800);
    moved = in;
    for (int i = 0; i < moved.n && status == POSREF_OK; i++) {
        if (!strstr(moved.item[i].name, "positions"))
            continue;
        const double *from = in.item[i].data;
        const int64_t n = posref_tensor_count(&in.item[i]);
        double *to = p->arena->alloc(p->arena->ctx, (size_t)n * sizeof *to);
        if (!to)
            return posref_fail(p->err, POSREF_NO_MEMORY, "", "no memory");
        for (int64_t k = 0; k < n; k++)
            to[k] = from[k] + by;
        moved.item[i].data = to;
    }
    return status == POSREF_OK ? posref_property_ask(p, p->spec, &moved) : status;
}

void posref_shift_compare(struct posref_property *p)
{
    for (int t = 0; t < p->call[0]->vector.outputs.n; t++)
        for (int64_t k = 0; k < posref_tensor_count(&p->call[0]->vector.outputs.item[t]); k++)
            posref_property_same(p, 0, k, 1, k, t);
}

/* ---- one value along each diagonal ---- */

enum posref_status posref_toeplitz_ask(struct posref_property *p)
{
    struct posref_tensors in;
    enum posref_status status = lay(&in, p, (double)posref_draw_below(&p->draw, 1000));
    return status == POSREF_OK ? posref_property_ask(p, p->spec, &in) : status;
}

void posref_toeplitz_compare(struct posref_property *p)
{
    const int64_t heads = posref_tensor_count(&p->call[0]->got.item[0]) / (N_ROWS * N_ROWS);
    for (int64_t h = 0; h < heads; h++)
        for (int64_t i = 1; i < N_ROWS; i++)
            for (int64_t j = 1; j < N_ROWS; j++)
                posref_property_same(p, 0, ((h * N_ROWS) + i - 1) * N_ROWS + j - 1, 0,
                                     (h * N_ROWS + i) * N_ROWS + j, 0);
}

/* ---- weights of a row add up to 1 ---- */

enum posref_status posref_sum_ask(struct posref_property *p)
{
    return posref_toeplitz_ask(p);
}

void posref_sum_compare(struct posref_property *p)
{
    const int64_t rows = posref_tensor_count(&p->call[0]->got.item[0]) / N_ROWS;
    for (int64_t row = 0; row < rows; row++) {
        struct posref_slack slack = {{0}};
        double sum = 0;
        for (int64_t j = 0; j < N_ROWS; j++) {
            sum += posref_property_got(p, 0, 0, row * N_ROWS + j);
            slack = posref_slack_sum(slack, posref_property_slack(p, 0, 0, row * N_ROWS + j, 1));
        }
        slack = posref_slack_more(slack, N_ROWS * 0x1p-53);
        posref_property_compare(p, 0, 0, row * N_ROWS, sum, 1, &slack);
    }
}

/* ---- values that are all alike ---- */

enum posref_status posref_constant_ask(struct posref_property *p)
{
    struct posref_tensors in;
    enum posref_status status = lay(&in, p, (double)posref_draw_below(&p->draw, 1000));
    if (status != POSREF_OK)
        return status;
    double *v = posref_property_data(&in, "v");
    const int64_t n = posref_tensor_count(posref_tensors_find(&in, "v")), width = n / N_ROWS;
    for (int64_t k = width; k < n; k++)
        v[k] = v[k % width];
    return posref_property_ask(p, p->spec, &in);
}

void posref_constant_compare(struct posref_property *p)
{
    const struct posref_tensors *in = &p->call[0]->vector.inputs;
    const double *v = posref_property_data(in, "v");
    const int64_t width = posref_tensor_count(posref_tensors_find(in, "v")) / N_ROWS;
    for (int64_t k = 0; k < posref_tensor_count(&p->call[0]->got.item[0]); k++) {
        const struct posref_slack slack = posref_property_slack(p, 0, 0, k, 1);
        posref_property_compare(p, 0, 0, k, posref_property_got(p, 0, 0, k), v[k % width], &slack);
    }
}
