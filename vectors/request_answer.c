/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its answer: shapes, evaluation, JSON. */
#include "vectors/vectors.h"

#include <inttypes.h>

/* Positions on the named axis tensor, or on the one it defaults to; 0 when neither is there. */
static int64_t count_positions(const struct posref_tensors *inputs, const char *name)
{
    const struct posref_tensor *positions = posref_tensors_find(inputs, name);
    if (!positions)
        positions = posref_tensors_find(inputs, "positions");
    return positions && positions->rank ? positions->shape[positions->rank - 1] : 0;
}

static struct posref_tensor *find_flat(struct posref_request *request, const char *name)
{
    for (int i = 0; i < request->inputs.n; i++) {
        struct posref_tensor *tensor = &request->inputs.item[i];
        if (tensor->rank == 1 && posref_tensors_find(&request->inputs, name) == tensor)
            return tensor;
    }
    return NULL;
}

static enum posref_status shape_x(struct posref_request *request, struct posref_error *err)
{
    struct posref_tensor *x = find_flat(request, "x");
    if (!x || !request->spec.given[POSREF_FIELD_DIM])
        return POSREF_OK;
    int64_t n = count_positions(&request->inputs, "positions"), dim = request->spec.dim;
    if (n == 0)
        return posref_fail(err, POSREF_BAD_INPUT, "positions", "x needs positions");
    if (x->shape[0] != n * dim)
        return posref_fail(err, POSREF_BAD_INPUT, "x",
                           "%" PRId64 " values, but %" PRId64 " positions of dim %" PRId64
                           " take %" PRId64,
                           x->shape[0], n, dim, n * dim);
    x->rank = 2;
    x->shape[0] = n;
    x->shape[1] = dim;
    return POSREF_OK;
}

static enum posref_status shape_logits(struct posref_request *request, struct posref_error *err)
{
    struct posref_tensor *logits = find_flat(request, "logits");
    if (!logits || !request->spec.given[POSREF_FIELD_NUM_HEADS])
        return POSREF_OK;
    int64_t n_q = count_positions(&request->inputs, "q_positions");
    int64_t n_k = count_positions(&request->inputs, "k_positions");
    int64_t heads = request->spec.num_heads;
    if (n_q == 0 || n_k == 0)
        return posref_fail(err, POSREF_BAD_INPUT, "positions", "logits need positions");
    if (logits->shape[0] != heads * n_q * n_k)
        return posref_fail(err, POSREF_BAD_INPUT, "logits",
                           "%" PRId64 " values, but %" PRId64 " heads, %" PRId64
                           " queries and %" PRId64 " keys take %" PRId64,
                           logits->shape[0], heads, n_q, n_k, heads * n_q * n_k);
    logits->rank = 3;
    logits->shape[0] = heads;
    logits->shape[1] = n_q;
    logits->shape[2] = n_k;
    return POSREF_OK;
}

enum posref_status posref_request_complete(struct posref_request *request,
                                           struct posref_error *err)
{
    enum posref_status status = posref_spec_complete(&request->spec, err);
    if (status == POSREF_OK)
        status = shape_x(request, err);
    if (status == POSREF_OK)
        status = shape_logits(request, err);
    return status;
}

enum posref_status posref_request_answer(struct posref_buffer *out, struct posref_request *request,
                                         const struct posref_arena *arena,
                                         struct posref_error *err)
{
    struct posref_tensors outputs;
    enum posref_status status = posref_request_complete(request, err);
    if (status == POSREF_OK)
        status = posref_eval_bulk(&outputs, &request->spec, request->op, &request->inputs, arena,
                                  err);
    if (status != POSREF_OK)
        return status;
    posref_buffer_text(out, "{\"spec\": ");
    posref_spec_json(out, &request->spec);
    posref_buffer_text(out, ", \"outputs\": ");
    posref_tensors_json(out, &outputs);
    posref_buffer_text(out, "}\n");
    if (out->failed)
        return posref_fail(err, POSREF_BAD_INPUT, "positions",
                           "the answer would be larger than %zu bytes", out->max_bytes);
    return POSREF_OK;
}
