/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: any bytes as a GGUF file. What parses must be readable to the last byte and decode;
 * the geometry is read from whatever metadata came. */
#include "harness/weights.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static double decode(const struct posref_stored *item)
{
    float block[256];
    double total = 0;
    uint64_t n_blocks = item->size_bytes / (uint64_t)item->block_bytes;
    for (uint64_t b = 0; b < n_blocks; b++) {
        posref_decode(block, item->type, item->data + b * (uint64_t)item->block_bytes,
                      item->block_elements);
        total += (double)block[item->block_elements - 1];
    }
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct posref_gguf gguf;
    struct posref_error err;
    struct posref_weights_geometry geometry;
    struct posref_weights_name name;
    static volatile double sink;
    if (posref_gguf_parse(&gguf, data, size, "fuzz", &err) != POSREF_OK)
        return 0;
    posref_weights_read_gguf(&geometry, &gguf);
    sink += geometry.head_dim;
    for (size_t i = 0; i < gguf.n; i++) {
        const struct posref_stored *item = &gguf.item[i];
        posref_weights_parse_name(&name, item->name);
        sink += name.layer;
        if (posref_decode_knows(item->type))
            sink += decode(item);
        else
            for (uint64_t b = 0; b < item->size_bytes; b++)
                sink += item->data[b];
    }
    for (size_t i = 0; i < gguf.n_pairs; i++) {
        int64_t number;
        size_t length;
        const char *text = posref_gguf_string(&gguf, gguf.pair[i].key, &length);
        for (size_t b = 0; text && b < length; b++)
            sink += text[b];
        sink += posref_gguf_integer(&number, &gguf, gguf.pair[i].key, 0);
        sink += posref_gguf_integer(&number, &gguf, gguf.pair[i].key, gguf.pair[i].count - 1);
    }
    posref_gguf_close(&gguf);
    return 0;
}
