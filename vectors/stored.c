/* SPDX-License-Identifier: Apache-2.0 */
/* The table of element types that files use, sizes without overflow, and conversion to the
 * dtypes of reference/. */
#include "vectors/stored.h"

#include <math.h>
#include <string.h>

#define MAX_LOADED_ELEMENTS (UINT64_C(1) << 24)

static const struct posref_stored_def defs[POSREF_N_STORED_TYPES] = {
    [POSREF_STORED_BOOL] = {"BOOL", 1, 1, 1},
    [POSREF_STORED_U8] = {"U8", 1, 1, 1},
    [POSREF_STORED_I8] = {"I8", 1, 1, 1},
    [POSREF_STORED_U16] = {"U16", 1, 2, 2},
    [POSREF_STORED_I16] = {"I16", 1, 2, 2},
    [POSREF_STORED_U32] = {"U32", 1, 4, 4},
    [POSREF_STORED_I32] = {"I32", 1, 4, 4},
    [POSREF_STORED_U64] = {"U64", 1, 8, 8},
    [POSREF_STORED_I64] = {"I64", 1, 8, 8},
    [POSREF_STORED_F16] = {"F16", 1, 2, 2},
    [POSREF_STORED_BF16] = {"BF16", 1, 2, 2},
    [POSREF_STORED_F32] = {"F32", 1, 4, 4},
    [POSREF_STORED_F64] = {"F64", 1, 8, 8},
    [POSREF_STORED_C64] = {"C64", 1, 8, 4},
    [POSREF_STORED_F8_E4M3] = {"F8_E4M3", 1, 1, 1},
    [POSREF_STORED_F8_E5M2] = {"F8_E5M2", 1, 1, 1},
    [POSREF_STORED_F8_E8M0] = {"F8_E8M0", 1, 1, 1},
    [POSREF_STORED_F4] = {"F4", 2, 1, 1},
    [POSREF_STORED_F6_E2M3] = {"F6_E2M3", 4, 3, 1},
    [POSREF_STORED_F6_E3M2] = {"F6_E3M2", 4, 3, 1},
    [POSREF_STORED_Q4_0] = {"Q4_0", 32, 18, 2},
    [POSREF_STORED_Q4_1] = {"Q4_1", 32, 20, 2},
    [POSREF_STORED_Q5_0] = {"Q5_0", 32, 22, 2},
    [POSREF_STORED_Q5_1] = {"Q5_1", 32, 24, 2},
    [POSREF_STORED_Q8_0] = {"Q8_0", 32, 34, 2},
    [POSREF_STORED_Q2_K] = {"Q2_K", 256, 84, 2},
    [POSREF_STORED_Q3_K] = {"Q3_K", 256, 110, 2},
    [POSREF_STORED_Q4_K] = {"Q4_K", 256, 144, 2},
    [POSREF_STORED_Q5_K] = {"Q5_K", 256, 176, 2},
    [POSREF_STORED_Q6_K] = {"Q6_K", 256, 210, 2},
    [POSREF_STORED_Q8_K] = {"Q8_K", 256, 292, 4},
    [POSREF_STORED_OTHER_BLOCKS] = {"?", 1, 1, 1},
};

const struct posref_stored_def *posref_stored_def(enum posref_stored_type type)
{
    return &defs[type];
}

bool posref_stored_size(uint64_t *n_elements, uint64_t *size_bytes, const int64_t *shape, int rank,
                        int block_elements, int block_bytes)
{
    int64_t count = 1;
    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] < 0 || __builtin_mul_overflow(count, shape[axis], &count))
            return false;
    /* A dimension of 0 must not hide one that overflows with the others. */
    int64_t without_zero = 1;
    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] > 0 && __builtin_mul_overflow(without_zero, shape[axis], &without_zero))
            return false;
    int64_t innermost = rank > 0 ? shape[rank - 1] : 1;
    if (innermost % block_elements != 0)
        return false;
    int64_t bytes;
    if (__builtin_mul_overflow(count / block_elements, (int64_t)block_bytes, &bytes))
        return false;
    *n_elements = (uint64_t)count;
    *size_bytes = (uint64_t)bytes;
    return true;
}

int posref_stored_dtype(enum posref_stored_type type)
{
    switch (type) {
    case POSREF_STORED_F64: return POSREF_F64;
    case POSREF_STORED_F32: return POSREF_F32;
    case POSREF_STORED_F16: return POSREF_F16;
    case POSREF_STORED_BF16: return POSREF_BF16;
    case POSREF_STORED_F8_E4M3: return POSREF_F8E4M3;
    case POSREF_STORED_F8_E5M2: return POSREF_F8E5M2;
    case POSREF_STORED_I32: return POSREF_I32;
    case POSREF_STORED_I64: return POSREF_I64;
    default: return -1;
    }
}

