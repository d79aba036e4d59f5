/* SPDX-License-Identifier: Apache-2.0 */
/* A file that appears whole or not at all. Private to vectors/. */
#ifndef POSREF_ATOMIC_FILE_H
#define POSREF_ATOMIC_FILE_H

#include "vectors/vectors.h"

struct posref_atomic_file {
    const char *path; /* borrowed */
    char *temporary;  /* beside it: ".NAME.XXXXXX" */
    int fd;           /* holds a lock that says its writer is alive */
};

/* Creates an empty temporary file beside `path`, and removes those that killed writers left. */
POSREF_MUST_USE enum posref_status posref_atomic_begin(struct posref_atomic_file *out,
                                                       const char *path, struct posref_error *err);
/* Syncs the temporary, renames it to the path, syncs the directory. The file ends in any case. */
POSREF_MUST_USE enum posref_status posref_atomic_commit(struct posref_atomic_file *file,
                                                        struct posref_error *err);
/* Removes the temporary. */
void posref_atomic_abandon(struct posref_atomic_file *file);

#endif
