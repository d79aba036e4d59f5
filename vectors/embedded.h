/* SPDX-License-Identifier: Apache-2.0 */
/* Text files built into the program: the suites' declarations and the SQL schema. */
#ifndef POSREF_EMBEDDED_H
#define POSREF_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>

/* The text of the file with that base name, or NULL. */
const char *posref_embedded_find(const char *name);
/* The i-th file's base name and text; false: there are not so many. */
bool posref_embedded_at(size_t i, const char **name, const char **text);

#endif
