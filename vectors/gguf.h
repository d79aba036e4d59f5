/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF files, versions 2 and 3, little endian: metadata and the table of tensors. */
#ifndef POSREF_VECTORS_GGUF_H
#define POSREF_VECTORS_GGUF_H

#include "vectors/stored.h"
#include "vectors/vectors.h"

struct posref_gguf_pair {
    const char *key;
    uint32_t type;         /* GGUF's number; of the elements when is_array */
    bool is_array;
    uint64_t count;        /* elements; 1 for a scalar */
    const unsigned char *value;
};

struct posref_gguf {
    struct posref_mapping mapping;
    uint32_t version;
    uint64_t alignment, data_offset;
    struct posref_gguf_pair *pair;
    size_t n_pairs;
    struct posref_stored *item; /* in the order of their data; shapes outermost first */
    size_t n;
    struct posref_heap *heap;   /* owns everything but the mapping */
};

/* Maps a file and reads its header; not one byte of the tensors is read. Errors
 * (POSREF_BAD_INPUT) carry the file's tail as key, and the tensor or key and the byte in the text;
 * *out is then untouched. Big-endian files and version 1 are named and refused. */
POSREF_MUST_USE enum posref_status posref_gguf_open(struct posref_gguf *out, const char *path,
                                                    struct posref_error *err);
/* The same for a document in memory, which must outlive *out; `label` stands for the path. */
POSREF_MUST_USE enum posref_status posref_gguf_parse(struct posref_gguf *out, const void *data,
                                                     uint64_t size_bytes, const char *label,
                                                     struct posref_error *err);
void posref_gguf_close(struct posref_gguf *gguf); /* {0} is fine */

const struct posref_gguf_pair *posref_gguf_find(const struct posref_gguf *gguf, const char *key);
/* The text of a string, borrowed and with *length bytes (no NUL at its end), or NULL. */
const char *posref_gguf_string(const struct posref_gguf *gguf, const char *key, size_t *length);
/* An integer or boolean: of an array its element `index`, of a scalar its value whatever the
 * index. False when there is none, or when it does not fit. */
bool posref_gguf_integer(int64_t *out, const struct posref_gguf *gguf, const char *key,
                         uint64_t index);

#endif