const char *posref_stored_name(enum posref_dtype dtype)
{
    for (int type = 0; type < POSREF_N_STORED_TYPES; type++)
        if (posref_stored_dtype((enum posref_stored_type)type) == (int)dtype)
            return defs[type].name;
    return "";
}

/* Little-endian load of n <= 8 bytes: mapped data need not be aligned. */
static uint64_t load_bits(const unsigned char *data, int n)
{
    uint64_t bits = 0;
    for (int i = 0; i < n; i++)
        bits |= (uint64_t)data[i] << (8 * i);
    return bits;
}

/* One element as a double; false when the type has no such value or the value does not fit. */
static bool element_as_double(double *out, enum posref_stored_type type, const unsigned char *data)
{
    uint64_t bits = load_bits(data, defs[type].block_bytes);
    int64_t whole;
    switch (type) {
    case POSREF_STORED_F64: memcpy(out, &bits, sizeof *out); return true;
    case POSREF_STORED_F32:
    case POSREF_STORED_F16:
    case POSREF_STORED_BF16:
    case POSREF_STORED_F8_E4M3:
    case POSREF_STORED_F8_E5M2:
        *out = posref_widen((uint32_t)bits, (enum posref_dtype)posref_stored_dtype(type));
        return true;
    case POSREF_STORED_BOOL:
    case POSREF_STORED_U8:
    case POSREF_STORED_U16:
    case POSREF_STORED_U32: *out = (double)bits; return true;
    case POSREF_STORED_I8: *out = (double)(int8_t)bits; return true;
    case POSREF_STORED_I16: *out = (double)(int16_t)bits; return true;
    case POSREF_STORED_I32: *out = (double)(int32_t)bits; return true;
    case POSREF_STORED_I64:
        whole = (int64_t)bits;
        *out = (double)whole;
        return whole >= -(INT64_C(1) << 53) && whole <= (INT64_C(1) << 53);
    default: return false;
    }
}

static enum posref_status load_as_doubles(double *out, const struct posref_stored *in,
                                          uint64_t count, struct posref_error *err)
{
    size_t width = (size_t)defs[in->type].block_bytes;
    for (uint64_t i = 0; i < count; i++)
        if (!element_as_double(&out[i], in->type, in->data + i * width))
            return posref_fail(err, POSREF_BAD_INPUT, in->name,
                               "element %llu of this %s tensor is not exactly a double",
                               (unsigned long long)i, in->type_name);
    return POSREF_OK;
}

enum posref_status posref_stored_load(struct posref_tensor *out, const struct posref_stored *in,
                                      const char *name, bool as_f64,
                                      const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_tensor result = {.rank = in->rank, .dtype = POSREF_F64};
    uint64_t count = 0, size_bytes = 0;
    double probe;
    static const unsigned char zeros[8];
    if (strlen(name) >= sizeof result.name)
        return posref_fail(err, POSREF_BAD_INPUT, name, "tensor names here have at most %zu bytes",
                           sizeof result.name - 1);
    int dtype = posref_stored_dtype(in->type);
    bool readable = as_f64 ? in->block_bytes <= 8 && element_as_double(&probe, in->type, zeros)
                           : dtype >= 0;
    if (!readable)
        return posref_fail(err, POSREF_BAD_INPUT, in->name, "dtype %s is not one of %s",
                           in->type_name, "F64, F32, F16, BF16, F8_E4M3, F8_E5M2, I64, I32");
    if (!posref_stored_size(&count, &size_bytes, in->shape, in->rank, in->block_elements,
                            in->block_bytes) || count > MAX_LOADED_ELEMENTS)
        return posref_fail(err, POSREF_BAD_INPUT, in->name, "has more than %llu elements",
                           (unsigned long long)MAX_LOADED_ELEMENTS);
    memcpy(result.name, name, strlen(name) + 1);
    memcpy(result.shape, in->shape, sizeof result.shape);
    if (!as_f64)
        result.dtype = (enum posref_dtype)dtype;
    size_t bytes = as_f64 ? (size_t)count * sizeof(double) : (size_t)size_bytes;
    result.data = arena->alloc(arena->ctx, bytes > 0 ? bytes : 1);
    if (!result.data)
        return posref_fail(err, POSREF_NO_MEMORY, in->name, "no memory for the tensor");
    enum posref_status status = POSREF_OK;
    if (as_f64)
        status = load_as_doubles(result.data, in, count, err);
    else if (bytes > 0)
        memcpy(result.data, in->data, bytes);
    if (status == POSREF_OK)
        *out = result;
    return status;
}
