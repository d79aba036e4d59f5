/* SPDX-License-Identifier: Apache-2.0 */
/* Flat inputs: comma-separated numbers, and the shape that the scheme takes them in. */
#include "vectors/vectors.h"

#include <string.h>

enum posref_status posref_values_parse(struct posref_tensor *out, const char *text,
                                       const char *key, const struct posref_arena *arena,
                                       struct posref_error *err)
{
    size_t n = 1;
    for (const char *at = text; *at; at++)
        n += *at == ',';
    double *value = arena->alloc(arena->ctx, n * sizeof *value);
    size_t size = strlen(text) + 1;
    char *word = arena->alloc(arena->ctx, size);
    if (!value || !word)
        return posref_fail(err, POSREF_NO_MEMORY, key, "no memory");
    memcpy(word, text, size);
    for (size_t i = 0; i < n; i++) {
        char *comma = strchr(word, ',');
        if (comma)
            *comma = '\0';
        enum posref_status status = posref_number_parse(&value[i], word, key, err);
        if (status != POSREF_OK)
            return status;
        word = comma ? comma + 1 : word;
    }
    *out = (struct posref_tensor){.dtype = POSREF_F64, .rank = 1, .shape = {(int64_t)n},
                                  .data = value};
    snprintf(out->name, sizeof out->name, "%s", key);
    return POSREF_OK;
}

enum posref_status posref_input_reshape(struct posref_tensor *tensor,
                                        const struct posref_spec *spec,
                                        const struct posref_tensors *inputs,
                                        struct posref_error *err)
{
    int64_t shape[POSREF_MAX_RANK];
    int rank;
    const char *text = posref_input_shape_text((enum posref_scheme)spec->scheme, tensor->name);
    if (tensor->rank != 1 || !text || !*text) /* posref_eval says which inputs are not read */
        return POSREF_OK;
    enum posref_status status = posref_input_shape(shape, &rank, spec, inputs, tensor->name,
                                                   tensor->shape[0], 0, err);
    if (status != POSREF_OK)
        return status;
    tensor->rank = rank;
    memcpy(tensor->shape, shape, (size_t)rank * sizeof *shape);
    return POSREF_OK;
}
