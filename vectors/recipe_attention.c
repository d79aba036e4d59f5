/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of scores and attention from their recipes; case.h lists them. */
#include "vectors/recipe.h"

#include <string.h>

bool posref_recipe_is_attention(const char *name)
{
    return strcmp(name, "q") == 0 || strcmp(name, "k") == 0 || strcmp(name, "v") == 0 ||
           strcmp(name, "mask") == 0;
}

static int64_t count_of(const struct posref_tensors *inputs, const char *name)
{
    const struct posref_tensor *tensor = posref_tensors_find(inputs, name);
    if (!tensor)
        tensor = posref_tensors_find(inputs, "positions");
    return tensor ? tensor->shape[tensor->rank - 1] : 0;
}

/* A number of at most four digits; *text moves behind it. 0: none. */
static int64_t read_number(const char **text)
{
    int64_t n = 0;
    for (int digits = 0; **text >= '0' && **text <= '9' && digits < 4; digits++)
        n = 10 * n + (*(*text)++ - '0');
    return n;
}

/* random[:HEADS][xDIM] */
static bool read_sizes(int64_t *heads, int64_t *dim, const char *recipe)
{
    if (strncmp(recipe, "random", 6) != 0)
        return false;
    recipe += 6;
    if (*recipe == ':') {
        recipe++;
        *heads = read_number(&recipe);
        if (*heads == 0)
            return false;
    }
    if (*recipe == 'x') {
        recipe++;
        *dim = read_number(&recipe);
    }
    return *recipe == '\0' && *dim > 0;
}

static enum posref_status add(struct posref_vector *vector, struct posref_tensor *tensor,
                              const char *name, const struct posref_arena *arena,
                              struct posref_error *err)
{
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    tensor->data = arena->alloc(arena->ctx,
                                (size_t)posref_tensor_count(tensor) * sizeof(double));
    if (!tensor->data)
        return posref_fail(err, POSREF_NO_MEMORY, name, "no memory");
    vector->inputs.item[vector->inputs.n++] = *tensor;
    return POSREF_OK;
}

static enum posref_status add_mask(struct posref_vector *vector, const struct posref_arena *arena,
                                   struct posref_error *err)
{
    struct posref_tensor mask = {.dtype = POSREF_F64, .rank = 2};
    const int64_t n_k = count_of(&vector->inputs, "k_positions");
    mask.shape[0] = count_of(&vector->inputs, "q_positions");
    mask.shape[1] = n_k;
    enum posref_status status = add(vector, &mask, "mask", arena, err);
    uint64_t seed = posref_recipe_seed(vector->id, "mask");
    for (int64_t i = 0; i < mask.shape[0] && status == POSREF_OK; i++) {
        double *row = (double *)mask.data + i * n_k;
        for (int64_t j = 0; j < n_k; j++)
            row[j] = posref_recipe_random(&seed) >> 62 ? 1 : 0;
        row[i % n_k] = row[(i + 1) % n_k] = 1;
    }
    return status;
}

enum posref_status posref_recipe_attention(struct posref_vector *vector, const char *name,
                                           const char *recipe, const struct posref_arena *arena,
                                           struct posref_error *err)
{
    const struct posref_spec *spec = &vector->spec;
    int64_t heads = 0, dim = spec->given[POSREF_FIELD_DIM] ? spec->dim : 0;
    if (strcmp(name, "mask") == 0 && strcmp(recipe, "random") == 0)
        return add_mask(vector, arena, err);
    if (!read_sizes(&heads, &dim, recipe))
        return posref_fail(err, POSREF_BAD_INPUT, name, "'%s' is no recipe", recipe);
    struct posref_tensor rows = {.dtype = POSREF_F64, .rank = heads ? 3 : 2};
    rows.shape[0] = count_of(&vector->inputs, name[0] == 'q' ? "q_positions" : "k_positions");
    rows.shape[1] = heads ? heads : dim;
    rows.shape[2] = dim;
    enum posref_status status = add(vector, &rows, name, arena, err);
    if (status == POSREF_OK)
        posref_recipe_fill(rows.data, posref_tensor_count(&rows),
                           posref_recipe_seed(vector->id, name), 1.0 / 64);
    return status;
}

enum posref_status posref_recipe_shape(struct posref_tensor *tensor,
                                       const struct posref_tensors *inputs,
                                       struct posref_error *err)
{
    const char *of = tensor->name[0] == 'q' ? "q_positions" : "k_positions";
    const int64_t rows = count_of(inputs, of), count = tensor->shape[0];
    if (tensor->rank != 1 || rows < 1 || count % rows)
        return posref_fail(err, POSREF_BAD_INPUT, tensor->name, "%lld values are not %lld rows",
                           (long long)count, (long long)rows);
    tensor->rank = 2;
    tensor->shape[0] = rows;
    tensor->shape[1] = count / rows;
    return POSREF_OK;
}
