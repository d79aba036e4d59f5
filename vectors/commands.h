/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of vectors/, one a cmd_NAME.c. Private to the room. */
#ifndef POSREF_VECTORS_COMMANDS_H
#define POSREF_VECTORS_COMMANDS_H

#include "vectors/vectors.h"

int posref_cmd_version(int argc, char **argv);

#endif
