/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: any bytes as a safetensors document. What parses must be readable to the last byte,
 * load as tensors, and say the same when it is written and read again. */
#include "harness/weights.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches every byte of every tensor: ASan sees one beyond the document. */
static uint64_t sum(const struct posref_stored *item, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        struct posref_weights_name name;
        posref_weights_parse_name(&name, item[i].name);
        total += (uint64_t)name.layer;
        for (uint64_t b = 0; b < item[i].size_bytes; b++)
            total += item[i].data[b];
    }
    return total;
}

static void write_again(const struct posref_tensors *set)
{
    struct posref_buffer buffer;
    struct posref_safetensors back;
    struct posref_error err;
    posref_buffer_init(&buffer, 1 << 24);
    posref_safetensors_add(&buffer, set, NULL);
    if (buffer.failed ||
        posref_safetensors_parse(&back, buffer.data, buffer.length, "again", &err) != POSREF_OK ||
        back.n != (size_t)set->n)
        abort();
    posref_safetensors_close(&back);
    posref_buffer_clear(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct posref_safetensors st;
    struct posref_error err;
    struct posref_tensors set;
    static volatile uint64_t sink;
    if (posref_safetensors_parse(&st, data, size, "fuzz", &err) != POSREF_OK)
        return 0;
    sink += sum(st.item, st.n);
    sink += posref_safetensors_metadata(&st, "format") != NULL;
    struct posref_heap *heap = posref_heap_new(1 << 26);
    if (heap) {
        struct posref_arena arena = posref_heap_arena(heap);
        (void)!posref_safetensors_load(&set, &st, true, &arena, &err);
        if (posref_safetensors_load(&set, &st, false, &arena, &err) == POSREF_OK)
            write_again(&set);
    }
    posref_heap_free(heap);
    posref_safetensors_close(&st);
    return 0;
}
