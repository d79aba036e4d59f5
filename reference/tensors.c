/* SPDX-License-Identifier: Apache-2.0 */
/* Named tensors: dtypes, element counts, elements, look-up by name. */
#include "reference.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size_bytes;
} dtypes[POSREF_N_DTYPES] = {
    [POSREF_F64] = {"f64", 8},   [POSREF_F32] = {"f32", 4}, [POSREF_F16] = {"f16", 2},
    [POSREF_BF16] = {"bf16", 2}, [POSREF_I32] = {"i32", 4}, [POSREF_I64] = {"i64", 8},
    [POSREF_F8E4M3] = {"f8e4m3", 1}, [POSREF_F8E5M2] = {"f8e5m2", 1},
};

size_t posref_dtype_size(enum posref_dtype dtype)
{
    return dtypes[dtype].size_bytes;
}

const char *posref_dtype_name(enum posref_dtype dtype)
{
    return dtypes[dtype].name;
}

bool posref_dtype_is_float8(enum posref_dtype dtype)
{
    return dtype == POSREF_F8E4M3 || dtype == POSREF_F8E5M2;
}

int posref_dtype_find(const char *name)
{
    for (int dtype = 0; dtype < POSREF_N_DTYPES; dtype++)
        if (strcmp(dtypes[dtype].name, name) == 0)
            return dtype;
    return -1;
}

int64_t posref_tensor_count(const struct posref_tensor *tensor)
{
    int64_t count = 1;
    for (int axis = 0; axis < tensor->rank; axis++)
        count *= tensor->shape[axis];
    return count;
}

const struct posref_tensor *posref_tensors_find(const struct posref_tensors *set, const char *name)
{
    for (int k = 0; k < set->n; k++)
        if (strcmp(set->item[k].name, name) == 0)
            return &set->item[k];
    return NULL;
}

double posref_tensor_value(const struct posref_tensor *tensor, int64_t k)
{
    const unsigned char *at =
        (const unsigned char *)tensor->data + (size_t)k * posref_dtype_size(tensor->dtype);
    double wide;
    float single;
    uint16_t half;
    int32_t whole;
    int64_t long_whole;
    switch (tensor->dtype) {
    case POSREF_F64: memcpy(&wide, at, sizeof wide); return wide;
    case POSREF_I64: memcpy(&long_whole, at, sizeof long_whole); return (double)long_whole;
    case POSREF_I32: memcpy(&whole, at, sizeof whole); return whole;
    case POSREF_F32: memcpy(&single, at, sizeof single); return (double)single;
    case POSREF_F8E4M3:
    case POSREF_F8E5M2: return posref_widen(*at, tensor->dtype);
    default: memcpy(&half, at, sizeof half); return posref_widen(half, tensor->dtype);
    }
}
