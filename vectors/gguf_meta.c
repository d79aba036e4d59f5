/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in a GGUF file's metadata. */
#include "vectors/gguf.h"
#include "vectors/gguf_cursor.h"

const struct posref_gguf_pair *posref_gguf_find(const struct posref_gguf *gguf, const char *key)
{
    for (size_t i = 0; i < gguf->n_pairs; i++)
        if (strcmp(gguf->pair[i].key, key) == 0)
            return &gguf->pair[i];
    return NULL;
}

const char *posref_gguf_string(const struct posref_gguf *gguf, const char *key, size_t *length)
{
    const struct posref_gguf_pair *pair = posref_gguf_find(gguf, key);
    if (!pair || pair->is_array || pair->type != GGUF_STRING)
        return NULL;
    *length = (size_t)gguf_bits(pair->value, 8);
    return (const char *)pair->value + 8;
}

bool posref_gguf_integer(int64_t *out, const struct posref_gguf *gguf, const char *key,
                         uint64_t index)
{
    const struct posref_gguf_pair *pair = posref_gguf_find(gguf, key);
    if (!pair || (pair->is_array && index >= pair->count))
        return false;
    int width = gguf_value_size(pair->type);
    if (width == 0)
        return false;
    uint64_t bits = gguf_bits(pair->value + (pair->is_array ? index * (uint64_t)width : 0), width);
    switch (pair->type) {
    case GGUF_U8: case GGUF_U16: case GGUF_U32: case GGUF_BOOL: *out = (int64_t)bits; return true;
    case GGUF_I8: *out = (int8_t)bits; return true;
    case GGUF_I16: *out = (int16_t)bits; return true;
    case GGUF_I32: *out = (int32_t)bits; return true;
    case GGUF_I64: *out = (int64_t)bits; return true;
    case GGUF_U64: *out = (int64_t)bits; return bits <= INT64_MAX;
    default: return false;
    }
}
