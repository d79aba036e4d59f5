/* SPDX-License-Identifier: Apache-2.0 */
/* Options and conditions among the arguments of a command. */
#include "vectors/commands.h"

#include <string.h>

#define MAX_OPTIONS 32

/* The option that an argument names, or -1; *value: what follows an equals sign, or NULL. */
static int find_option(const struct posref_option *options, char *argument, const char **value)
{
    for (int i = 0; options[i].name; i++) {
        size_t length = strlen(options[i].name);
        if (strncmp(argument, options[i].name, length) != 0)
            continue;
        *value = argument[length] == '=' ? argument + length + 1 : NULL;
        if (argument[length] == '\0' || *value)
            return i;
    }
    return -1;
}

enum posref_status posref_options_read(const struct posref_option *options, int *argc,
                                       char **argv, struct posref_error *err)
{
    bool given[MAX_OPTIONS] = {false};
    int kept = 1;
    for (int at = 1; at < *argc; at++) {
        const char *value;
        if (argv[at][0] != '-' || argv[at][1] == '\0') {
            argv[kept++] = argv[at];
            continue;
        }
        int i = find_option(options, argv[at], &value);
        if (i < 0)
            return posref_fail(err, POSREF_BAD_INPUT, argv[at], "no such option; see --help");
        if (given[i])
            return posref_fail(err, POSREF_BAD_INPUT, options[i].name, "given twice");
        given[i] = true;
        if (!options[i].value && value)
            return posref_fail(err, POSREF_BAD_INPUT, options[i].name, "takes no value");
        if (!options[i].value) {
            *options[i].seen = true;
            continue;
        }
        if (!value && at + 1 < *argc)
            value = argv[++at];
        if (!value || !*value)
            return posref_fail(err, POSREF_BAD_INPUT, options[i].name, "needs a value");
        *options[i].value = value;
    }
    *argc = kept;
    return POSREF_OK;
}

enum posref_status posref_format_json(bool *json, const char *format, struct posref_error *err)
{
    *json = strcmp(format, "json") == 0;
    if (!*json && strcmp(format, "text") != 0)
        return posref_fail(err, POSREF_BAD_INPUT, "--format", "must be text or json; got '%.40s'",
                           format);
    return POSREF_OK;
}

enum posref_status posref_filter_arguments(struct posref_filter *filter, int argc, char **argv,
                                           struct posref_error *err)
{
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals || equals == argv[i])
            return posref_fail(err, POSREF_BAD_INPUT, argv[i], "not KEY=VALUE");
        *equals = '\0';
        enum posref_status status = posref_filter_add(filter, argv[i], equals + 1, err);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}
