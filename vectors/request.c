/* SPDX-License-Identifier: Apache-2.0 */
/* What a user asked for, gathered key by key: a spec, an op and inputs. */
#include "vectors/request.h"

#include <string.h>

#define MAX_INPUTS 64 /* names of inputs; POSREF_MAX_TENSORS bounds those of one request */

void posref_request_init(struct posref_request *request)
{
    memset(request, 0, sizeof *request); /* the spec's padding too: see posref_spec_init */
    request->op = POSREF_OP_ALL;
}

enum posref_status posref_unknown_key(const char *key, struct posref_error *err)
{
    const char *names[POSREF_N_FIELDS + MAX_INPUTS + 4] = {"op", "model", "allow_unverified"};
    size_t n = 3;
    for (int field = 0; field < POSREF_N_FIELDS; field++)
        names[n++] = posref_field_def((enum posref_field)field)->name;
    for (int i = 0; posref_input_def(i) && i < MAX_INPUTS; i++)
        names[n++] = posref_input_def(i)->name;
    const char *near = posref_nearest(key, names);
    if (near)
        return posref_fail(err, POSREF_BAD_INPUT, key, "unknown key; did you mean %s?", near);
    return posref_fail(err, POSREF_BAD_INPUT, key, "unknown key");
}

enum posref_status posref_request_op(struct posref_request *request, const char *value,
                                     struct posref_error *err)
{
    int op = posref_op_find(value);
    if (request->op_given)
        return posref_fail(err, POSREF_BAD_INPUT, "op", "given twice");
    if (op >= 0) {
        request->op = (enum posref_op)op;
        request->op_given = true;
        return POSREF_OK;
    }
    char names[160] = "";
    size_t length = 0;
    for (int i = 0; i < POSREF_N_OPS && length < sizeof names; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "",
                                   posref_op_name((enum posref_op)i));
    return posref_fail(err, POSREF_BAD_INPUT, "op", "must be one of %s; got '%.40s'", names, value);
}

enum posref_status posref_request_add(struct posref_request *request,
                                      const struct posref_tensor *tensor, struct posref_error *err)
{
    struct posref_tensors *inputs = &request->inputs;
    if (posref_input_find(tensor->name) < 0)
        return posref_unknown_key(tensor->name, err);
    if (posref_tensors_find(inputs, tensor->name))
        return posref_fail(err, POSREF_BAD_INPUT, tensor->name, "given twice");
    if (inputs->n == POSREF_MAX_TENSORS)
        return posref_fail(err, POSREF_BAD_INPUT, tensor->name, "too many inputs");
    inputs->item[inputs->n++] = *tensor;
    return POSREF_OK;
}

enum posref_status posref_request_set(struct posref_request *request, const char *key,
                                      const char *value, const struct posref_arena *arena,
                                      struct posref_error *err)
{
    if (strcmp(key, "op") == 0)
        return posref_request_op(request, value, err);
    if (posref_spec_key_known(key))
        return posref_request_set_field(request, key, value, err);
    int input = posref_input_find(key);
    if (input < 0)
        return posref_unknown_key(key, err);
    if (value[0] == '\0')
        return posref_fail(err, POSREF_BAD_INPUT, key, "no value given");
    struct posref_tensor tensor;
    enum posref_status status = posref_input_def(input)->is_positions
                                    ? posref_positions_parse(&tensor, value, key, arena, err)
                                    : posref_values_parse(&tensor, value, key, arena, err);
    return status == POSREF_OK ? posref_request_add(request, &tensor, err) : status;
}
