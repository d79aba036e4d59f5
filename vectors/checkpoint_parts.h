/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of vectors/checkpoint*.c share. */
#ifndef POSREF_VECTORS_CHECKPOINT_PARTS_H
#define POSREF_VECTORS_CHECKPOINT_PARTS_H

#include "vectors/checkpoint.h"

/* Opens one more file of the checkpoint; its tensors are appended. Takes no ownership of path. */
POSREF_MUST_USE enum posref_status checkpoint_add_file(struct posref_checkpoint *checkpoint,
                                                       const char *path, struct posref_error *err);
/* Opens the shards that an index names, and checks that each tensor is where it says. */
POSREF_MUST_USE enum posref_status checkpoint_add_index(struct posref_checkpoint *checkpoint,
                                                        const char *path,
                                                        struct posref_error *err);
/* file[0] is one part of a split GGUF: opens all parts, in order. */
POSREF_MUST_USE enum posref_status checkpoint_add_split(struct posref_checkpoint *checkpoint,
                                                        struct posref_error *err);
/* directory/name on the heap, or NULL. */
char *checkpoint_join(const char *directory, const char *name);

#endif
