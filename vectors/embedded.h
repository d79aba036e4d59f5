/* SPDX-License-Identifier: Apache-2.0 */
/* Text files built into the program: the suites' declarations and the SQL schema. */
#ifndef POSREF_EMBEDDED_H
#define POSREF_EMBEDDED_H

/* The text of the file with that base name, or NULL. */
const char *posref_embedded_find(const char *name);

#endif
