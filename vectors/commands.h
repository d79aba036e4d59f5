/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of vectors/, one a cmd_NAME.c. Private to the room. */
#ifndef POSREF_VECTORS_COMMANDS_H
#define POSREF_VECTORS_COMMANDS_H

#include "vectors/vectors.h"

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
