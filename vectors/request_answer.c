/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its answer: shapes, evaluation, JSON. */
#include "vectors/request.h"

enum posref_status posref_request_complete(struct posref_request *request,
                                           struct posref_error *err)
{
    enum posref_status status = posref_request_settle(request, err);
    if (status == POSREF_OK)
        status = posref_spec_complete(&request->spec, err);
    for (int i = 0; i < request->inputs.n && status == POSREF_OK; i++)
        status = posref_input_reshape(&request->inputs.item[i], &request->spec, &request->inputs,
                                      err);
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
    if (request->model[0]) {
        posref_buffer_text(out, ", \"model\": ");
        status = posref_request_model_json(out, request, err);
        if (status != POSREF_OK)
            return status;
    }
    posref_buffer_text(out, ", \"outputs\": ");
    posref_tensors_json(out, &outputs, request->numbers);
    posref_buffer_text(out, "}\n");
    if (out->failed)
        return posref_fail(err, POSREF_BAD_INPUT, "positions",
                           "the answer would be larger than %zu bytes", out->max_bytes);
    return POSREF_OK;
}
