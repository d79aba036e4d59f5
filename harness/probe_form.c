/* SPDX-License-Identifier: Apache-2.0 */
/* Questions in the forms of layouts.h, for kernels that have no plain rotation. */
#include "probe_form.h"

#include "call_spec.h"
#include "trial.h"

#include <math.h>
#include <string.h>

static const char *const forms[] = {"norm", "norm-plus-one", "norm-after", "tables", "cos-sin",
                                    "cos-sin-cache", "tables-f32", "cos-sin-cache-f32"};

const struct posref_layout *posref_probe_form_at(int k)
{
    return k >= 0 && (size_t)k < sizeof forms / sizeof *forms
               ? posref_layout_find(forms[k], strlen(forms[k])) : NULL;
}

bool posref_probe_form_taken(const struct posref_layout *form, const struct posref_runner *runner)
{
    bool plain = false, layout[POSREF_N_LAYOUTS] = {false};
    if (posref_layouts_parse(&plain, layout, posref_runner_plugin_layouts(runner), NULL, NULL) !=
        POSREF_OK)
        return false;
    return layout[form - posref_layout_at(0)];
}

bool posref_probe_form_has_tables(const struct posref_layout *form)
{
    return strncmp(form->name, "norm", strlen("norm")) != 0;
}

static double mean_of_squares(const struct posref_tensor *x)
{
    const int64_t dim = x->shape[x->rank - 1];
    const double *row = x->data;
    double sum = 0;
    for (int64_t k = 0; k < dim; k++)
        sum += row[k] * row[k];
    return sum / (double)dim;
}

/* x / sqrt(mean(x^2) + eps) = x, and so through the weight. */
static enum posref_status add_norm(struct posref_trial *out, const struct posref_probe *probe,
                                   const struct posref_tensor *x, struct posref_error *err)
{
    const bool after = strcmp(probe->form->name, "norm-after") == 0;
    const bool plus_one = strcmp(probe->form->name, "norm-plus-one") == 0;
    const int64_t dim = x->shape[x->rank - 1];
    struct posref_tensors norm = {.n = 0};
    double *weight = posref_probe_input(&norm, after ? "post_norm_weight" : "norm_weight", 1, &dim,
                                        probe->arena);
    double *eps = posref_probe_input(&norm, "eps", 0, NULL, probe->arena);
    if (!weight || !eps)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (int64_t k = 0; k < dim && !plus_one; k++)
        weight[k] = 1;
    *eps = 1 - mean_of_squares(x);
    enum posref_status status = POSREF_OK;
    for (int k = 0; k < norm.n && status == POSREF_OK; k++)
        status = posref_tensor_narrow(&out->in.item[out->in.n++], &norm.item[k], probe->dtype,
                                      probe->arena, err);
    return status;
}

static void with_heads(struct posref_tensor *tensor)
{
    tensor->shape[2] = tensor->shape[1];
    tensor->shape[1] = 1;
    tensor->rank = 3;
}

enum posref_status posref_probe_form_trial(struct posref_trial *out,
                                           const struct posref_probe *probe,
                                           const struct posref_vector *vector,
                                           const char *spec_text, struct posref_error *err)
{
    if (posref_probe_form_has_tables(probe->form)) {
        struct posref_layout_case laid = {.layout = probe->form, .judged = *vector};
        struct posref_layout_result result;
        laid.judged.spec = *probe->tables;
        enum posref_status status = posref_layout_trial(out, &result, &laid, spec_text,
                                                        probe->dtype, probe->arena, err);
        out->look_later = false;
        return status;
    }
    const struct posref_tensor *x = posref_tensors_find(&vector->inputs, "x");
    enum posref_status status = posref_trial_make(out, vector, spec_text, probe->dtype,
                                                  probe->arena, err);
    for (int k = 0; k < out->in.n; k++)
        if (strcmp(out->in.item[k].name, "x") == 0)
            with_heads(&out->in.item[k]);
    with_heads(&out->out.item[0]);
    out->layout = probe->form->name;
    return status == POSREF_OK ? add_norm(out, probe, x, err) : status;
}

enum posref_status posref_probe_form_judged(struct posref_tensors *out,
                                            struct posref_vector *judged,
                                            struct posref_probe *probe,
                                            const struct posref_spec *spec,
                                            const struct posref_tensors *in,
                                            struct posref_error *err)
{
    struct posref_vector vector = {.id = "probe", .op = POSREF_OP_ROTATE, .spec = *spec,
                                   .inputs = *in, .suite_min = "", .flags = "", .source = ""};
    struct posref_layout_case laid;
    struct posref_layout_result result;
    struct posref_trial trial;
    const char *text = posref_call_spec(probe->spec, probe->arena);
    if (!text)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    enum posref_status status = posref_eval(&vector.outputs, spec, vector.op, in, probe->arena,
                                            err);
    if (status == POSREF_OK)
        status = posref_layout_make(&laid, probe->form, &vector, probe->arena, err);
    if (status == POSREF_OK)
        status = posref_layout_trial(&trial, &result, &laid, text, probe->dtype, probe->arena, err);
    if (status == POSREF_OK)
        status = posref_runner_run(probe->runner, &(struct posref_trial *){&trial}, 1, err);
    if (status != POSREF_OK)
        return status;
    posref_layout_collect(&trial, &result);
    *judged = result.vector ? *result.vector : laid.judged;
    return posref_probe_take(out, probe, &trial, err);
}
