/* SPDX-License-Identifier: Apache-2.0 */
/* From a case to its vector: the spec, and inputs made from their recipes. */
#include "vectors/case.h"

#include <string.h>

/* SplitMix64 (Steele, Lea, Flood 2014) seeded with FNV-1a of the id: integers only, so the same on
 * every machine. */
static uint64_t seed_of(const char *text, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* +-k * unit, 1 <= k <= 127: seven bits, exact in bfloat16 (8 bits) and float16 (11 bits). */
static void fill_random(double *out, int64_t count, uint64_t seed, double unit)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t draw = next_random(&seed) >> 32;
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

static int64_t count_of(const struct posref_tensors *inputs, const char *name)
{
    const struct posref_tensor *tensor = posref_tensors_find(inputs, name);
    if (!tensor)
        tensor = posref_tensors_find(inputs, "positions");
    return tensor ? tensor->shape[tensor->rank - 1] : 0;
}

static enum posref_status add_x(struct posref_vector *vector, const char *recipe,
                                const struct posref_arena *arena, struct posref_error *err)
{
    const struct posref_spec *spec = &vector->spec;
    int channel[9] = {0}, heads = 0;
    if (strcmp(recipe, "basis") == 0)
        heads = basis_channels(channel, spec->dim,
                               spec->given[POSREF_FIELD_ROTARY_DIM] ? spec->rotary_dim
                                                                    : spec->dim);
    else if (strncmp(recipe, "random:", 7) == 0 && recipe[7] >= '1' && recipe[7] <= '9' &&
             !recipe[8])
        heads = recipe[7] - '0';
    else if (strcmp(recipe, "random") != 0)
        return posref_fail(err, POSREF_BAD_INPUT, "x", "'%s' is no recipe", recipe);
    int64_t n = count_of(&vector->inputs, "positions"), dim = spec->dim;
    int64_t count = n * (heads ? heads : 1) * dim;
    struct posref_tensor x = {.name = "x", .dtype = POSREF_F64, .rank = heads ? 3 : 2,
                              .shape = {n, heads ? heads : dim, dim}};
    double *value = x.data = arena->alloc(arena->ctx, (size_t)count * sizeof(double));
    if (!value)
        return posref_fail(err, POSREF_NO_MEMORY, "x", "no memory");
    if (recipe[0] == 'b')
        for (int64_t i = 0; i < count; i++)
            value[i] = i % dim == channel[i / dim % heads];
    else
        fill_random(value, count, seed_of(vector->id, "x"), 1.0 / 64);
    vector->inputs.item[vector->inputs.n++] = x;
    return POSREF_OK;
}

static enum posref_status add_logits(struct posref_vector *vector, const char *recipe,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    if (strcmp(recipe, "random") != 0)
        return posref_fail(err, POSREF_BAD_INPUT, "logits", "'%s' is no recipe", recipe);
    struct posref_tensor logits = {.name = "logits", .dtype = POSREF_F64, .rank = 3};
    logits.shape[0] = vector->spec.num_heads;
    logits.shape[1] = count_of(&vector->inputs, "q_positions");
    logits.shape[2] = count_of(&vector->inputs, "k_positions");
    int64_t count = posref_tensor_count(&logits);
    logits.data = arena->alloc(arena->ctx, (size_t)count * sizeof(double));
    if (!logits.data)
        return posref_fail(err, POSREF_NO_MEMORY, "logits", "no memory");
    fill_random(logits.data, count, seed_of(vector->id, "logits"), 1.0 / 16);
    vector->inputs.item[vector->inputs.n++] = logits;
    return POSREF_OK;
}

static enum posref_status add_input(struct posref_vector *vector, char *word,
                                    const struct posref_arena *arena, struct posref_error *err)
{
    char *equals = strchr(word, '=');
    if (!equals || vector->inputs.n == POSREF_MAX_TENSORS)
        return posref_fail(err, POSREF_BAD_INPUT, "inputs", "'%.60s' is no input", word);
    *equals = '\0';
    if (strcmp(word, "x") == 0)
        return add_x(vector, equals + 1, arena, err);
    if (strcmp(word, "logits") == 0)
        return add_logits(vector, equals + 1, arena, err);
    struct posref_tensor *tensor = &vector->inputs.item[vector->inputs.n];
    enum posref_status status = posref_positions_parse(tensor, equals + 1, word, arena, err);
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
        *out = vector;
    return status;
}
