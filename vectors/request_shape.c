/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of flat q, k, v and mask, from the spec's dim and num_heads and from the positions. */
#include "vectors/request.h"

#include <inttypes.h>

static struct posref_tensor *find(struct posref_request *request, const char *name)
{
    for (int i = 0; i < request->inputs.n; i++)
        if (posref_tensors_find(&request->inputs, name) == &request->inputs.item[i])
            return &request->inputs.item[i];
    return NULL;
}

/* Positions of q or k; 0: none given. */
static int64_t count_positions(const struct posref_request *request, const char *name)
{
    const struct posref_tensor *positions = posref_tensors_find(&request->inputs, name);
    if (!positions)
        positions = posref_tensors_find(&request->inputs, "positions");
    return positions && positions->rank ? positions->shape[positions->rank - 1] : 0;
}

static enum posref_status fail_count(const struct posref_tensor *tensor, int64_t n, int64_t heads,
                                     int64_t width, struct posref_error *err)
{
    return posref_fail(err, POSREF_BAD_INPUT, tensor->name,
                       "%" PRId64 " values are not %" PRId64 " rows of %" PRId64
                       " heads of dim %" PRId64, tensor->shape[0], n, heads, width);
}

/* [n, width], or [n, heads, width] with num_heads, or where so many values are there; n or width
 * may be 0: the other says it. */
static enum posref_status shape_rows(struct posref_tensor *tensor, int64_t n, int64_t heads,
                                     int64_t width, bool by_head, struct posref_error *err)
{
    const int64_t count = tensor->shape[0];
    if (n == 0 && width == 0)
        return posref_fail(err, POSREF_BAD_INPUT, tensor->name,
                           "flat values need dim or positions to know their shape");
    if (!by_head && n > 0 && width > 0 && count > n * width && count % (n * width) == 0) {
        heads = count / (n * width);
        by_head = true;
    }
    if (n == 0)
        n = count / (heads * width);
    if (width == 0)
        width = count / (heads * n);
    if (n < 1 || width < 1 || n * heads * width != count)
        return fail_count(tensor, n, heads, width, err);
    tensor->rank = by_head ? 3 : 2;
    tensor->shape[0] = n;
    tensor->shape[1] = by_head ? heads : width;
    tensor->shape[2] = width;
    return POSREF_OK;
}

static enum posref_status shape_mask(struct posref_request *request, const struct posref_tensor *q,
                                     const struct posref_tensor *k, struct posref_error *err)
{
    struct posref_tensor *mask = find(request, "mask");
    if (!mask || mask->rank != 1 || !q || !k)
        return POSREF_OK;
    if (mask->shape[0] != q->shape[0] * k->shape[0])
        return posref_fail(err, POSREF_BAD_INPUT, "mask",
                           "%" PRId64 " values, but %" PRId64 " queries and %" PRId64
                           " keys take %" PRId64, mask->shape[0], q->shape[0], k->shape[0],
                           q->shape[0] * k->shape[0]);
    mask->rank = 2;
    mask->shape[0] = q->shape[0];
    mask->shape[1] = k->shape[0];
    return POSREF_OK;
}

enum posref_status posref_request_shape_attention(struct posref_request *request,
                                                  struct posref_error *err)
{
    const struct posref_spec *spec = &request->spec;
    const bool by_head = spec->given[POSREF_FIELD_NUM_HEADS];
    const int64_t heads = by_head ? spec->num_heads : 1;
    int64_t dim = spec->given[POSREF_FIELD_DIM] ? spec->dim : 0;
    struct posref_tensor *q = find(request, "q"), *k = find(request, "k"), *v = find(request, "v");
    enum posref_status status = POSREF_OK;
    if (q && q->rank == 1)
        status = shape_rows(q, count_positions(request, "q_positions"), heads, dim, by_head, err);
    if (status == POSREF_OK && q && dim == 0)
        dim = q->shape[q->rank - 1];
    if (status == POSREF_OK && k && k->rank == 1)
        status = shape_rows(k, count_positions(request, "k_positions"), heads, dim, by_head, err);
    if (status == POSREF_OK && v && k && v->rank == 1)
        status = shape_rows(v, k->shape[0], k->rank == 3 ? k->shape[1] : heads, 0, k->rank == 3,
                            err);
    return status == POSREF_OK ? shape_mask(request, q, k, err) : status;
}
