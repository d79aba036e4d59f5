/* SPDX-License-Identifier: Apache-2.0 */
/* GET and POST /v1/eval: the bytes that `posref eval` prints, within limits that keep one request
 * from holding up the others. */
#include "handle.h"

#include <string.h>

#define MAX_ELEMENTS 262144 /* of the largest tensor of one request */
#define MAX_PRODUCTS 262144 /* of queries and keys: one to three microseconds each */
#define BRIEF_ELEMENTS 1024 /* what is done in less than a millisecond */
#define BRIEF_PRODUCTS 256
#define PRODUCTS_OF_A_SCORE 16 /* at least: its exponential */
#define MAX_ARENA_BYTES ((size_t)64 << 20)

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double count(const struct posref_request *request, const char *name)
{
    const struct posref_tensor *positions = posref_tensors_find(&request->inputs, name);
    if (!positions)
        positions = posref_tensors_find(&request->inputs, "positions");
    return positions && positions->rank ? (double)positions->shape[positions->rank - 1] : 0;
}

/* An upper bound of the elements of the largest tensor that the answer needs. The spec has not
 * been checked yet: doubles cannot overflow here. */
static double n_elements(const struct posref_request *request)
{
    const struct posref_spec *spec = &request->spec;
    double dim = spec->given[POSREF_FIELD_DIM] ? spec->dim : 0;
    double heads = spec->given[POSREF_FIELD_NUM_HEADS] ? spec->num_heads : 0;
    double most = larger(dim * larger(1, count(request, "positions")),
                         heads * larger(1, count(request, "q_positions")) *
                             larger(1, count(request, "k_positions")));
    for (int i = 0; i < request->inputs.n; i++)
        most = larger(most, (double)posref_tensor_count(&request->inputs.item[i]));
    return most;
}

bool posref_check_size(const struct posref_request *request, struct posref_reply *reply)
{
    if (n_elements(request) <= MAX_ELEMENTS)
        return true;
    posref_reply_fail(reply, POSREF_PROBLEM_TOO_LARGE, "positions",
                      "positions times dim (heads times queries times keys) may be %d at most "
                      "here; `posref eval` on your own machine takes more",
                      MAX_ELEMENTS);
    return false;
}

/* Queries times heads, from the shape of q or what says it. */
static double query_rows(const struct posref_request *request, const struct posref_tensor *q)
{
    const double all = (double)posref_tensor_count(q), n = count(request, "q_positions");
    if (q->rank > 1)
        return all / (double)q->shape[q->rank - 1];
    if (request->spec.given[POSREF_FIELD_DIM])
        return all / request->spec.dim;
    return n > 0 ? n * larger(1, request->spec.num_heads) : all;
}

/* An upper bound of the products of scores, or 0. Flat tensors have no shape yet. */
static double n_products(const struct posref_request *request)
{
    const struct posref_tensor *q = posref_tensors_find(&request->inputs, "q");
    const struct posref_tensor *k = posref_tensors_find(&request->inputs, "k");
    if (!q || !k || posref_tensor_count(q) < 1 || posref_tensor_count(k) < 1)
        return 0;
    double keys = k->rank > 1 ? (double)k->shape[0] : count(request, "k_positions");
    if (keys < 1)
        keys = (double)posref_tensor_count(k) /
               (request->spec.given[POSREF_FIELD_DIM] ? request->spec.dim : 1);
    return keys * larger((double)posref_tensor_count(q),
                         PRODUCTS_OF_A_SCORE * query_rows(request, q));
}

static void refuse(const struct posref_call *call, struct posref_reply *reply,
                   enum posref_status status, const struct posref_error *err)
{
    if (status == POSREF_NO_MEMORY)
        posref_reply_fail(reply, POSREF_PROBLEM_TOO_LARGE, NULL,
                          "the evaluation needs more than %zu bytes", MAX_ARENA_BYTES);
    else
        posref_refuse_field(call, reply, status, err);
}

static void answer(const struct posref_call *call, struct posref_reply *reply,
                   struct posref_request *request, const struct posref_arena *arena)
{
    if (!posref_check_size(request, reply))
        return;
    if (n_products(request) > MAX_PRODUCTS) {
        posref_reply_fail(reply, POSREF_PROBLEM_TOO_LARGE, "q",
                          "queries times keys times heads times dim (counted as %d at least) may "
                          "be %d at most here; `posref eval` on your own machine takes more",
                          PRODUCTS_OF_A_SCORE, MAX_PRODUCTS);
        return;
    }
    if (posref_put_off(call, reply, n_elements(request) > BRIEF_ELEMENTS ||
                                        n_products(request) > BRIEF_PRODUCTS))
        return;
    struct posref_error err = {{0}, {0}};
    enum posref_status status = posref_request_answer(&reply->body, request, arena, &err);
    if (status != POSREF_OK && !reply->body.failed)
        refuse(call, reply, status, &err);
    if (status == POSREF_OK) {
        reply->caching = POSREF_CACHE_SHORT;
        atomic_fetch_add(&call->metrics->evaluations, 1);
    }
}

static enum posref_status read_query(struct posref_request *request, const struct posref_uri *uri,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    for (size_t i = 0; i < uri->n_params; i++) {
        const struct posref_param *param = &uri->param[i];
        if (strcmp(param->key, "numbers") == 0)
            continue;
        enum posref_status status = posref_request_set(request, param->key, param->value, arena,
                                                       err);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

static void eval(const struct posref_call *call, struct posref_reply *reply, bool from_body)
{
    struct posref_request request;
    posref_request_init(&request);
    if (!posref_read_numbers(call, reply, &request.numbers))
        return;
    struct posref_heap *heap = posref_heap_new(MAX_ARENA_BYTES);
    if (!heap) {
        posref_reply_fail(reply, POSREF_PROBLEM_INTERNAL, NULL, "out of memory");
        return;
    }
    struct posref_arena arena = posref_heap_arena(heap);
    struct posref_error err = {{0}, {0}};
    enum posref_status status =
        from_body ? posref_request_json(&request, call->http->body, call->http->body_length,
                                        &arena, &err)
                  : read_query(&request, call->uri, &arena, &err);
    if (status == POSREF_OK)
        answer(call, reply, &request, &arena);
    else
        refuse(call, reply, status, &err);
    posref_heap_free(heap);
}

void posref_handle_eval_get(const struct posref_call *call, struct posref_reply *reply)
{
    eval(call, reply, false);
}

void posref_handle_eval_post(const struct posref_call *call, struct posref_reply *reply)
{
    eval(call, reply, true);
}
