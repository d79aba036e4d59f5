/* SPDX-License-Identifier: Apache-2.0 */
/* A heap arena: chunks by malloc, handed out from the front, freed together. */
#include "vectors/vectors.h"

#include <stdlib.h>

#define FIRST_CHUNK_BYTES ((size_t)1 << 16)
#define DEFAULT_MAX_BYTES ((size_t)1 << 30)

struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char data[];
};

/* The newest chunk comes first; `first` stays across resets, so that an arena which is reset
 * between small pieces of work allocates nothing any more. */
struct posref_heap {
    struct chunk *newest, *first;
    size_t total_bytes, max_bytes;
};

static bool add_chunk(struct posref_heap *heap, size_t need_bytes)
{
    size_t size = heap->newest ? heap->newest->size : FIRST_CHUNK_BYTES / 2;
    size = size < heap->max_bytes / 2 ? size * 2 : size;
    if (size < need_bytes)
        size = need_bytes;
    if (size > heap->max_bytes - heap->total_bytes)
        size = need_bytes;
    if (size > heap->max_bytes - heap->total_bytes || size > SIZE_MAX - sizeof(struct chunk))
        return false;
    struct chunk *chunk = malloc(sizeof *chunk + size);
    if (!chunk)
        return false;
    *chunk = (struct chunk){.next = heap->newest, .size = size};
    heap->newest = chunk;
    heap->total_bytes += size;
    return true;
}

struct posref_heap *posref_heap_new(size_t max_bytes)
{
    struct posref_heap *heap = calloc(1, sizeof *heap);
    if (!heap)
        return NULL;
    heap->max_bytes = max_bytes ? max_bytes : DEFAULT_MAX_BYTES;
    if (!add_chunk(heap, 1)) {
        free(heap);
        return NULL;
    }
    heap->first = heap->newest;
    return heap;
}

void posref_heap_reset(struct posref_heap *heap)
{
    while (heap->newest != heap->first) {
        struct chunk *dead = heap->newest;
        heap->newest = dead->next;
        heap->total_bytes -= dead->size;
        free(dead);
    }
    heap->first->used = 0;
}

void posref_heap_free(struct posref_heap *heap)
{
    if (!heap)
        return;
    posref_heap_reset(heap);
    free(heap->first);
    free(heap);
}

static void *heap_alloc(void *ctx, size_t size_bytes)
{
    struct posref_heap *heap = ctx;
    const size_t align = _Alignof(max_align_t);
    if (size_bytes > SIZE_MAX - align)
        return NULL;
    size_bytes = size_bytes ? (size_bytes + align - 1) / align * align : align;
    if (size_bytes > heap->newest->size - heap->newest->used && !add_chunk(heap, size_bytes))
        return NULL;
    void *data = heap->newest->data + heap->newest->used;
    heap->newest->used += size_bytes;
    return data;
}

struct posref_arena posref_heap_arena(struct posref_heap *heap)
{
    return (struct posref_arena){.alloc = heap_alloc, .ctx = heap};
}
