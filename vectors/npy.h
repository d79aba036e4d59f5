/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files: one array, in C order and little endian. */
#ifndef POSREF_VECTORS_NPY_H
#define POSREF_VECTORS_NPY_H

#include "vectors/stored.h"

struct posref_npy {
    struct posref_mapping mapping;
    struct posref_stored item; /* item.name is the file's name without .npy */
    char *name;
};

/* Errors (POSREF_BAD_INPUT) carry the file's tail as key; Fortran order, big endian, objects and
 * structured types are named and refused. *out is then untouched. */
POSREF_MUST_USE enum posref_status posref_npy_open(struct posref_npy *out, const char *path,
                                                   struct posref_error *err);
POSREF_MUST_USE enum posref_status posref_npy_parse(struct posref_npy *out, const void *data,
                                                    uint64_t size_bytes, const char *label,
                                                    struct posref_error *err);
void posref_npy_close(struct posref_npy *npy); /* {0} is fine */

#endif
