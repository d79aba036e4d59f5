/* SPDX-License-Identifier: Apache-2.0 */
/* Which op a set of saved outputs belongs to: see check.h. */
#include "check.h"

#include <string.h>

static bool any_of(const struct posref_tensors *golden, const struct posref_tensors *outputs)
{
    for (int i = 0; i < golden->n; i++)
        if (posref_tensors_find(outputs, golden->item[i].name))
            return true;
    return false;
}

static enum posref_status evaluate(struct posref_vector *out, const struct posref_request *request,
                                   enum posref_op op, const struct posref_arena *arena,
                                   struct posref_error *err)
{
    out->op = op;
    return posref_eval(&out->outputs, &request->spec, op, &request->inputs, arena, err);
}

enum posref_status posref_check_vector(struct posref_vector *out,
                                       const struct posref_request *request,
                                       const struct posref_tensors *outputs,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    int found = -1;
    struct posref_error why = {{0}, {0}};
    *out = (struct posref_vector){.id = "request", .suite_min = "", .spec = request->spec,
                                  .inputs = request->inputs, .flags = "", .source = ""};
    if (outputs->n == 0)
        return posref_fail(err, POSREF_BAD_INPUT, "outputs", "nothing to judge");
    if (request->op_given && request->op != POSREF_OP_ALL)
        return evaluate(out, request, request->op, arena, err);
    for (int op = POSREF_OP_ALL + 1; op < POSREF_N_OPS; op++) {
        struct posref_vector one = *out;
        if (!posref_op_applies((enum posref_op)op, &request->spec))
            continue;
        enum posref_status status = evaluate(&one, request, (enum posref_op)op, arena, &why);
        if (status != POSREF_OK && status != POSREF_BAD_INPUT) {
            *err = why;
            return status;
        }
        if (status != POSREF_OK || !any_of(&one.outputs, outputs))
            continue;
        if (found >= 0)
            return posref_fail(err, POSREF_BAD_INPUT, "op",
                               "the outputs are those of %s and of %s: say which",
                               posref_op_name((enum posref_op)found),
                               posref_op_name((enum posref_op)op));
        found = op;
        out->outputs = one.outputs;
    }
    if (found >= 0) {
        out->op = (enum posref_op)found;
        return POSREF_OK;
    }
    if (why.key[0]) /* most likely an input that is missing */
        return posref_fail(err, POSREF_BAD_INPUT, outputs->item[0].name,
                           "no op has this output with these inputs (%.60s: %.120s)", why.key,
                           why.text);
    return posref_fail(err, POSREF_BAD_INPUT, outputs->item[0].name,
                       "the scheme has no such output");
}
