/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as files hold them: element types (quantised blocks too), a view of one tensor in a
 * mapped file, and its conversion to numbers. Shared by the readers of safetensors, GGUF, npy. */
#ifndef POSREF_VECTORS_STORED_H
#define POSREF_VECTORS_STORED_H

#include "reference/reference.h"

enum posref_stored_type {
    POSREF_STORED_BOOL, POSREF_STORED_U8, POSREF_STORED_I8, POSREF_STORED_U16, POSREF_STORED_I16,
    POSREF_STORED_U32, POSREF_STORED_I32, POSREF_STORED_U64, POSREF_STORED_I64,
    POSREF_STORED_F16, POSREF_STORED_BF16, POSREF_STORED_F32, POSREF_STORED_F64, POSREF_STORED_C64,
    POSREF_STORED_F8_E4M3, POSREF_STORED_F8_E5M2, POSREF_STORED_F8_E8M0,
    POSREF_STORED_F4, POSREF_STORED_F6_E2M3, POSREF_STORED_F6_E3M2,
    POSREF_STORED_Q4_0, POSREF_STORED_Q4_1, POSREF_STORED_Q5_0, POSREF_STORED_Q5_1,
    POSREF_STORED_Q8_0, POSREF_STORED_Q2_K, POSREF_STORED_Q3_K, POSREF_STORED_Q4_K,
    POSREF_STORED_Q5_K, POSREF_STORED_Q6_K, POSREF_STORED_Q8_K,
    POSREF_STORED_OTHER_BLOCKS, /* a GGUF type whose size is known but not its decoding */
    POSREF_N_STORED_TYPES
};

/* Elements come in blocks along the innermost dimension: block_elements of them in block_bytes.
 * align is the element's natural alignment in bytes. */
struct posref_stored_def {
    const char *name; /* "F32", "BF16", "Q4_K": as the file format spells it */
    int block_elements, block_bytes, align;
};
const struct posref_stored_def *posref_stored_def(enum posref_stored_type type);

/* One tensor of an open file. Everything is borrowed from the file's handle and lives as long. */
struct posref_stored {
    const char *name;
    enum posref_stored_type type;
    const char *type_name;           /* the def's name, or GGUF's own for OTHER_BLOCKS */
    int block_elements, block_bytes;
    int rank;
    int64_t shape[POSREF_MAX_RANK];  /* row major, outermost first */
    const unsigned char *data;
    uint64_t size_bytes;
    uint64_t offset;                 /* of data in its file, bytes */
    int file;                        /* which file of a sharded checkpoint, from 0 */
};

/* Product of the shape (1 for rank 0) in elements and bytes; false when either overflows int64 or
 * the innermost dimension is not a whole number of blocks. The outputs are then untouched. */
POSREF_MUST_USE bool posref_stored_size(uint64_t *n_elements, uint64_t *size_bytes,
                                        const int64_t *shape, int rank, int block_elements,
                                        int block_bytes);

/* The dtype of reference/ with the same bits, or -1. */
int posref_stored_dtype(enum posref_stored_type type);
/* The other way round, as safetensors spell it: "F32", "F8_E4M3". */
const char *posref_stored_name(enum posref_dtype dtype);

/* Copies the tensor into the arena under `name`: in its own dtype, or, when as_f64, as doubles.
 * Refuses types without a dtype (as_f64: integers of 8 and 16 bits and BOOL are fine too), integers
 * that no double holds, and more than 2^24 elements. *out is untouched on failure; err->key is
 * the tensor's name. */
POSREF_MUST_USE enum posref_status
posref_stored_load(struct posref_tensor *out, const struct posref_stored *in, const char *name,
                   bool as_f64, const struct posref_arena *arena, struct posref_error *err);

/* ---- mapped files ---- */

/* A file mapped for reading, or memory that someone else owns (fd < 0). */
struct posref_mapping {
    const unsigned char *data;
    uint64_t size_bytes;
    bool mapped;
};
/* Errors: POSREF_BAD_INPUT when it cannot be opened or is no regular file; err->key is the path's
 * tail. An empty file gives size 0 and a non-NULL pointer. */
POSREF_MUST_USE enum posref_status posref_mapping_open(struct posref_mapping *out,
                                                       const char *path, struct posref_error *err);
void posref_mapping_close(struct posref_mapping *mapping); /* {0} is fine */

/* The last 63 bytes of a path, on a UTF-8 boundary: what fits into posref_error.key. */
const char *posref_path_tail(const char *path);
/* strerror without hidden state. */
const char *posref_errno_text(int number);

#endif
