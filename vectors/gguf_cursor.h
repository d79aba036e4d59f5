/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded walk over a GGUF header: every step checks what is left. Internal to vectors/gguf*. */
#ifndef POSREF_VECTORS_GGUF_CURSOR_H
#define POSREF_VECTORS_GGUF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum gguf_value { GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL,
                  GGUF_STRING, GGUF_ARRAY, GGUF_U64, GGUF_I64, GGUF_F64, GGUF_N_VALUES };

struct gguf_cursor {
    const unsigned char *data;
    uint64_t size_bytes, at;
};

static inline bool gguf_skip(struct gguf_cursor *c, uint64_t n)
{
    if (n > c->size_bytes - c->at)
        return false;
    c->at += n;
    return true;
}

static inline uint64_t gguf_bits(const unsigned char *data, int n_bytes)
{
    uint64_t bits = 0;
    for (int i = 0; i < n_bytes; i++)
        bits |= (uint64_t)data[i] << (8 * i);
    return bits;
}

static inline bool gguf_u32(uint32_t *out, struct gguf_cursor *c)
{
    if (!gguf_skip(c, 4))
        return false;
    *out = (uint32_t)gguf_bits(c->data + c->at - 4, 4);
    return true;
}

static inline bool gguf_u64(uint64_t *out, struct gguf_cursor *c)
{
    if (!gguf_skip(c, 8))
        return false;
    *out = gguf_bits(c->data + c->at - 8, 8);
    return true;
}

/* A length and as many bytes; *text points to the bytes. */
static inline bool gguf_text(const char **text, uint64_t *length, struct gguf_cursor *c)
{
    if (!gguf_u64(length, c) || !gguf_skip(c, *length))
        return false;
    *text = (const char *)c->data + (c->at - *length);
    return true;
}

/* Bytes of a value of fixed size; 0 for strings, arrays and unknown types. */
static inline int gguf_value_size(uint32_t type)
{
    static const int sizes[GGUF_N_VALUES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < GGUF_N_VALUES ? sizes[type] : 0;
}

#endif
