/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of this room, and how a command reports a failure. */
#include "vectors/commands.h"
#include "vectors/stored.h"

#include <errno.h>
#include <string.h>

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

bool posref_wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

int posref_write_out(const char *command, const struct posref_buffer *out)
{
    if (fwrite(out->data, 1, out->length, stdout) == out->length && fflush(stdout) == 0)
        return POSREF_EXIT_OK;
    struct posref_error err = {{0}, {0}};
    enum posref_status status = posref_fail(&err, POSREF_IO, "stdout", "%s",
                                            posref_errno_text(errno));
    return posref_report_error(command, status, &err);
}

int posref_cmd_version(int argc, char **argv)
{
    struct posref_error err;
    if (posref_wants_help(argc, argv))
        puts("usage: posref version\n\nPrints the program's version.\n\n"
             "Example:\n  posref version");
    else if (argc > 1)
        return posref_report_error(
            "version", posref_fail(&err, POSREF_BAD_INPUT, argv[1], "version takes nothing"), &err);
    else
        puts("posref " POSREF_VERSION);
    return POSREF_EXIT_OK;
}

const struct posref_command posref_vectors_commands[] = {
    {"eval", "evaluate one encoding; JSON on stdout", posref_cmd_eval},
    {"diff", "two specs: the first position and pair where they part", posref_cmd_diff},
    {"models", "presets of released models", posref_cmd_models},
    {"resolve", "a config.json or a GGUF header to the specs it implies", posref_cmd_resolve},
    {"generate", "write the golden database", posref_cmd_generate},
    {"verify", "check a database against the published digests", posref_cmd_verify},
    {"suites", "suites, versions, counts, digests", posref_cmd_suites},
    {"list", "vectors that match KEY=VALUE..., one id a line", posref_cmd_list},
    {"show", "one vector, by its id", posref_cmd_show},
    {"version", "the program's version", posref_cmd_version},
    {NULL, NULL, NULL},
};
