/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of this room, and how a command reports a failure. */
#include "vectors/commands.h"

int posref_report_error(const char *command, enum posref_status status,
                        const struct posref_error *err)
{
    if (err->key[0])
        fprintf(stderr, "posref %s: %s: %s\n", command, err->key, err->text);
    else
        fprintf(stderr, "posref %s: %s\n", command, err->text);
    return status == POSREF_OK          ? POSREF_EXIT_OK
           : status == POSREF_BAD_INPUT ? POSREF_EXIT_USAGE
                                        : POSREF_EXIT_BROKEN;
}

int posref_cmd_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    puts("posref " POSREF_VERSION);
    return POSREF_EXIT_OK;
}

const struct posref_command posref_vectors_commands[] = {
    {"version", "the program's version", posref_cmd_version},
    {NULL, NULL, NULL},
};
