/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of vectors/, one a cmd_NAME.c. Private to the room. */
#ifndef POSREF_VECTORS_COMMANDS_H
#define POSREF_VECTORS_COMMANDS_H

#include "vectors/vectors.h"

/* --help or -h among the arguments. */
bool posref_wants_help(int argc, char **argv);
/* Writes the buffer to stdout and flushes; a failed write is reported (exit code 3). */
int posref_write_out(const char *command, const struct posref_buffer *out);

int posref_cmd_eval(int argc, char **argv);
int posref_cmd_version(int argc, char **argv);

#endif
