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

/* What an op's outputs are called whatever the scheme: for those that could not be evaluated. */
static bool is_of(enum posref_op op, const struct posref_tensors *outputs)
{
    static const char *const names[POSREF_N_OPS][7] = {
        [POSREF_OP_FREQUENCIES] = {"inv_freq", "attention_factor", "slopes"},
        [POSREF_OP_TABLE] = {"cos", "sin", "table", "angles", "coordinates",
                             "contextual_positions"},
        [POSREF_OP_ROTATE] = {"y"},
        [POSREF_OP_ROTATE_BACKWARD] = {"dx"},
        [POSREF_OP_EMBED] = {"y"},
        [POSREF_OP_BIAS] = {"bias"},
        [POSREF_OP_WEIGHTS] = {"weights"},
        [POSREF_OP_SCORES] = {"scores"},
        [POSREF_OP_ATTENTION] = {"attention"},
        [POSREF_OP_INDEX] = {"index", "buckets", "c2p", "p2c"},
    };
    for (int i = 0; names[op][i]; i++)
        if (posref_tensors_find(outputs, names[op][i]))
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
    struct posref_error why = {{0}, {0}}, missing = {{0}, {0}};
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
        if (status != POSREF_OK && is_of((enum posref_op)op, outputs))
            missing = why;
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
    if (missing.key[0]) {
        *err = missing;
        return POSREF_BAD_INPUT;
    }
    return posref_fail(err, POSREF_BAD_INPUT, outputs->item[0].name, "%s",
                       why.key[0] ? "no op has this output with these inputs; op=NAME says what "
                                    "an op needs"
                                  : "the scheme has no such output");
}
