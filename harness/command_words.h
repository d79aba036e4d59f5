/* SPDX-License-Identifier: Apache-2.0 */
/* What several commands of harness/ read from their arguments in the same way. Failures are
 * POSREF_BAD_INPUT and name the option or the word. Private to the room. */
#ifndef POSREF_HARNESS_COMMAND_WORDS_H
#define POSREF_HARNESS_COMMAND_WORDS_H

#include "test_run.h"

#define POSREF_WORD_KEY_SIZE 64

/* One failure with a plain text. */
POSREF_MUST_USE enum posref_status posref_bad_word(struct posref_error *err, const char *key,
                                                   const char *text);

/* "--name=value" or "--name", "value": the name in `key`; *value points at the value, and *i is
 * moved past a value of its own. */
POSREF_MUST_USE enum posref_status posref_word_option(char key[POSREF_WORD_KEY_SIZE],
                                                      const char **value, int *i, int argc,
                                                      char **argv, struct posref_error *err);
/* KEY=VALUE: the key in `key`, *value points behind the equals sign. */
POSREF_MUST_USE enum posref_status posref_word_pair(char key[POSREF_WORD_KEY_SIZE],
                                                    const char **value, const char *text,
                                                    struct posref_error *err);

/* --dtype f32,bf16: sets the named ones, clears the others. */
POSREF_MUST_USE enum posref_status posref_word_dtypes(bool dtype[POSREF_N_FLOATS],
                                                      const char *text, struct posref_error *err);
/* Seconds of a limit, more than 0 and at most a day. */
POSREF_MUST_USE enum posref_status posref_word_seconds(double *out, const char *key,
                                                       const char *text, struct posref_error *err);
/* --config KEY=VALUE, after the others in `config`, with a space between. */
POSREF_MUST_USE enum posref_status posref_word_config(struct posref_buffer *config,
                                                      const char *text, struct posref_error *err);
/* --min-grade as the gate of a dtype; NULL is the dtype's default. Exact is not told from float32
 * where the output itself has no more digits. */
POSREF_MUST_USE enum posref_status posref_word_gate(enum posref_grade *gate,
                                                    enum posref_dtype dtype, const char *text,
                                                    struct posref_error *err);

/* What a plugin's process may hold unless --memory says otherwise: half of the machine's. */
uint64_t posref_default_memory(void);

#endif
