/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the header of a GGUF file, checked so that no later access can leave the file. */
#include "vectors/gguf.h"
#include "vectors/gguf_cursor.h"
#include "vectors/gguf_types.h"

#include <stdarg.h>
#include <stdlib.h>

#define MAX_ARRAY_DEPTH 4
#define MAX_GGUF_DIMS 4
#define MIN_PAIR_BYTES 13    /* length, type and one byte of value */
#define MIN_TENSOR_BYTES 24  /* length, rank, type and offset */

/* What the steps of one parse share. */
struct reading {
    const char *label;
    struct posref_error *err;
    struct posref_gguf gguf;
    struct gguf_cursor at;
};

static enum posref_status bad(const struct reading *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum posref_status bad(const struct reading *r, const char *format, ...)
{
    char text[224];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return posref_fail(r->err, POSREF_BAD_INPUT, posref_path_tail(r->label), "byte %llu: %s",
                       (unsigned long long)r->at.at, text);
}

static void *take(struct reading *r, uint64_t count, size_t size_bytes)
{
    struct posref_arena arena = posref_heap_arena(r->gguf.heap);
    if (count > SIZE_MAX / size_bytes - 1)
        return NULL;
    void *memory = arena.alloc(arena.ctx, (size_t)(count + 1) * size_bytes);
    if (memory)
        memset(memory, 0, (size_t)(count + 1) * size_bytes);
    return memory;
}

/* A name as a NUL-terminated copy; NULL when it is cut off, holds a NUL or is too long. */
static const char *read_name(struct reading *r, uint64_t max_bytes)
{
    const char *text;
    uint64_t length;
    if (!gguf_text(&text, &length, &r->at) || length > max_bytes || memchr(text, 0, (size_t)length))
        return NULL;
    char *copy = take(r, length, 1);
    if (copy)
        memcpy(copy, text, (size_t)length);
    return copy;
}

static bool skip_value(struct gguf_cursor *at, uint32_t type, int depth)
{
    const char *text;
    uint64_t length, count;
    uint32_t inner;
    if (gguf_value_size(type) > 0)
        return gguf_skip(at, (uint64_t)gguf_value_size(type));
    if (type == GGUF_STRING)
        return gguf_text(&text, &length, at);
    if (type != GGUF_ARRAY || depth >= MAX_ARRAY_DEPTH || !gguf_u32(&inner, at) ||
        !gguf_u64(&count, at))
        return false;
    int width = gguf_value_size(inner);
    if (width > 0)
        return count <= at->size_bytes / (uint64_t)width && gguf_skip(at, count * (uint64_t)width);
    for (uint64_t i = 0; i < count; i++)
        if (!skip_value(at, inner, depth + 1))
            return false;
    return true;
}

static enum posref_status read_pair(struct reading *r, struct posref_gguf_pair *pair)
{
    pair->key = read_name(r, 65535);
    if (!pair->key)
        return bad(r, "a metadata key is cut off or no text");
    if (!gguf_u32(&pair->type, &r->at))
        return bad(r, "key %.80s: cut off", pair->key);
    struct gguf_cursor value = r->at;
    pair->count = 1;
    if (pair->type == GGUF_ARRAY) {
        pair->is_array = true;
        if (!gguf_u32(&pair->type, &value) || !gguf_u64(&pair->count, &value))
            return bad(r, "key %.80s: cut off", pair->key);
    }
    pair->value = value.data + value.at;
    if (!skip_value(&r->at, pair->is_array ? GGUF_ARRAY : pair->type, 0))
        return bad(r, "key %.80s: cut off, or of an unknown type (%u)", pair->key, pair->type);
    return POSREF_OK;
}

static int by_key(const void *left, const void *right)
{
    const struct posref_gguf_pair *a = left, *b = right;
    return strcmp(a->key, b->key);
}

static enum posref_status read_pairs(struct reading *r, uint64_t count)
{
    if (count > (r->at.size_bytes - r->at.at) / MIN_PAIR_BYTES)
        return bad(r, "%llu metadata keys in a file of %llu bytes", (unsigned long long)count,
                   (unsigned long long)r->at.size_bytes);
    r->gguf.pair = take(r, count, sizeof *r->gguf.pair);
    if (!r->gguf.pair)
        return posref_fail(r->err, POSREF_NO_MEMORY, posref_path_tail(r->label), "no memory");
    for (uint64_t i = 0; i < count; i++) {
        enum posref_status status = read_pair(r, &r->gguf.pair[r->gguf.n_pairs++]);
        if (status != POSREF_OK)
            return status;
    }
    qsort(r->gguf.pair, r->gguf.n_pairs, sizeof *r->gguf.pair, by_key);
    for (size_t i = 1; i < r->gguf.n_pairs; i++)
        if (strcmp(r->gguf.pair[i - 1].key, r->gguf.pair[i].key) == 0)
            return bad(r, "key %.80s: given twice", r->gguf.pair[i].key);
    return POSREF_OK;
}

static enum posref_status read_tensor(struct reading *r, struct posref_stored *out)
{
    uint32_t rank, number;
    uint64_t extent, n_elements;
    out->name = read_name(r, 1023);
    if (!out->name)
        return bad(r, "a tensor's name is cut off or no text");
    if (!gguf_u32(&rank, &r->at) || rank > MAX_GGUF_DIMS)
        return bad(r, "tensor %.80s: cut off, or more than %d dimensions", out->name,
                   MAX_GGUF_DIMS);
    out->rank = (int)rank;
    for (uint32_t axis = 0; axis < rank; axis++) {
        if (!gguf_u64(&extent, &r->at) || extent > INT64_MAX)
            return bad(r, "tensor %.80s: dimension %u is cut off or too large", out->name, axis);
        out->shape[rank - 1 - axis] = (int64_t)extent;
    }
    if (!gguf_u32(&number, &r->at) || !gguf_u64(&out->offset, &r->at))
        return bad(r, "tensor %.80s: cut off", out->name);
    const struct gguf_type *type = gguf_type_find(number);
    if (!type)
        return bad(r, "tensor %.80s: unknown type %u", out->name, number);
    out->type = type->type;
    out->type_name = type->name;
    out->block_elements = type->block_elements;
    out->block_bytes = type->block_bytes;
    if (!posref_stored_size(&n_elements, &out->size_bytes, out->shape, out->rank,
                            out->block_elements, out->block_bytes))
        return bad(r, "tensor %.80s: its size overflows, or its rows are no whole %s blocks",
                   out->name, type->name);
    return POSREF_OK;
}

static int by_offset(const void *left, const void *right)
{
    const struct posref_stored *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Turns offsets into pointers: aligned, inside the file, without overlaps. */
static enum posref_status place_tensors(struct reading *r)
{
    uint64_t room = r->at.size_bytes - r->gguf.data_offset, free_from = 0;
    qsort(r->gguf.item, r->gguf.n, sizeof *r->gguf.item, by_offset);
    for (size_t i = 0; i < r->gguf.n; i++) {
        struct posref_stored *t = &r->gguf.item[i];
        r->at.at = r->gguf.data_offset;
        if (t->offset > room || t->size_bytes > room - t->offset)
            return bad(r, "tensor %.80s: offset %llu and %llu bytes leave the file of %llu",
                       t->name, (unsigned long long)t->offset, (unsigned long long)t->size_bytes,
                       (unsigned long long)r->at.size_bytes);
        r->at.at += t->offset;
        if (t->offset % r->gguf.alignment != 0)
            return bad(r, "tensor %.80s: offset %llu is no multiple of %llu", t->name,
                       (unsigned long long)t->offset, (unsigned long long)r->gguf.alignment);
        if (t->offset < free_from)
            return bad(r, "tensor %.80s: overlaps the one before it", t->name);
        free_from = t->offset + t->size_bytes;
        t->offset += r->gguf.data_offset;
        t->data = r->at.data + t->offset;
    }
    return POSREF_OK;
}

static int by_name(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

static enum posref_status check_names(struct reading *r)
{
    const char **names = take(r, r->gguf.n, sizeof *names);
    if (!names)
        return posref_fail(r->err, POSREF_NO_MEMORY, posref_path_tail(r->label), "no memory");
    for (size_t i = 0; i < r->gguf.n; i++)
        names[i] = r->gguf.item[i].name;
    qsort(names, r->gguf.n, sizeof *names, by_name);
    for (size_t i = 1; i < r->gguf.n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return bad(r, "tensor %.80s: given twice", names[i]);
    return POSREF_OK;
}

static enum posref_status read_alignment(struct reading *r)
{
    int64_t alignment = 32;
    if (posref_gguf_find(&r->gguf, "general.alignment") &&
        (!posref_gguf_integer(&alignment, &r->gguf, "general.alignment", 0) || alignment < 8 ||
         alignment > (1 << 20) || (alignment & (alignment - 1)) != 0))
        return bad(r, "general.alignment is no power of two from 8 to 1048576");
    r->gguf.alignment = (uint64_t)alignment;
    return POSREF_OK;
}

static enum posref_status read_tensors(struct reading *r, uint64_t count)
{
    if (count > (r->at.size_bytes - r->at.at) / MIN_TENSOR_BYTES)
        return bad(r, "%llu tensors in a file of %llu bytes", (unsigned long long)count,
                   (unsigned long long)r->at.size_bytes);
    r->gguf.item = take(r, count, sizeof *r->gguf.item);
    if (!r->gguf.item)
        return posref_fail(r->err, POSREF_NO_MEMORY, posref_path_tail(r->label), "no memory");
    for (uint64_t i = 0; i < count; i++) {
        enum posref_status status = read_tensor(r, &r->gguf.item[r->gguf.n++]);
        if (status != POSREF_OK)
            return status;
    }
    enum posref_status status = read_alignment(r);
    if (status == POSREF_OK)
        status = check_names(r);
    if (status != POSREF_OK)
        return status;
    uint64_t padding = (r->gguf.alignment - r->at.at % r->gguf.alignment) % r->gguf.alignment;
    if (!gguf_skip(&r->at, padding)) {
        if (count > 0)
            return bad(r, "ends before the tensors' data");
        r->at.at = r->at.size_bytes;
    }
    r->gguf.data_offset = r->at.at;
    return place_tensors(r);
}

static enum posref_status read_header(struct reading *r)
{
    uint64_t n_tensors, n_pairs;
    if (r->at.size_bytes < 4 || memcmp(r->at.data, "GGUF", 4) != 0)
        return bad(r, "no GGUF file");
    r->at.at = 4;
    if (!gguf_u32(&r->gguf.version, &r->at))
        return bad(r, "ends in its header");
    if (r->gguf.version == UINT32_C(0x02000000) || r->gguf.version == UINT32_C(0x03000000))
        return bad(r, "a big-endian GGUF file; only little-endian ones are read");
    if (r->gguf.version != 2 && r->gguf.version != 3)
        return bad(r, "GGUF version %u; only 2 and 3 are read", r->gguf.version);
    if (!gguf_u64(&n_tensors, &r->at) || !gguf_u64(&n_pairs, &r->at))
        return bad(r, "ends in its header");
    enum posref_status status = read_pairs(r, n_pairs);
    return status == POSREF_OK ? read_tensors(r, n_tensors) : status;
}

static enum posref_status parse(struct posref_gguf *out, struct posref_mapping mapping,
                                const char *label, struct posref_error *err)
{
    struct reading r = {.label = label, .err = err, .gguf = {.mapping = mapping},
                        .at = {mapping.data, mapping.size_bytes, 0}};
    enum posref_status status;
    r.gguf.heap = posref_heap_new(0);
    if (r.gguf.heap)
        status = read_header(&r);
    else
        status = posref_fail(err, POSREF_NO_MEMORY, posref_path_tail(label), "no memory");
    if (status != POSREF_OK) {
        posref_gguf_close(&r.gguf);
        return status;
    }
    *out = r.gguf;
    return POSREF_OK;
}

enum posref_status posref_gguf_open(struct posref_gguf *out, const char *path,
                                    struct posref_error *err)
{
    struct posref_mapping mapping;
    enum posref_status status = posref_mapping_open(&mapping, path, err);
    return status == POSREF_OK ? parse(out, mapping, path, err) : status;
}

enum posref_status posref_gguf_parse(struct posref_gguf *out, const void *data, uint64_t size_bytes,
                                     const char *label, struct posref_error *err)
{
    struct posref_mapping memory = {.data = data, .size_bytes = size_bytes};
    return parse(out, memory, label, err);
}

void posref_gguf_close(struct posref_gguf *gguf)
{
    posref_heap_free(gguf->heap);
    posref_mapping_close(&gguf->mapping);
    *gguf = (struct posref_gguf){0};
}
