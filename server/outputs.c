/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that carry tensors: see outputs.h. */
#include "outputs.h"

#include "vectors/files.h"

#include <string.h>

#define BODY "body"

/* The dtype of the document's float tensors; f64 without any. */
static enum posref_status find_dtype(enum posref_dtype *out, const struct posref_safetensors *st,
                                     struct posref_error *err)
{
    int found = -1;
    for (size_t i = 0; i < st->n; i++) {
        int dtype = posref_stored_dtype(st->item[i].type);
        if (dtype < 0 || dtype == POSREF_I32 || dtype == POSREF_I64)
            continue;
        if (posref_dtype_is_float8((enum posref_dtype)dtype))
            return posref_fail(err, POSREF_BAD_INPUT, "dtype", "must be f64, f32, f16 or bf16");
        if (found >= 0 && dtype != found)
            return posref_fail(err, POSREF_BAD_INPUT, "dtype",
                               "the tensors have several: say what was computed in");
        found = dtype;
    }
    *out = found < 0 ? POSREF_F64 : (enum posref_dtype)found;
    return POSREF_OK;
}

static enum posref_status read_document(struct posref_outputs *out, bool dtype_given,
                                        const struct posref_http_request *http,
                                        const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_safetensors st;
    enum posref_status status =
        posref_safetensors_parse(&st, http->body, http->body_length, BODY, err);
    if (status != POSREF_OK)
        return status;
    if (!dtype_given)
        status = find_dtype(&out->dtype, &st, err);
    if (status == POSREF_OK)
        status = posref_safetensors_load(&out->tensors, &st, true, arena, err);
    posref_safetensors_close(&st);
    return status;
}

/* Sets *dtype when the parameter is there. */
static enum posref_status read_dtype(enum posref_dtype *dtype, const char *text,
                                     struct posref_error *err)
{
    int found = text ? posref_dtype_find(text) : POSREF_F64;
    if (found < 0 || found > POSREF_BF16)
        return posref_fail(err, POSREF_BAD_INPUT, "dtype", "must be f64, f32, f16 or bf16");
    *dtype = (enum posref_dtype)found;
    return POSREF_OK;
}

static enum posref_status read_gate(enum posref_grade *gate, const char *text,
                                    enum posref_dtype dtype, struct posref_error *err)
{
    int found = text ? posref_grade_find(text) : (int)posref_grade_default(dtype);
    if (found < 0 || found == POSREF_GRADE_FAIL)
        return posref_fail(err, POSREF_BAD_INPUT, "min_grade",
                           "must be exact, float32, recurrence, fast or low");
    *gate = (enum posref_grade)found;
    return POSREF_OK;
}

/* request: NULL, or what takes spec and inputs. */
static enum posref_status read_all(struct posref_outputs *out, struct posref_request *request,
                                   const struct posref_call *call,
                                   const struct posref_arena *arena, struct posref_error *err)
{
    const char *dtype = posref_uri_value(call->uri, "dtype");
    const struct posref_http_request *http = call->http;
    enum posref_status status = read_dtype(&out->dtype, dtype, err);
    if (status == POSREF_OK && call->body_form == 0)
        status = posref_body_json(request, &out->tensors, http->body, http->body_length, arena,
                                  err);
    else if (status == POSREF_OK)
        status = read_document(out, dtype != NULL, http, arena, err);
    if (status == POSREF_OK)
        status = read_gate(&out->gate, posref_uri_value(call->uri, "min_grade"), out->dtype, err);
    return status;
}

enum posref_status posref_outputs_read(struct posref_outputs *out, const struct posref_call *call,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    return read_all(out, NULL, call, arena, err);
}

enum posref_status posref_outputs_read_request(struct posref_outputs *out,
                                               struct posref_request *request,
                                               const struct posref_call *call,
                                               const struct posref_arena *arena,
                                               struct posref_error *err)
{
    return read_all(out, request, call, arena, err);
}
