/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors as calls: dtypes, positions, room for the outputs. */
#include "trial.h"

#include <math.h>
#include <string.h>

bool posref_trial_is_positions(const struct posref_tensor *tensor)
{
    const char *end = strstr(tensor->name, "positions");
    return end && end[strlen("positions")] == '\0';
}

static bool all_whole(const struct posref_tensor *tensor)
{
    const double *value = tensor->data;
    for (int64_t k = 0; k < posref_tensor_count(tensor); k++)
        if (value[k] != floor(value[k]))
            return false;
    return true;
}

/* The same tensor in another dtype, with room for its data. */
static enum posref_status reshape(struct posref_tensor *out, const struct posref_tensor *in,
                                  enum posref_dtype dtype, const struct posref_arena *arena,
                                  struct posref_error *err)
{
    *out = *in;
    out->dtype = dtype;
    size_t size = (size_t)posref_tensor_count(in) * posref_dtype_size(dtype);
    out->data = arena->alloc(arena->ctx, size ? size : 1);
    return out->data ? POSREF_OK : posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
}

static void store(void *to, int64_t k, double value, enum posref_dtype dtype)
{
    if (dtype == POSREF_I64) {
        ((int64_t *)to)[k] = (int64_t)value;
    } else if (dtype == POSREF_F64) {
        ((double *)to)[k] = value;
    } else if (dtype == POSREF_F32) {
        ((uint32_t *)to)[k] = posref_narrow(value, dtype);
    } else if (posref_dtype_is_float8(dtype)) {
        ((uint8_t *)to)[k] = (uint8_t)posref_narrow(value, dtype);
    } else {
        ((uint16_t *)to)[k] = (uint16_t)posref_narrow(value, dtype);
    }
}

enum posref_status posref_tensor_narrow(struct posref_tensor *out, const struct posref_tensor *in,
                                        enum posref_dtype dtype, const struct posref_arena *arena,
                                        struct posref_error *err)
{
    enum posref_status status = reshape(out, in, dtype, arena, err);
    for (int64_t k = 0; k < posref_tensor_count(in) && status == POSREF_OK; k++)
        store(out->data, k, ((const double *)in->data)[k], dtype);
    return status;
}

static enum posref_status check_exact(const struct posref_tensor *in, enum posref_dtype dtype,
                                      struct posref_error *err)
{
    const double *value = in->data;
    for (int64_t k = 0; k < posref_tensor_count(in) && dtype != POSREF_F64; k++)
        if (posref_rounded(value[k], dtype) != value[k])
            return posref_fail(err, POSREF_INTERNAL, in->name, "element %lld is not exact in %s",
                               (long long)k, posref_dtype_name(dtype));
    return POSREF_OK;
}

static enum posref_status add_input(struct posref_trial *out, const struct posref_tensor *in,
                                    const char *name, enum posref_dtype dtype,
                                    const struct posref_arena *arena, struct posref_error *err)
{
    bool positions = posref_trial_is_positions(in);
    enum posref_status status = positions ? POSREF_OK : check_exact(in, dtype, err);
    if (status != POSREF_OK)
        return status;
    if (positions)
        dtype = all_whole(in) ? POSREF_I64 : POSREF_F64;
    struct posref_tensor *tensor = &out->in.item[out->in.n++];
    status = posref_tensor_narrow(tensor, in, dtype, arena, err);
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    return status;
}

enum posref_status posref_trial_make(struct posref_trial *out, const struct posref_vector *vector,
                                     const char *spec_text, enum posref_dtype dtype,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    memset(out, 0, sizeof *out);
    out->op = posref_op_name(vector->op);
    out->spec = spec_text;
    bool grid = vector->op == POSREF_OP_BIAS || vector->op == POSREF_OP_WEIGHTS ||
                vector->op == POSREF_OP_SCORES || vector->op == POSREF_OP_ATTENTION;
    for (int i = 0; i < vector->inputs.n && status == POSREF_OK; i++) {
        const struct posref_tensor *in = &vector->inputs.item[i];
        /* A plugin gets the positions of queries and keys each by name, also where they are one. */
        if (grid && strcmp(in->name, "positions") == 0) {
            status = add_input(out, in, "q_positions", dtype, arena, err);
            if (status == POSREF_OK)
                status = add_input(out, in, "k_positions", dtype, arena, err);
        } else {
            status = add_input(out, in, in->name, dtype, arena, err);
        }
    }
    for (int i = 0; i < vector->outputs.n && status == POSREF_OK; i++) {
        const struct posref_tensor *golden = &vector->outputs.item[i];
        status = reshape(&out->out.item[out->out.n++], golden,
                         golden->dtype == POSREF_I64 ? POSREF_I64 : dtype, arena, err);
    }
    return status;
}
