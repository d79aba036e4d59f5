/* SPDX-License-Identifier: Apache-2.0 */
/* What a program of exec:COMMAND answered: its status, and the outputs that were asked for. */
#include "exec_program.h"
#include "posref_plugin.h"

#include <stdio.h>
#include <string.h>

void exec_outputs_text(struct posref_buffer *text, const struct posref_tensors *out)
{
    posref_buffer_text(text, "[");
    for (int i = 0; i < out->n; i++) {
        const struct posref_tensor *tensor = &out->item[i];
        posref_buffer_printf(text, "%s{\"name\": \"%s\", \"dtype\": \"%s\", \"shape\": [",
                             i ? ", " : "", tensor->name, posref_stored_name(tensor->dtype));
        for (int axis = 0; axis < tensor->rank; axis++)
            posref_buffer_printf(text, "%s%lld", axis ? ", " : "", (long long)tensor->shape[axis]);
        posref_buffer_text(text, "]}");
    }
    posref_buffer_text(text, "]");
    posref_buffer_add(text, "", 1);
}

static void say(char *why, size_t why_size_bytes, const char *text)
{
    snprintf(why, why_size_bytes, "%s", text ? text : "");
}

/* Copies one output out of the reply; false: it is not what was asked for, and why says so. */
static bool take_output(const struct posref_tensor *want, const struct posref_safetensors *reply,
                        char *why, size_t why_size_bytes)
{
    const struct posref_stored *got = posref_safetensors_find(reply, want->name);
    uint64_t size = (uint64_t)posref_tensor_count(want) * posref_dtype_size(want->dtype);
    bool fits = got && got->rank == want->rank &&
                posref_stored_dtype(got->type) == (int)want->dtype && got->size_bytes == size;
    for (int axis = 0; fits && axis < want->rank; axis++)
        fits = got->shape[axis] == want->shape[axis];
    if (fits) {
        memcpy(want->data, got->data, size);
        return true;
    }
    snprintf(why, why_size_bytes, "the answer's %s is %s", want->name,
             got ? "of another dtype or shape than asked for" : "missing");
    return false;
}

int32_t exec_reply_take(const struct posref_tensors *out, const struct posref_safetensors *reply,
                        char *why, size_t why_size_bytes)
{
    const char *status = posref_safetensors_metadata(reply, "status");
    say(why, why_size_bytes, posref_safetensors_metadata(reply, "why"));
    if (status && strcmp(status, "unsupported") == 0)
        return POSREF_PLUGIN_UNSUPPORTED;
    if (status && strcmp(status, "error") == 0)
        return POSREF_PLUGIN_ERROR;
    if (!status || strcmp(status, "ok") != 0) {
        say(why, why_size_bytes, "the answer's status is none of ok, unsupported, error");
        return POSREF_PLUGIN_ERROR;
    }
    return exec_reply_outputs(out, reply, why, why_size_bytes);
}

int32_t exec_reply_outputs(const struct posref_tensors *out,
                           const struct posref_safetensors *reply, char *why,
                           size_t why_size_bytes)
{
    for (int i = 0; i < out->n; i++)
        if (!take_output(&out->item[i], reply, why, why_size_bytes))
            return POSREF_PLUGIN_ERROR;
    for (size_t i = 0; i < reply->n; i++)
        if (!posref_tensors_find(out, reply->item[i].name)) {
            snprintf(why, why_size_bytes, "the answer holds '%.60s', which was not asked for",
                     reply->item[i].name);
            return POSREF_PLUGIN_ERROR;
        }
    return POSREF_PLUGIN_OK;
}
