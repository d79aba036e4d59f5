/* SPDX-License-Identifier: Apache-2.0 */
/* A validator of the part of JSON Schema that schema/ uses; an unknown keyword is a failure, so
 * that no constraint goes unchecked. For tests. */
#ifndef POSREF_TEST_JSON_SCHEMA_H
#define POSREF_TEST_JSON_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether the value fits the schema of a file, or of a part of it, FILE#/$defs/NAME; otherwise why
 * says what does not (truncated to size). $ref may name a part of the same file or of another one
 * beside it. */
bool json_schema_valid(const char *schema_path, const json_t *value, char *why, size_t size);
/* The same for many values: files, a JSON object of the caller's, keeps the files that are read. */
bool json_schema_valid_by(json_t *files, const char *schema_path, const json_t *value, char *why,
                          size_t size);

/* What "#/a/b" leads to from a schema's root ("": the root itself); NULL: nothing. Borrowed. */
const json_t *json_schema_at(const json_t *root, const char *pointer);

#endif
