/* SPDX-License-Identifier: Apache-2.0 */
/* One saved output against one vector: see check.h. */
#include "check.h"

#include "explain.h"
#include "stream.h"
#include "trial.h"
#include "verdict.h"

#include <math.h>
#include <string.h>

static bool same_shape(const struct posref_tensor *a, const struct posref_tensor *b)
{
    return a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

static bool is_float(enum posref_dtype dtype)
{
    return dtype != POSREF_I32 && dtype != POSREF_I64;
}

/* The output as the golden tensor's namesake in the dtype; *nan: it holds one. */
static enum posref_status take_output(struct posref_tensor *out, bool *nan,
                                      const struct posref_tensor *golden,
                                      const struct posref_tensors *outputs,
                                      enum posref_dtype dtype, const struct posref_arena *arena,
                                      struct posref_error *err)
{
    const struct posref_tensor *given = posref_tensors_find(outputs, golden->name);
    if (!given)
        return posref_fail(err, POSREF_BAD_INPUT, golden->name, "this output is missing");
    bool flat = given->rank == 1 && given->shape[0] == posref_tensor_count(golden);
    if (!flat && !same_shape(given, golden))
        return posref_fail(err, POSREF_BAD_INPUT, golden->name,
                           "has another shape than the golden tensor, or another number of values "
                           "(%lld, not %lld)", (long long)posref_tensor_count(given),
                           (long long)posref_tensor_count(golden));
    struct posref_tensor shaped = *given;
    shaped.rank = golden->rank;
    memcpy(shaped.shape, golden->shape, sizeof shaped.shape);
    const double *value = given->data;
    for (int64_t k = 0; k < posref_tensor_count(given); k++) {
        *nan = *nan || isnan(value[k]);
        if (!is_float(golden->dtype) && !(fabs(value[k]) <= 0x1p53 && value[k] == floor(value[k])))
            return posref_fail(err, POSREF_BAD_INPUT, golden->name, "must hold integers");
    }
    return posref_tensor_narrow(out, &shaped, is_float(golden->dtype) ? dtype : golden->dtype,
                                arena, err);
}

static enum posref_status take_outputs(struct posref_tensors *out, bool *nan,
                                       const struct posref_vector *vector,
                                       const struct posref_tensors *outputs,
                                       enum posref_dtype dtype, const struct posref_arena *arena,
                                       struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    *nan = false;
    for (int i = 0; i < outputs->n; i++)
        if (!posref_tensors_find(&vector->outputs, outputs->item[i].name))
            return posref_fail(err, POSREF_BAD_INPUT, outputs->item[i].name,
                               "the vector has no such output");
    out->n = vector->outputs.n;
    for (int i = 0; i < out->n && status == POSREF_OK; i++)
        status = take_output(&out->item[i], nan, &vector->outputs.item[i], outputs, dtype, arena,
                             err);
    return status;
}

/* Those of the vector's outputs, and of what came back, that were saved. */
static void keep_saved(struct posref_vector *vector, struct posref_tensors *actual,
                       const struct posref_tensors *saved)
{
    int n = 0;
    for (int i = 0; i < vector->outputs.n; i++) {
        if (!posref_tensors_find(saved, vector->outputs.item[i].name))
            continue;
        vector->outputs.item[n] = vector->outputs.item[i];
        actual->item[n++] = actual->item[i];
    }
    vector->outputs.n = actual->n = n;
}

static enum posref_status explain(struct posref_buffer *out, size_t *n_unexplained,
                                  const struct posref_vector *vector,
                                  const struct posref_tensors *actual, enum posref_dtype dtype,
                                  struct posref_error *err)
{
    struct posref_explainer *explainer = posref_explainer_new();
    if (!explainer)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    enum posref_status status = posref_explainer_add(explainer, vector, actual, dtype, err);
    if (status == POSREF_OK)
        status = posref_explainer_search(explainer, err);
    if (status == POSREF_OK) {
        posref_buffer_text(out, ", \"explanations\": ");
        posref_explainer_json(out, n_unexplained, explainer);
        posref_buffer_text(out, ", \"description\": ");
        posref_explainer_describe(out, explainer);
    }
    posref_explainer_free(explainer);
    return status;
}

/* The first places of NaN. */
static void add_nan(struct posref_buffer *out, const struct posref_tensors *actual)
{
    int n = 0;
    posref_buffer_text(out, ", \"nan\": [");
    for (int i = 0; i < actual->n; i++)
        for (int64_t k = 0; k < posref_tensor_count(&actual->item[i]) && n < 20; k++) {
            if (!isnan(posref_tensor_value(&actual->item[i], k)))
                continue;
            posref_buffer_printf(out, "%s{\"tensor\": \"%s\", \"element\": %lld}", n++ ? ", " : "",
                                 actual->item[i].name, (long long)k);
        }
    posref_buffer_text(out, "]");
}

enum posref_status posref_check_outputs(struct posref_buffer *out,
                                        const struct posref_vector *vector,
                                        const struct posref_tensors *outputs,
                                        const struct posref_tensors *saved,
                                        enum posref_dtype dtype, enum posref_grade gate,
                                        const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_tensors actual;
    struct posref_judgement judgement;
    bool nan;
    enum posref_status status = take_outputs(&actual, &nan, vector, outputs, dtype, arena, err);
    if (status == POSREF_OK)
        status = posref_judge(&judgement, &vector->spec, vector->op, &vector->inputs,
                              &vector->outputs, &actual, dtype, gate, arena, err);
    if (status != POSREF_OK)
        return status;
    enum posref_verdict verdict = nan              ? POSREF_VERDICT_NAN
                                  : judgement.pass ? POSREF_VERDICT_PASS
                                                   : POSREF_VERDICT_FAIL;
    posref_buffer_printf(out, "{\"verdict\": \"%s\"", posref_verdict_name(verdict));
    posref_stream_judgement(out, &judgement, &vector->outputs);
    posref_buffer_printf(out, ", \"dtype\": \"%s\", \"gate\": \"%s\"", posref_dtype_name(dtype),
                         posref_grade_name(gate));
    if (nan)
        add_nan(out, &actual);
    size_t n_unexplained = 0;
    if (verdict != POSREF_VERDICT_FAIL || judgement.grade != POSREF_GRADE_FAIL) {
        posref_buffer_text(out, ", \"explanations\": [], \"description\": null");
        return POSREF_OK;
    }
    struct posref_vector *seen = arena->alloc(arena->ctx, sizeof *seen);
    if (!seen)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    *seen = *vector;
    if (saved)
        keep_saved(seen, &actual, saved);
    return explain(out, &n_unexplained, seen, &actual, dtype, err);
}
