/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint, whatever its files: safetensors (one file, or shards with an index), GGUF (one
 * file, or a split), or one npy array. All tensors in one list. */
#ifndef POSREF_VECTORS_CHECKPOINT_H
#define POSREF_VECTORS_CHECKPOINT_H

#include "vectors/gguf.h"
#include "vectors/npy.h"
#include "vectors/safetensors.h"

enum posref_format { POSREF_FORMAT_SAFETENSORS, POSREF_FORMAT_GGUF, POSREF_FORMAT_NPY };

struct posref_checkpoint_file {
    char *path;
    struct posref_mapping bytes; /* borrowed from the handle below */
    struct posref_safetensors safetensors;
    struct posref_gguf gguf;
    struct posref_npy npy;
};

struct posref_checkpoint {
    enum posref_format format;
    char *directory;                     /* of its files: where a config.json lies */
    char *index_path;                    /* of a sharded checkpoint's index, or NULL */
    struct posref_checkpoint_file *file;
    size_t n_files;
    struct posref_stored *item;          /* item[i].file says in which file */
    size_t n;
};

/* Opens a file, an index (*.index.json), any file of a split GGUF, or a directory that holds one
 * checkpoint. The format is told by the first bytes. Errors carry the tail of the file at fault;
 * shards that are missing, that lack a tensor of the index, or that hold one twice are errors.
 * *out is untouched on failure. */
POSREF_MUST_USE enum posref_status posref_checkpoint_open(struct posref_checkpoint *out,
                                                          const char *path,
                                                          struct posref_error *err);
void posref_checkpoint_close(struct posref_checkpoint *checkpoint); /* {0} is fine */

/* The tensor of that name, or NULL. */
const struct posref_stored *posref_checkpoint_find(const struct posref_checkpoint *checkpoint,
                                                   const char *name);

#endif
