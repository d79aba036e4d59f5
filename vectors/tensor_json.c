/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as JSON: {"shape": [...], "data": [...]}, flat. */
#include "vectors/vectors.h"

/* Answers hold doubles: those take no call. */
static double element(const struct posref_tensor *tensor, int64_t i)
{
    return tensor->dtype == POSREF_F64 ? ((const double *)tensor->data)[i]
                                       : posref_tensor_value(tensor, i);
}

#define BLOCK 64 /* numbers that room is made for at once */

static void add_separator(struct posref_buffer *out, int64_t i)
{
    if (i)
        posref_buffer_add(out, ", ", 2);
}

/* Elements from..to-1, at most BLOCK of them. */
static void add_block(struct posref_buffer *out, const struct posref_tensor *tensor, int64_t from,
                      int64_t to, enum posref_number_form form)
{
    if (!posref_buffer_reserve(out, BLOCK * (POSREF_NUMBER_SIZE + 2)))
        return;
    char *at = out->data + out->length;
    for (int64_t i = from; i < to; i++) {
        if (i) {
            *at++ = ',';
            *at++ = ' ';
        }
        at += posref_number_write(at, element(tensor, i), form);
    }
    *at = '\0';
    out->length = (size_t)(at - out->data);
}

void posref_tensor_json(struct posref_buffer *out, const struct posref_tensor *tensor,
                        enum posref_number_form numbers)
{
    posref_buffer_text(out, "{\"shape\": [");
    for (int axis = 0; axis < tensor->rank; axis++) {
        add_separator(out, axis);
        posref_buffer_printf(out, "%lld", (long long)tensor->shape[axis]);
    }
    posref_buffer_text(out, "], \"data\": [");
    int64_t count = posref_tensor_count(tensor);
    if (tensor->dtype == POSREF_I32)
        numbers = POSREF_NUMBERS_DECIMAL;
    for (int64_t i = 0; i < count && !out->failed && tensor->dtype == POSREF_I64; i++) {
        add_separator(out, i); /* 64 bits need not fit in a double */
        posref_buffer_printf(out, "%lld", (long long)((const int64_t *)tensor->data)[i]);
    }
    for (int64_t i = 0; i < count && !out->failed && tensor->dtype != POSREF_I64; i += BLOCK)
        add_block(out, tensor, i, count - i < BLOCK ? count : i + BLOCK, numbers);
    posref_buffer_text(out, "]}");
}

void posref_tensors_json(struct posref_buffer *out, const struct posref_tensors *tensors,
                         enum posref_number_form numbers)
{
    posref_buffer_text(out, "{");
    for (int i = 0; i < tensors->n; i++) {
        add_separator(out, i);
        posref_buffer_json_string(out, tensors->item[i].name);
        posref_buffer_text(out, ": ");
        posref_tensor_json(out, &tensors->item[i], numbers);
    }
    posref_buffer_text(out, "}");
}
