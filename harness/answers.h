/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts and answers as files, for devices that cannot load a plugin: DIR/ID.DTYPE.safetensors,
 * the id's slashes being directories. Private to harness/. */
#ifndef POSREF_ANSWERS_H
#define POSREF_ANSWERS_H

#include "runner.h"
#include "vectors/vectors.h"

/* Appends the path, with a NUL. */
void posref_answers_path(struct posref_buffer *out, const char *dir, const char *id,
                         enum posref_dtype dtype);
/* Writes the trial's inputs as a prompt, with id, op, spec, dtype and the outputs that are asked
 * for as metadata; makes the directories. */
POSREF_MUST_USE enum posref_status posref_answers_prompt(const char *dir, const char *id,
                                                         enum posref_dtype dtype,
                                                         const struct posref_trial *trial,
                                                         struct posref_error *err);
/* Fills the trial from the answer: PASS where every output came back and none is NaN, NAN, ERROR
 * where the file is none or holds something else, UNSUPPORTED where there is no file. */
void posref_answers_read(struct posref_trial *trial, const char *dir, const char *id,
                         enum posref_dtype dtype);

#endif
