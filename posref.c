/* SPDX-License-Identifier: Apache-2.0 */
/* main(): dispatches `posref <command>`; nothing else but what holds for every command line. */
#include "harness/harness.h"
#include "server/server.h"
#include "vectors/vectors.h"

#include <stdio.h>
#include <string.h>

static const struct posref_command *const room_commands[] = {
    posref_vectors_commands,
    posref_harness_commands,
    posref_server_commands,
};

static void print_usage(FILE *to)
{
    fputs("usage: posref COMMAND [ARGUMENT]...\n\n", to);
    for (size_t room = 0; room < sizeof room_commands / sizeof *room_commands; room++)
        for (const struct posref_command *c = room_commands[room]; c->name; c++)
            fprintf(to, "  %-10s %s\n", c->name, c->summary);
    fputs("\nposref COMMAND --help says more. Exit codes: 0 done, conforms; 1 does not conform;\n"
          "2 usage or bad input; 3 posref itself failed.\n", to);
}

/* What is still buffered may fail to arrive: then nothing was said, whatever the command found. */
static int finish(int exit_code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return exit_code;
    if (exit_code != POSREF_EXIT_BROKEN) /* else the command has said so */
        fputs("posref: stdout: not everything could be written\n", stderr);
    return POSREF_EXIT_BROKEN;
}

static int no_such_command(const char *name)
{
    struct posref_error err;
    (void)posref_fail(&err, POSREF_BAD_INPUT, name, "no such command; posref --help lists them");
    fprintf(stderr, "posref: %s: %s\n", err.key, err.text);
    return POSREF_EXIT_USAGE;
}

/* An empty word, as an unset variable in quotes leaves it, names nothing that an error could name.
 * One behind an option is that option's value, and the command's to judge. */
static bool has_empty_word(int argc, char **argv)
{
    for (int k = 2; k < argc; k++)
        if (!*argv[k] && strncmp(argv[k - 1], "--", 2) != 0)
            return true;
    return false;
}

static int run(const struct posref_command *command, int argc, char **argv)
{
    if (!has_empty_word(argc, argv))
        return finish(command->run(argc - 1, argv + 1));
    fprintf(stderr, "posref %s: '': an argument is empty\n", command->name);
    return POSREF_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return POSREF_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return finish(POSREF_EXIT_OK);
    }
    if (strcmp(argv[1], POSREF_WORKER_ARGUMENT) == 0) /* posref test starts itself so */
        return posref_worker_main(argc - 1, argv + 1);
    for (size_t room = 0; room < sizeof room_commands / sizeof *room_commands; room++)
        for (const struct posref_command *c = room_commands[room]; c->name; c++)
            if (strcmp(argv[1], c->name) == 0)
                return run(c, argc, argv);
    return no_such_command(argv[1]);
}
