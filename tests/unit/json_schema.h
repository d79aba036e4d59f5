/* SPDX-License-Identifier: Apache-2.0 */
/* A validator of the part of JSON Schema that schema/ uses; an unknown keyword is a failure, so
 * that no constraint goes unchecked. For tests. */
#ifndef POSREF_TEST_JSON_SCHEMA_H
#define POSREF_TEST_JSON_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether the value fits the schema file; otherwise why says where and what (truncated to size).
 * $ref may name a definition of the same file or another file beside it. */
bool json_schema_valid(const char *schema_path, const json_t *value, char *why, size_t size);

#endif
