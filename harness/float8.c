/* SPDX-License-Identifier: Apache-2.0 */
/* Golden vectors in dtypes of 8 bits: see float8.h. */
#include "float8.h"

#include "choice.h"
#include "trial.h"

#include <math.h>
#include <string.h>

#define LARGEST_EXPONENT 4 /* of |x|: below sqrt(2) 32 after a rotation, above subnormals by 2^10 */

bool posref_float8_offers(const struct posref_vector *vector)
{
    return (vector->op == POSREF_OP_ROTATE || vector->op == POSREF_OP_ROTATE_BACKWARD) &&
           !posref_id_layout(vector->id) && !posref_id_is_property(vector->id);
}

bool posref_float8_excludes(enum posref_dtype dtype, const struct posref_vector *vector)
{
    return posref_dtype_is_float8(dtype) && !posref_float8_offers(vector);
}

bool posref_float8_is_named(const char *dtypes, enum posref_dtype dtype)
{
    const char *name = posref_dtype_name(dtype);
    const size_t length = strlen(name);
    for (const char *at = dtypes; *at; at += strspn(at, " ")) {
        const size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, name, length) == 0)
            return true;
        at += word;
    }
    return false;
}

void posref_float8_withhold(struct posref_trial *trial, const struct posref_vector *vector,
                            const char *spec, enum posref_dtype dtype, bool is_offered)
{
    *trial = (struct posref_trial){.op = posref_op_name(vector->op), .spec = spec, .element = -1,
                                   .verdict = POSREF_VERDICT_UNSUPPORTED};
    snprintf(trial->why, sizeof trial->why,
             is_offered ? "the plugin does not name %s among its dtypes"
                        : "%s is offered in rotations of plain tensors alone",
             posref_dtype_name(dtype));
}

static double largest_of(const struct posref_tensor *tensor)
{
    const double *value = tensor->data;
    double largest = 0;
    for (int64_t k = 0; k < posref_tensor_count(tensor); k++)
        largest = fmax(largest, fabs(value[k]));
    return largest;
}

/* The inputs with the largest of each between 2^exponent and twice that, and rounded. */
static enum posref_status round_inputs(struct posref_tensors *out, const struct posref_tensors *in,
                                       int exponent, enum posref_dtype dtype,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    *out = *in;
    for (int i = 0; i < in->n; i++) {
        const struct posref_tensor *from = &in->item[i];
        const int64_t n = posref_tensor_count(from);
        const double largest = largest_of(from), *value = from->data;
        if (posref_trial_is_positions(from))
            continue;
        double *rounded = arena->alloc(arena->ctx, (size_t)n * sizeof *rounded + 1);
        if (!rounded)
            return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
        const int shift = largest > 0 ? exponent - ilogb(largest) : 0;
        for (int64_t k = 0; k < n; k++)
            rounded[k] = posref_rounded(ldexp(value[k], shift), dtype);
        out->item[i].data = rounded;
    }
    return POSREF_OK;
}

enum posref_status posref_float8_vector(struct posref_vector *out, const struct posref_vector *in,
                                        enum posref_dtype dtype, const struct posref_arena *arena,
                                        struct posref_error *err)
{
    const int quarter = dtype == POSREF_F8E4M3 ? 6 : 13; /* 2^quarter <= the largest / 4 */
    const size_t id_size = strlen(in->id) + 1;
    char *id = arena->alloc(arena->ctx, id_size);
    if (!id)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    *out = *in;
    memcpy(id, in->id, id_size);
    out->id = id; /* the explainer tells vectors apart by their ids' addresses */
    enum posref_status status = POSREF_OK;
    for (int exponent = LARGEST_EXPONENT, over = 1; over > 0 && status == POSREF_OK;
         exponent -= over) {
        status = round_inputs(&out->inputs, &in->inputs, exponent, dtype, arena, err);
        if (status == POSREF_OK)
            status = posref_eval(&out->outputs, &out->spec, out->op, &out->inputs, arena, err);
        over = 0;
        for (int i = 0; i < out->outputs.n && status == POSREF_OK; i++) {
            const double largest = largest_of(&out->outputs.item[i]);
            if (largest >= ldexp(1, quarter))
                over = (int)fmax(over, ilogb(largest) - quarter + 1);
        }
    }
    return status;
}
