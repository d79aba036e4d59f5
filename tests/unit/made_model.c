/* SPDX-License-Identifier: Apache-2.0 */
/* Small models for tests: random weights, ports and mistakes. */
#include "tests/unit/made_model.h"

#include <stdlib.h>
#include <string.h>

static uint64_t next(struct made_model *model)
{
    uint64_t z = model->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

double made_random(struct made_model *model)
{
    return (double)(next(model) >> 11) * 0x1p-53;
}

void made_init(struct made_model *model, uint64_t seed)
{
    memset(model, 0, sizeof *model);
    model->state = seed;
}

void made_clear(struct made_model *model)
{
    for (int i = 0; i < model->n; i++)
        free(model->tensor[i].value);
    model->n = 0;
}

static int64_t count(const struct made_tensor *tensor)
{
    return tensor->rows * (tensor->columns > 0 ? tensor->columns : 1);
}

struct made_tensor *made_add(struct made_model *model, const char *name, int64_t rows,
                             int64_t columns)
{
    struct made_tensor *tensor = &model->tensor[model->n++];
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    tensor->rows = rows;
    tensor->columns = columns;
    tensor->type = POSREF_STORED_F32;
    tensor->value = calloc((size_t)count(tensor), sizeof *tensor->value);
    for (int64_t i = 0; i < count(tensor); i++) /* a sum of four: roughly normal */
        tensor->value[i] = (float)((int)(next(model) % 128) + (int)(next(model) % 128) +
                                   (int)(next(model) % 128) + (int)(next(model) % 128) - 254) / 64;
    return tensor;
}

struct made_tensor *made_find(struct made_model *model, const char *name)
{
    for (int i = 0; i < model->n; i++)
        if (strcmp(model->tensor[i].name, name) == 0)
            return &model->tensor[i];
    return NULL;
}

void made_copy(struct made_model *to, const struct made_model *from)
{
    *to = *from;
    for (int i = 0; i < to->n; i++) {
        size_t size = (size_t)count(&from->tensor[i]) * sizeof(float);
        to->tensor[i].value = malloc(size);
        memcpy(to->tensor[i].value, from->tensor[i].value, size);
    }
}

void made_move_rows(struct made_tensor *tensor, const int64_t *source)
{
    int64_t width = tensor->columns > 0 ? tensor->columns : 1;
    float *moved = malloc((size_t)count(tensor) * sizeof *moved);
    for (int64_t row = 0; row < tensor->rows; row++)
        memcpy(moved + row * width, tensor->value + source[row] * width,
               (size_t)width * sizeof *moved);
    free(tensor->value);
    tensor->value = moved;
}

void made_port(struct made_tensor *tensor, int64_t n_heads, int64_t first, int64_t rows,
               bool to_half)
{
    int64_t *source = malloc((size_t)tensor->rows * sizeof *source);
    int64_t head_rows = tensor->rows / n_heads;
    for (int64_t row = 0; row < tensor->rows; row++)
        source[row] = row;
    for (int64_t head = 0; head < n_heads; head++)
        for (int64_t i = 0; i < rows / 2; i++)
            for (int64_t t = 0; t < 2; t++) {
                int64_t base = head * head_rows + first;
                int64_t half = base + t * (rows / 2) + i, interleaved = base + 2 * i + t;
                if (to_half)
                    source[half] = interleaved;
                else
                    source[interleaved] = half;
            }
    made_move_rows(tensor, source);
    free(source);
}
