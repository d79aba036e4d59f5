/* SPDX-License-Identifier: Apache-2.0 */
/* From a case to its vector: the spec, and inputs made from their recipes. */
#include "vectors/case.h"
#include "vectors/recipe.h"

#include <string.h>

/* SplitMix64 (Steele, Lea, Flood 2014) seeded with FNV-1a of the id: integers only, so the same on
 * every machine. */
uint64_t posref_recipe_seed(const char *text, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

uint64_t posref_recipe_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* +-k * unit, 1 <= k <= 127: seven bits, exact in bfloat16 (8 bits) and float16 (11 bits). */
void posref_recipe_fill(double *out, int64_t count, uint64_t seed, double unit)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t draw = posref_recipe_random(&seed) >> 32;
        int k = (int)(draw >> 1) % 127 + 1;
        out[i] = (draw & 1 ? -k : k) * unit;
    }
}

/* Channels of basis vectors: ends and middle of the rotated part and the end of the head. */
static int basis_channels(int out[9], int dim, int rotary_dim)
{
    const int wanted[] = {0, 1, 2, rotary_dim / 2 - 1, rotary_dim / 2, rotary_dim / 2 + 1,
                          rotary_dim - 1, rotary_dim, dim - 1};
    int n = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (wanted[i] < dim && wanted[i] >= 0 && (n == 0 || wanted[i] > out[n - 1]))
            out[n++] = wanted[i];
    return n;
}

/* Values drawn for an input whose free axis (heads, rows) is as long as the recipe says. */
static enum posref_status add_drawn(struct posref_vector *vector, const char *name, bool basis,
                                    int64_t free_size, const struct posref_arena *arena,
                                    struct posref_error *err)
{
    const struct posref_spec *spec = &vector->spec;
    struct posref_tensor tensor = {.dtype = POSREF_F64};
    int channel[9] = {0}, heads = 0;
    if (basis) {
        heads = basis_channels(channel, spec->dim,
                               spec->given[POSREF_FIELD_ROTARY_DIM] ? spec->rotary_dim
                                                                    : spec->dim);
        free_size = heads;
    }
    snprintf(tensor.name, sizeof tensor.name, "%s", name);
    enum posref_status status = posref_input_shape(tensor.shape, &tensor.rank, spec,
                                                   &vector->inputs, name, -1, free_size, err);
    if (status != POSREF_OK)
        return status;
    int64_t count = posref_tensor_count(&tensor);
    if (count < 1 || count > POSREF_MAX_OUTPUT_ELEMENTS)
        return posref_fail(err, POSREF_BAD_INPUT, name, "a recipe cannot fill its shape");
    double *value = tensor.data = arena->alloc(arena->ctx, (size_t)count * sizeof(double));
    if (!value)
        return posref_fail(err, POSREF_NO_MEMORY, name, "no memory");
    if (basis)
        for (int64_t i = 0; i < count; i++)
            value[i] = i % spec->dim == channel[i / spec->dim % heads];
    else
        posref_recipe_fill(value, count, posref_recipe_seed(vector->id, name),
                    strcmp(name, "logits") == 0 ? 1.0 / 16 : 1.0 / 64);
    vector->inputs.item[vector->inputs.n++] = tensor;
    return POSREF_OK;
}

/* NAME=RECIPE: positions as typed, random[:SIZE], basis, or values between commas. */
static enum posref_status add_input(struct posref_vector *vector, char *word,
                                    const struct posref_arena *arena, struct posref_error *err)
{
    char *recipe = strchr(word, '=');
    if (!recipe || vector->inputs.n == POSREF_MAX_TENSORS)
        return posref_fail(err, POSREF_BAD_INPUT, "inputs", "'%.60s' is no input", word);
    *recipe++ = '\0';
    const struct posref_input_def *def = posref_input_def(posref_input_find(word));
    if (!def)
        return posref_fail(err, POSREF_BAD_INPUT, word, "is no input");
    if (posref_recipe_is_attention(word) && strncmp(recipe, "random", 6) == 0)
        return posref_recipe_attention(vector, word, recipe, arena, err);
    if (strcmp(recipe, "basis") == 0 || strcmp(recipe, "random") == 0)
        return add_drawn(vector, word, recipe[0] == 'b', 0, arena, err);
    if (strncmp(recipe, "random:", 7) == 0) {
        double size;
        enum posref_status status = posref_number_parse(&size, recipe + 7, word, err);
        if (status != POSREF_OK)
            return status;
        if (!(size >= 1 && size <= POSREF_MAX_POSITIONS))
            return posref_fail(err, POSREF_BAD_INPUT, word, "'%.40s' is no recipe", recipe);
        return add_drawn(vector, word, false, (int64_t)size, arena, err);
    }
    struct posref_tensor *tensor = &vector->inputs.item[vector->inputs.n];
    enum posref_status status = def->is_positions
                                    ? posref_positions_parse(tensor, recipe, word, arena, err)
                                    : posref_values_parse(tensor, recipe, word, arena, err);
    if (status == POSREF_OK)
        status = posref_recipe_is_attention(word) && strcmp(word, "mask") != 0
                     ? posref_recipe_shape(tensor, &vector->inputs, err)
                     : posref_input_reshape(tensor, &vector->spec, &vector->inputs, err);
    vector->inputs.n += status == POSREF_OK;
    return status;
}

static enum posref_status add_inputs(struct posref_vector *vector, const char *inputs,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    size_t size = strlen(inputs) + 1;
    char *text = arena->alloc(arena->ctx, size);
    if (!text)
        return posref_fail(err, POSREF_NO_MEMORY, "inputs", "no memory");
    memcpy(text, inputs, size);
    enum posref_status status = POSREF_OK;
    while (*text && status == POSREF_OK) {
        char *word = text;
        text += strcspn(text, " ");
        if (*text)
            *text++ = '\0';
        status = add_input(vector, word, arena, err);
    }
    return status;
}

enum posref_status posref_case_vector(struct posref_vector *out,
                                      const struct posref_case_list *list,
                                      const struct posref_case *item,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_vector vector = {.id = item->id, .flags = item->flags, .source = item->source};
    vector.suite_min = list->suite[item->suite].name;
    int op = posref_op_find(item->op);
    if (op < 0)
        return posref_fail(err, POSREF_BAD_INPUT, "op", "'%.40s' is no op", item->op);
    vector.op = (enum posref_op)op;
    enum posref_status status = posref_spec_parse(&vector.spec, item->spec, err);
    if (status == POSREF_OK)
        status = posref_spec_complete(&vector.spec, err);
    if (status == POSREF_OK)
        status = add_inputs(&vector, item->inputs, arena, err);
    if (status == POSREF_OK)
        status = posref_spec_settle(&vector.spec, &vector.inputs, err);
    if (status == POSREF_OK)
        *out = vector;
    return status;
}
