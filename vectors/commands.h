/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of vectors/, one a cmd_NAME.c. Private to the room. */
#ifndef POSREF_VECTORS_COMMANDS_H
#define POSREF_VECTORS_COMMANDS_H

#include "vectors/vectors.h"

/* --help or -h among the arguments. */
bool posref_wants_help(int argc, char **argv);
/* Writes the buffer to stdout and flushes; a failed write is reported (exit code 3). */
int posref_write_out(const char *command, const struct posref_buffer *out);


/* An option of a command: NAME VALUE or NAME=VALUE into *value, or, when it takes none, *seen. */
struct posref_option {
    const char *name; /* "--db"; NULL ends a list */
    const char **value;
    bool *seen;
};
/* Takes the options out of argv; what is left (argv[0] first) is counted by *argc. An unknown
 * option, one given twice, and one without its value fail. */
POSREF_MUST_USE enum posref_status posref_options_read(const struct posref_option *options,
                                                       int *argc, char **argv,
                                                       struct posref_error *err);
/* "text" or "json". */
POSREF_MUST_USE enum posref_status posref_format_json(bool *json, const char *format,
                                                      struct posref_error *err);
/* The arguments KEY=VALUE that are left as conditions of a filter. They are cut up. */
POSREF_MUST_USE enum posref_status posref_filter_arguments(struct posref_filter *filter, int argc,
                                                           char **argv, struct posref_error *err);

int posref_cmd_eval(int argc, char **argv);
int posref_cmd_diff(int argc, char **argv);
int posref_cmd_models(int argc, char **argv);
int posref_cmd_resolve(int argc, char **argv);
int posref_cmd_generate(int argc, char **argv);
int posref_cmd_verify(int argc, char **argv);
int posref_cmd_suites(int argc, char **argv);
int posref_cmd_list(int argc, char **argv);
int posref_cmd_show(int argc, char **argv);
int posref_cmd_version(int argc, char **argv);

#endif
