/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF's element types by number. Internal to vectors/gguf*. */
#ifndef POSREF_VECTORS_GGUF_TYPES_H
#define POSREF_VECTORS_GGUF_TYPES_H

#include "vectors/stored.h"

struct gguf_type {
    uint32_t number;
    enum posref_stored_type type;
    const char *name;
    int block_elements, block_bytes;
};

const struct gguf_type *gguf_type_find(uint32_t number); /* NULL: unknown */

#endif
