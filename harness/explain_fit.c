/* SPDX-License-Identifier: Apache-2.0 */
/* One failing vector against every fault. */
#include "explain.h"

#include "trial.h"

#include <string.h>

/* A fault under which the reference refuses to evaluate is no hypothesis. */
static enum posref_status make(struct posref_alternatives *a, int f, struct posref_error *err)
{
    a->tried[f] = true;
    if (!posref_fault_apply(&a->spec[f], &posref_faults[f], &a->vector->spec))
        return POSREF_OK;
    enum posref_status status = posref_eval(&a->golden[f], &a->spec[f], a->vector->op,
                                            &a->vector->inputs, a->arena, err);
    if (status == POSREF_BAD_INPUT)
        return POSREF_OK;
    a->there[f] = status == POSREF_OK;
    return status;
}

/* Judges doubles, rounded to the dtype, as if a plugin had returned them. */
static enum posref_status judge_doubles(struct posref_judgement *out, const struct posref_vector *v,
                                        const struct posref_tensors *doubles,
                                        enum posref_dtype dtype, enum posref_grade gate,
                                        const struct posref_arena *scratch,
                                        struct posref_error *err)
{
    struct posref_tensors narrow = {.n = doubles->n};
    enum posref_status status = POSREF_OK;
    for (int i = 0; i < doubles->n && status == POSREF_OK; i++)
        status = posref_tensor_narrow(&narrow.item[i], &doubles->item[i], dtype, scratch, err);
    if (status != POSREF_OK)
        return status;
    return posref_judge(out, &v->spec, v->op, &v->inputs, &v->outputs, &narrow, dtype, gate,
                        scratch, err);
}

static bool same_shapes(const struct posref_tensors *a, const struct posref_tensors *b)
{
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++)
        same = strcmp(a->item[i].name, b->item[i].name) == 0 &&
               posref_tensor_count(&a->item[i]) == posref_tensor_count(&b->item[i]);
    return same;
}

enum posref_status posref_fit_try(struct posref_fit *out, struct posref_alternatives *a,
                                  const struct posref_tensors *actual, enum posref_dtype dtype,
                                  enum posref_grade gate, const struct posref_arena *scratch,
                                  struct posref_error *err)
{
    const struct posref_vector *v = a->vector;
    out->live = out->fits = 0;
    for (int f = 0; posref_faults[f].name; f++) {
        struct posref_judgement judgement;
        enum posref_status status = a->tried[f] ? POSREF_OK : make(a, f, err);
        if (status != POSREF_OK)
            return status;
        if (!a->there[f] || !same_shapes(&a->golden[f], &v->outputs))
            continue;
        status = judge_doubles(&judgement, v, &a->golden[f], dtype, gate, scratch, err);
        if (status != POSREF_OK)
            return status;
        if (judgement.pass)
            continue;
        out->live |= 1u << f;
        /* A fault that turns channels which came back as bit-identical copies is not the cause,
         * even where the turn is too small for the dtype's limits. */
        if (judgement.breach == POSREF_BREACH_COPY) {
            status = posref_judge(&judgement, &v->spec, v->op, &v->inputs, &v->outputs, actual,
                                  dtype, gate, scratch, err);
            if (status != POSREF_OK)
                return status;
            if (judgement.breach != POSREF_BREACH_COPY)
                continue;
        }
        status = posref_judge(&judgement, &a->spec[f], v->op, &v->inputs, &a->golden[f], actual,
                              dtype, gate, scratch, err);
        if (status != POSREF_OK)
            return status;
        if (judgement.pass)
            out->fits |= 1u << f;
        out->residual[f] = judgement.error_limits;
    }
    return POSREF_OK;
}
