/* SPDX-License-Identifier: Apache-2.0 */
/* Builds specs in tests without the text reader of vectors/: one field at a time. */
#ifndef POSREF_TESTS_SPEC_BUILD_H
#define POSREF_TESTS_SPEC_BUILD_H

#include "reference/reference.h"

/* Marks the field as given and stores the value, whatever the field's type. */
static inline void spec_put(struct posref_spec *spec, enum posref_field field, double value)
{
    const struct posref_field_def *def = posref_field_def(field);
    char *at = (char *)spec + def->offset;
    if (def->type == POSREF_TYPE_REAL)
        *(double *)(void *)at = value;
    else if (def->type == POSREF_TYPE_BOOL)
        *(bool *)(void *)at = value != 0;
    else
        *(int *)(void *)at = (int)value;
    spec->given[field] = true;
}

#endif
