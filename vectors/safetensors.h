/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors, the one tensor format of the product: 8 bytes of header length (little endian), a
 * JSON header {NAME: {"dtype", "shape", "data_offsets"}, "__metadata__": {TEXT: TEXT}}, then the
 * data. Reading is strict: every byte of the data belongs to exactly one tensor. */
#ifndef POSREF_VECTORS_SAFETENSORS_H
#define POSREF_VECTORS_SAFETENSORS_H

#include "vectors/stored.h"
#include "vectors/vectors.h"

struct posref_safetensors {
    struct posref_mapping mapping;
    struct posref_stored *item; /* in the order of their data */
    size_t n;
    uint64_t header_bytes;      /* with the 8 bytes of length: where the data begin */
    void *json;                 /* owns the names and the metadata */
};

/* Maps a file and reads its header; data pointers go into the mapping. Not one byte of the tensors
 * is read. Errors (POSREF_BAD_INPUT) carry the file's tail as key, and tensor and byte in the text;
 * *out is then untouched. */
POSREF_MUST_USE enum posref_status posref_safetensors_open(struct posref_safetensors *out,
                                                           const char *path,
                                                           struct posref_error *err);
/* The same for a document in memory, which must outlive *out; `label` stands for the path. */
POSREF_MUST_USE enum posref_status posref_safetensors_parse(struct posref_safetensors *out,
                                                            const void *data, uint64_t size_bytes,
                                                            const char *label,
                                                            struct posref_error *err);
void posref_safetensors_close(struct posref_safetensors *st); /* {0} is fine */

const struct posref_stored *posref_safetensors_find(const struct posref_safetensors *st,
                                                    const char *name); /* or NULL */
/* A value of "__metadata__", or NULL. Borrowed. */
const char *posref_safetensors_metadata(const struct posref_safetensors *st, const char *key);

/* All tensors of a document as a set (at most POSREF_MAX_TENSORS, names under 32 bytes), in their
 * own dtypes or as doubles. */
POSREF_MUST_USE enum posref_status
posref_safetensors_load(struct posref_tensors *out, const struct posref_safetensors *st,
                        bool as_f64, const struct posref_arena *arena, struct posref_error *err);

/* The value of KEY=@FILE[:TENSOR]; reference is FILE[:TENSOR] (without the @). Without :TENSOR it
 * is the tensor called `key`, else the only one. out->name is key; doubles. A colon belongs to the
 * path when a file of the whole name exists. */
POSREF_MUST_USE enum posref_status
posref_safetensors_read_input(struct posref_tensor *out, const char *key, const char *reference,
                              const struct posref_arena *arena, struct posref_error *err);

/* Appends a document. metadata: key, value, key, value, ..., NULL; or NULL for none. Tensors are
 * laid out by falling alignment, then by name, so that each is aligned and equal sets give equal
 * bytes; the data begin at a multiple of 8. Fails (buffer->failed) beyond the buffer's maximum. */
void posref_safetensors_add(struct posref_buffer *buffer, const struct posref_tensors *set,
                            const char *const *metadata);

/* Writes a document to a file: a temporary beside it, then a rename. */
POSREF_MUST_USE enum posref_status
posref_safetensors_save(const char *path, const struct posref_tensors *set,
                        const char *const *metadata, struct posref_error *err);

#endif
