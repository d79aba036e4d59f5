/* SPDX-License-Identifier: Apache-2.0 */
/* The command posref identify: a plugin in, the spec that it computes out. */
#include "command_words.h"
#include "commands.h"
#include "identify.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: posref identify PLUGIN [KEY=VALUE]... [OPTION]...\n\n"
    "Measures what an implementation computes and prints it as a spec. The keys are the spec that\n"
    "the plugin is told (default: rope of 128 channels, then sinusoidal and alibi, whichever it\n"
    "takes); none of them is believed. PLUGIN runs in a process of its own (docs/plugin.md).\n\n"
    "  --config KEY=VALUE     handed to the plugin; may be repeated\n"
    "  --format text|json     default text\n"
    "  --timeout S            seconds for a call (default 10)\n"
    "  --start-timeout S      seconds for opening and the first call of each shape (default 60)\n\n"
    "Exit codes: 0 identified; 1 undecided: no spec has this effect; 2 bad input, or the plugin\n"
    "declined every question; 3 posref failed.\n\n"
    "Example:\n  posref identify ./libmykernel.so scheme=rope dim=64\n";

struct arguments {
    const char *plugin;
    struct posref_spec spec;
    struct posref_buffer config;
    struct posref_runner_options runner;
    bool json;
};

static enum posref_status set_option(struct arguments *a, const char *key, const char *value,
                                     struct posref_error *err)
{
    if (strcmp(key, "--config") == 0)
        return posref_word_config(&a->config, value, err);
    if (strcmp(key, "--timeout") == 0)
        return posref_word_seconds(&a->runner.timeout_s, key, value, err);
    if (strcmp(key, "--start-timeout") == 0)
        return posref_word_seconds(&a->runner.start_timeout_s, key, value, err);
    if (strcmp(key, "--format") != 0)
        return posref_bad_word(err, key, "no such option; posref identify --help lists them");
    return posref_format_json(&a->json, value, err);
}

static enum posref_status set_key(struct arguments *a, const char *text, struct posref_error *err)
{
    char key[POSREF_WORD_KEY_SIZE];
    const char *value;
    enum posref_status status = posref_word_pair(key, &value, text, err);
    if (status != POSREF_OK)
        return status;
    int field = posref_field_find(key);
    if (field >= 0 && a->spec.given[field])
        return posref_bad_word(err, key, "given twice");
    return posref_spec_set(&a->spec, key, value, err);
}

static enum posref_status read_arguments(struct arguments *a, int argc, char **argv,
                                         struct posref_error *err)
{
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i], *value;
        enum posref_status status = POSREF_OK;
        if (strncmp(text, "--", 2) == 0) {
            char key[POSREF_WORD_KEY_SIZE];
            status = posref_word_option(key, &value, &i, argc, argv, err);
            if (status == POSREF_OK)
                status = set_option(a, key, value, err);
        } else if (!a->plugin) {
            a->plugin = text;
        } else {
            status = set_key(a, text, err);
        }
        if (status != POSREF_OK)
            return status;
    }
    if (!a->plugin)
        return posref_bad_word(err, "PLUGIN", "missing: the shared library to look at");
    posref_buffer_add(&a->config, "", 1);
    return a->config.failed ? posref_fail(err, POSREF_NO_MEMORY, "", "no memory") : POSREF_OK;
}

static enum posref_status answer(bool *decided, struct arguments *a,
                                 const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_identity *id = arena->alloc(arena->ctx, sizeof *id);
    struct posref_runner *runner = NULL;
    if (!id)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    a->runner.plugin_path = a->plugin;
    a->runner.config = a->config.data;
    a->runner.memory_limit_bytes = posref_default_memory();
    enum posref_status status = posref_runner_new(&runner, &a->runner, err);
    if (status == POSREF_OK)
        status = posref_identify(id, &a->spec, runner, arena, err);
    posref_runner_free(runner);
    if (status != POSREF_OK)
        return status;
    struct posref_buffer out;
    posref_buffer_init(&out, (size_t)64 << 20);
    if (a->json)
        posref_identity_json(&out, id);
    else
        posref_identity_text(&out, id);
    *decided = id->decided;
    bool written = !out.failed && fwrite(out.data, 1, out.length, stdout) == out.length &&
                   fflush(stdout) == 0;
    posref_buffer_clear(&out);
    return written ? POSREF_OK : posref_fail(err, POSREF_IO, "stdout", "cannot be written");
}

int posref_cmd_identify(int argc, char **argv)
{
    struct posref_error err = {{0}, {0}};
    struct arguments a = {.runner = {.timeout_s = 10, .start_timeout_s = 60}};
    bool decided = false;
    if (posref_wants_help(argc, argv)) {
        fputs(help, stdout);
        return POSREF_EXIT_OK;
    }
    struct posref_heap *heap = posref_heap_new(0);
    if (!heap)
        return posref_report_error("identify", POSREF_NO_MEMORY, &err);
    const struct posref_arena arena = posref_heap_arena(heap);
    posref_spec_init(&a.spec);
    posref_buffer_init(&a.config, 1 << 16);
    enum posref_status status = read_arguments(&a, argc, argv, &err);
    if (status == POSREF_OK)
        status = answer(&decided, &a, &arena, &err);
    int code = status == POSREF_OK ? decided ? POSREF_EXIT_OK : POSREF_EXIT_FAIL
                                   : posref_report_error("identify", status, &err);
    posref_buffer_clear(&a.config);
    posref_heap_free(heap);
    return code;
}
