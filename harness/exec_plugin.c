/* SPDX-License-Identifier: Apache-2.0 */
/* exec:COMMAND as a plugin: see exec_plugin.h. Runs in the worker. */
#include "exec_plugin.h"

#include "exec_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 64

struct exec_state {
    struct posref_plugin plugin;
    struct exec_program program;
    const char *config;
    char name[MAX_NAMES], version[MAX_NAMES / 2], layouts[8 * MAX_NAMES], dtypes[MAX_NAMES];
};

/* The tensors of a call as a set of reference/'s; outputs apart. */
static void describe(struct posref_tensors *in, struct posref_tensors *out,
                     const struct posref_plugin_call *call)
{
    static const enum posref_dtype dtypes[] = {
        [POSREF_PLUGIN_F64] = POSREF_F64, [POSREF_PLUGIN_F32] = POSREF_F32,
        [POSREF_PLUGIN_F16] = POSREF_F16, [POSREF_PLUGIN_BF16] = POSREF_BF16,
        [POSREF_PLUGIN_F8E4M3] = POSREF_F8E4M3, [POSREF_PLUGIN_F8E5M2] = POSREF_F8E5M2,
        [POSREF_PLUGIN_I32] = POSREF_I32, [POSREF_PLUGIN_I64] = POSREF_I64};
    in->n = out->n = 0;
    for (uint32_t i = 0; i < call->n_tensors; i++) {
        const struct posref_plugin_tensor *from = call->tensors[i];
        struct posref_tensors *set = from->access == POSREF_PLUGIN_OUT ? out : in;
        struct posref_tensor *to = &set->item[set->n++];
        *to = (struct posref_tensor){.dtype = dtypes[from->dtype], .rank = (int)from->rank,
                                     .data = from->data};
        snprintf(to->name, sizeof to->name, "%s", from->name);
        memcpy(to->shape, from->shape, sizeof to->shape);
    }
}

/* Starts the command and greets it. */
static bool begin(struct exec_state *state, char *why, size_t why_size_bytes)
{
    const char *const metadata[] = {"posref", "1", "call", "open", "config", state->config, NULL};
    const struct posref_tensors none = {.n = 0};
    struct posref_safetensors reply = {.n = 0};
    if (!exec_program_start(&state->program, why, why_size_bytes))
        return false;
    if (exec_program_ask(&state->program, &reply, &none, metadata, why, why_size_bytes) !=
        EXEC_ANSWERED)
        return false;
    struct posref_tensors nothing = {.n = 0};
    bool good = exec_reply_take(&nothing, &reply, why, why_size_bytes) == POSREF_PLUGIN_OK;
    const char *name = posref_safetensors_metadata(&reply, "name");
    const char *version = posref_safetensors_metadata(&reply, "version");
    snprintf(state->name, sizeof state->name, "%s", name ? name : "");
    snprintf(state->version, sizeof state->version, "%s", version ? version : "");
    const char *varies = posref_safetensors_metadata(&reply, "varies");
    state->plugin.flags = varies && strcmp(varies, "yes") == 0 ? POSREF_PLUGIN_VARIES : 0;
    const char *layouts = posref_safetensors_metadata(&reply, "layouts");
    snprintf(state->layouts, sizeof state->layouts, "%s", layouts ? layouts : "");
    const char *dtypes = posref_safetensors_metadata(&reply, "dtypes");
    snprintf(state->dtypes, sizeof state->dtypes, "%s", dtypes ? dtypes : "");
    posref_safetensors_close(&reply);
    if (!good)
        exec_program_stop(&state->program);
    return good;
}

/* The protocol has no strides, and no tensor that is read and written. */
static bool can_send(const struct posref_plugin_call *call)
{
    for (uint32_t i = 0; i < call->n_tensors; i++) {
        const struct posref_plugin_tensor *tensor = call->tensors[i];
        int64_t stride = 1;
        if (tensor->access == POSREF_PLUGIN_INOUT)
            return false;
        for (uint32_t axis = tensor->rank; axis-- > 0;) {
            if (tensor->strides[axis] != stride && tensor->shape[axis] > 1)
                return false;
            stride *= tensor->shape[axis];
        }
    }
    return true;
}

static int32_t run(void *ctx, const struct posref_plugin_call *call, char *why,
                   size_t why_size_bytes)
{
    struct exec_state *state = ctx;
    struct posref_tensors in, out;
    struct posref_buffer outputs;
    struct posref_safetensors reply = {.n = 0};
    int32_t status = POSREF_PLUGIN_ERROR;
    if (!can_send(call)) {
        snprintf(why, why_size_bytes, "exec: takes contiguous tensors, none in place");
        return POSREF_PLUGIN_UNSUPPORTED;
    }
    if (!exec_program_runs(&state->program) && !begin(state, why, why_size_bytes))
        return POSREF_PLUGIN_ERROR;
    describe(&in, &out, call);
    posref_buffer_init(&outputs, 1 << 16);
    exec_outputs_text(&outputs, &out);
    const char *const metadata[] = {"posref", "1",        "call",    "run",
                                    "op",     call->op,   "layout",  call->layout,
                                    "spec",   call->spec, "outputs", outputs.data, NULL};
    if (outputs.failed)
        snprintf(why, why_size_bytes, "no memory");
    else
        switch (exec_program_ask(&state->program, &reply, &in, metadata, why, why_size_bytes)) {
        case EXEC_ANSWERED: status = exec_reply_take(&out, &reply, why, why_size_bytes); break;
        case EXEC_ENDED: exec_program_follow(&state->program); break; /* does not return */
        case EXEC_BROKEN: break;
        }
    posref_safetensors_close(&reply);
    posref_buffer_clear(&outputs);
    return status;
}

static int32_t open_program(void **state, const char *config, char *why, size_t why_size_bytes)
{
    struct exec_state *mine = *state;
    mine->config = config;
    return begin(mine, why, why_size_bytes) ? POSREF_PLUGIN_OK : POSREF_PLUGIN_ERROR;
}

static void close_program(void *state)
{
    exec_program_stop(&((struct exec_state *)state)->program);
}

const struct posref_plugin *posref_exec_plugin(void **state, const char *command)
{
    struct exec_state *mine = calloc(1, sizeof *mine);
    if (!mine)
        return NULL;
    mine->program = (struct exec_program){.command = command, .to = -1, .from = -1};
    mine->plugin = (struct posref_plugin){.abi = POSREF_PLUGIN_ABI,
                                          .struct_size = sizeof mine->plugin,
                                          .name = mine->name,
                                          .version = mine->version,
                                          .open = open_program,
                                          .run = run,
                                          .close = close_program,
                                          .layouts = mine->layouts,
                                          .dtypes = mine->dtypes};
    *state = mine;
    return &mine->plugin;
}
