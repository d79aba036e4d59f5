/* SPDX-License-Identifier: Apache-2.0 */
/* The second front door of vectors/: tensor files. safetensors in and out, GGUF, npy, whole
 * checkpoints, and the decoding of their elements. */
#ifndef POSREF_VECTORS_FILES_H
#define POSREF_VECTORS_FILES_H

#include "vectors/checkpoint.h"
#include "vectors/decode.h"
#include "vectors/safetensors.h"

/* Makes the directories that a file's path names, those that are missing. The path is cut up
 * meanwhile. */
POSREF_MUST_USE enum posref_status posref_directories_make(char *path, struct posref_error *err);
/* Writes the file whole or not at all: a temporary file beside it, synced, then renamed. */
POSREF_MUST_USE enum posref_status posref_file_replace(const char *path, const void *data,
                                                       size_t size_bytes,
                                                       struct posref_error *err);

#endif
