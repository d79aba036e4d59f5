/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin and the reference make of basis vectors. */
#include "identify_pairs.h"

static const double positions[3] = {0, 1, 5};

/* Every basis vector at that position, on all axes: a row each, or (at_once) the heads of one. */
static enum posref_status fill(struct posref_tensors *in, double position,
                               const struct posref_spec *spec, bool at_once,
                               const struct posref_arena *arena, struct posref_error *err)
{
    const int dim = spec->dim, axes = posref_spec_axes(spec);
    const int64_t rows = at_once ? 1 : dim, shape[3] = {1, dim, dim};
    in->n = 0;
    double *p = posref_probe_input(in, "positions", axes > 1 ? 2 : 1,
                                   axes > 1 ? (const int64_t[]){axes, rows} : &rows, arena);
    double *x = posref_probe_input(in, "x", at_once ? 3 : 2, at_once ? shape : shape + 1, arena);
    if (!p || !x)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (int64_t e = 0; e < axes * rows; e++)
        p[e] = position;
    for (int c = 0; c < dim; c++)
        x[(size_t)c * (size_t)dim + (size_t)c] = 1;
    return POSREF_OK;
}

enum posref_status posref_basis_ask(struct posref_basis *out, struct posref_probe *probe,
                                    double unit, struct posref_error *err)
{
    const double **matrix[3] = {&out->at_0, &out->at_1, &out->at_5};
    out->dim = probe->spec->dim;
    for (int k = 0; k < 3; k++) {
        struct posref_tensors in, got;
        enum posref_status status = fill(&in, positions[k] * unit, probe->spec, false, probe->arena,
                                         err);
        if (status == POSREF_OK && k == 0)
            status = posref_probe_dtype(&got, probe, POSREF_OP_ROTATE, &in, err);
        else if (status == POSREF_OK)
            status = posref_probe_ask(&got, probe, POSREF_OP_ROTATE, &in, err);
        if (status != POSREF_OK || probe->verdict != POSREF_VERDICT_PASS)
            return status;
        *matrix[k] = got.item[0].data;
    }
    return POSREF_OK;
}

enum posref_status posref_basis_eval(struct posref_basis *out, const struct posref_spec *spec,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    const double **matrix[3] = {&out->at_0, &out->at_1, &out->at_5};
    out->dim = spec->dim;
    for (int k = 0; k < 3; k++) {
        struct posref_tensors in, got;
        enum posref_status status = fill(&in, positions[k], spec, true, arena, err);
        if (status == POSREF_OK)
            status = posref_eval(&got, spec, POSREF_OP_ROTATE, &in, arena, err);
        if (status != POSREF_OK)
            return status;
        *matrix[k] = got.item[0].data;
    }
    return POSREF_OK;
}
