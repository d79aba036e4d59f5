/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its answer: shapes, evaluation, JSON. */
#include "vectors/request.h"

#include <stdio.h>
#include <string.h>

/* A sinusoidal table of two axes: half of the channels each (MAE); of three: a quarter for the
 * first, the rest in halves (CogVideoX); where these are even. */
static void split_table(struct posref_spec *spec, int64_t n_axes)
{
    const int dim = spec->given[POSREF_FIELD_DIM] ? spec->dim : 0;
    if (spec->given[POSREF_FIELD_AXES_DIMS] || dim < 2 || dim % (n_axes == 2 ? 4 : 16) != 0)
        return;
    spec->axes_dims = n_axes == 2 ? (struct posref_ints){.n = 2, .item = {dim / 2, dim / 2}}
                                  : (struct posref_ints){.n = 3, .item = {dim / 4, dim / 8 * 3,
                                                                          dim / 8 * 3}};
    spec->given[POSREF_FIELD_AXES_DIMS] = true;
}

/* Several axes of positions and no field that says what they are for: of rope three, a third of the
 * channels each, where that can be. */
static void split_channels(struct posref_request *request)
{
    struct posref_spec *spec = &request->spec;
    const struct posref_tensor *positions = posref_tensors_find(&request->inputs, "positions");
    if (spec->given[POSREF_FIELD_SCHEME] && spec->scheme == POSREF_SCHEME_SINUSOIDAL && positions &&
        positions->rank == 2 && (positions->shape[0] == 2 || positions->shape[0] == 3))
        split_table(spec, positions->shape[0]);
    if (spec->given[POSREF_FIELD_SCHEME] && spec->scheme != POSREF_SCHEME_ROPE)
        return;
    for (int field = POSREF_FIELD_AXES_DIMS; field <= POSREF_FIELD_MROPE_ORDER; field++)
        if (spec->given[field])
            return;
    const int dim = spec->given[POSREF_FIELD_ROTARY_DIM] ? spec->rotary_dim : spec->dim;
    if (!spec->given[POSREF_FIELD_DIM] || dim < 6 || dim % 6 != 0 || !positions ||
        positions->rank != 2 || positions->shape[0] != 3)
        return;
    spec->axes_dims = (struct posref_ints){.n = 3, .item = {dim / 3, dim / 3, dim / 3}};
    spec->given[POSREF_FIELD_AXES_DIMS] = true;
}

enum posref_status posref_request_complete(struct posref_request *request,
                                           struct posref_error *err)
{
    enum posref_status status = posref_request_settle(request, err);
    if (status == POSREF_OK)
        split_channels(request);
    if (status == POSREF_OK)
        status = posref_spec_complete(&request->spec, err);
    for (int i = 0; i < request->inputs.n && status == POSREF_OK; i++)
        status = posref_input_reshape(&request->inputs.item[i], &request->spec, &request->inputs,
                                      err);
    if (status == POSREF_OK)
        status = posref_request_shape_attention(request, err);
    return status == POSREF_OK ? posref_spec_settle(&request->spec, &request->inputs, err) : status;
}

/* Nothing can be computed of what is given: which inputs the scheme's ops take. */
static enum posref_status ask_for_inputs(const struct posref_request *request,
                                         struct posref_error *err)
{
    const struct posref_spec *spec = &request->spec;
    const enum posref_scheme scheme = (enum posref_scheme)spec->scheme;
    const bool grid = posref_op_applies(POSREF_OP_BIAS, spec);
    const bool scores = posref_op_applies(POSREF_OP_SCORES, spec);
    const char *missing = grid ? "positions" : "q";
    char reads[128];
    size_t length = 0;
    for (int i = 0; posref_input_def(i) && length < sizeof reads; i++) {
        const struct posref_input_def *def = posref_input_def(i);
        if (!posref_input_shape_text(scheme, def->name))
            continue;
        length += (size_t)snprintf(reads + length, sizeof reads - length, "%s%s",
                                   length ? ", " : "", def->name);
        /* With positions, what is missing is the first parameter of the bias. */
        if (strcmp(missing, "positions") == 0 && request->inputs.n > 0 && !def->is_positions &&
            strcmp(def->name, "mask") != 0 &&
            !posref_tensors_find(&request->inputs, def->name))
            missing = def->name;
    }
    return posref_fail(err, POSREF_BAD_INPUT, missing,
                       "%s %s%s%s; scheme=%s reads %s, as KEY=1,2,... or KEY=@FILE",
                       "nothing can be computed of these inputs:",
                       grid ? "a bias needs positions and its parameters" : "",
                       grid && scores ? ", " : "", scores ? "scores need q and k" : "",
                       posref_scheme_info(scheme)->name, reads);
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
    if (status == POSREF_OK && outputs.n == 0)
        status = ask_for_inputs(request, err);
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
