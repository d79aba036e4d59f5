/* SPDX-License-Identifier: Apache-2.0 */
/* Each fault of the registry on one vector. */
#include "separate.h"

#include "reference/judge.h"
#include "trial.h"

#include <string.h>

#define MAX_SHOWN 512

struct shown {
    const struct posref_fault *fault;
    uint64_t digest; /* of its outputs in the dtype */
    bool listed;
};

struct separation {
    const struct posref_vector *vector;
    enum posref_dtype dtype;
    struct posref_arena arena; /* reset for each fault */
    struct shown shown[MAX_SHOWN];
    int n;
};

/* Outputs where the fault leaves a part out: what a mend of zeros fills in becomes 0. */
static bool leave_out(struct posref_tensors *out, const struct separation *s,
                      const struct posref_fault *fault)
{
    const struct posref_vector *v = s->vector;
    const struct posref_mending m = {v->op, s->dtype, &v->spec, &v->inputs, out, &s->arena};
    struct posref_tensors filled = *out;
    for (int i = 0; i < out->n; i++) {
        const size_t size = (size_t)posref_tensor_count(&out->item[i]) * sizeof(double);
        filled.item[i].data = s->arena.alloc(s->arena.ctx, size + 1);
        if (!filled.item[i].data || out->item[i].dtype != POSREF_F64)
            return false;
        memset(filled.item[i].data, 0, size);
    }
    if (!fault->mend(&filled, &m))
        return false;
    for (int i = 0; i < out->n; i++) {
        const double *part = filled.item[i].data;
        double *value = out->item[i].data;
        for (int64_t k = 0; k < posref_tensor_count(&out->item[i]); k++)
            value[k] = part[k] != 0 ? 0 : value[k];
    }
    return true;
}

/* What a kernel with the fault would give; false: nothing that can be said here. */
static bool outcome(struct posref_tensors *out, const struct separation *s,
                    const struct posref_fault *fault, double value)
{
    const struct posref_vector *v = s->vector;
    const struct posref_claim claim = {{fault, NULL}, {value, 0}};
    struct posref_bend bend;
    struct posref_spec changed;
    struct posref_bent bent;
    struct posref_tensors in = v->inputs;
    if (!posref_claim_bend(&bend, &changed, &claim, &v->spec, v->op))
        return false;
    const unsigned twisted = posref_claim_twist(&in, &claim, &bend, v->op, &s->arena);
    if (fault->twist && !twisted && !fault->mend)
        return false;
    enum posref_status status = posref_bend_eval(&bent, &bend, v->op, &in, s->dtype, &s->arena,
                                                 NULL);
    if (status == POSREF_OK) {
        *out = bent.outputs;
    } else if (status != POSREF_BAD_INPUT ||
               !posref_claim_positions(&in, &bend, &in, &s->arena) ||
               posref_eval(out, bend.spec, v->op, &in, &s->arena, NULL) != POSREF_OK) {
        return false;
    }
    if (fault->untwist && !posref_claim_untwist(out, &claim, &bend, v->op, &s->arena))
        return false;
    return !fault->mend || twisted || leave_out(out, s, fault);
}

static uint64_t digest_of(const struct posref_tensors *set)
{
    uint64_t digest = 0xcbf29ce484222325;
    for (int i = 0; i < set->n; i++) {
        const unsigned char *byte = set->item[i].data;
        const size_t size = (size_t)posref_tensor_count(&set->item[i]) *
                            posref_dtype_size(set->item[i].dtype);
        for (size_t k = 0; k < size; k++)
            digest = (digest ^ byte[k]) * 0x100000001b3;
    }
    return digest;
}

static enum posref_status look_at(struct separation *s, const struct posref_fault *fault,
                                  double value, struct posref_error *err)
{
    const struct posref_vector *v = s->vector;
    struct posref_tensors out, narrow = {.n = 0};
    struct posref_judgement judgement;
    if (!outcome(&out, s, fault, value) || out.n != v->outputs.n)
        return POSREF_OK;
    for (int i = 0; i < out.n; i++) {
        const struct posref_tensor *golden = &v->outputs.item[i];
        if (posref_tensor_count(&out.item[i]) != posref_tensor_count(golden))
            return POSREF_OK;
        if (out.item[i].dtype == POSREF_I64)
            narrow.item[i] = out.item[i];
        else if (posref_tensor_narrow(&narrow.item[i], &out.item[i], s->dtype, &s->arena, err) !=
                 POSREF_OK)
            return POSREF_NO_MEMORY;
        narrow.n++;
    }
    enum posref_status status = posref_judge(&judgement, &v->spec, v->op, &v->inputs, &v->outputs,
                                             &narrow, s->dtype, posref_grade_default(s->dtype),
                                             &s->arena, err);
    if (status == POSREF_OK && !judgement.pass && s->n < MAX_SHOWN &&
        (s->n == 0 || s->shown[s->n - 1].fault != fault))
        s->shown[s->n++] = (struct shown){fault, digest_of(&narrow), false};
    return status;
}

/* Values of a fault's parameter until one shows: some make no difference to a spec. */
static enum posref_status try_values(struct separation *s, const struct posref_fault *fault,
                                     struct posref_heap *scratch, struct posref_error *err)
{
    const double usual = fault->bend[0] == POSREF_BEND_MAGNITUDE ? 1.01 : 1.5;
    const int before = s->n, n = fault->n_values > 0 ? fault->n_values : 1;
    enum posref_status status = POSREF_OK;
    for (int k = 0; k < n && status == POSREF_OK && s->n == before; k++) {
        posref_heap_reset(scratch);
        status = look_at(s, fault, fault->n_values > 0 ? fault->value[k] : usual, err);
    }
    return status;
}

static void print(struct posref_buffer *out, struct separation *s)
{
    posref_buffer_text(out, "{\"id\": ");
    posref_buffer_json_string(out, s->vector->id);
    posref_buffer_printf(out, ", \"dtype\": \"%s\", \"shows\": [", posref_dtype_name(s->dtype));
    for (int k = 0, lists = 0; k < s->n; k++) {
        if (s->shown[k].listed)
            continue;
        posref_buffer_printf(out, "%s[\"%s\"", lists++ ? ", " : "", s->shown[k].fault->name);
        for (int j = k + 1; j < s->n; j++) {
            if (s->shown[j].digest != s->shown[k].digest)
                continue;
            s->shown[j].listed = true;
            posref_buffer_printf(out, ", \"%s\"", s->shown[j].fault->name);
        }
        posref_buffer_text(out, "]");
    }
    posref_buffer_text(out, "]}\n");
}

enum posref_status posref_separate(struct posref_buffer *out, const struct posref_vector *vector,
                                   enum posref_dtype dtype, struct posref_heap *scratch,
                                   struct posref_error *err)
{
    const struct posref_fault *fault;
    enum posref_status status = POSREF_OK;
    struct separation s = {.vector = vector, .dtype = dtype, .arena = posref_heap_arena(scratch)};
    for (int k = 0; (fault = posref_fault_at(k)) != NULL && status == POSREF_OK; k++)
        if (posref_fault_concerns(fault, vector->spec.scheme))
            status = try_values(&s, fault, scratch, err);
    if (status == POSREF_OK)
        print(out, &s);
    return status;
}
