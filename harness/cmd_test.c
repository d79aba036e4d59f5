/* SPDX-License-Identifier: Apache-2.0 */
/* The command posref test: arguments in, reports out. */
#include "choice.h"
#include "command_words.h"
#include "commands.h"
#include "draw.h"
#include "report_targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: posref test PLUGIN [KEY=VALUE]... [OPTION]...\n"
    "       posref test --answers DIR [KEY=VALUE]... [OPTION]...\n\n"
    "Judges an implementation on the golden vectors that match. PLUGIN is a shared library or\n"
    "exec:COMMAND (docs/plugin.md); it runs in a process of its own. --answers DIR judges what a\n"
    "device made of the prompts of posref export. KEY is any field of a spec, op, flag, or id\n"
    "(then VALUE is how the id begins; fresh/... and property/... name what is drawn).\n\n"
    "  --suite NAME[@VERSION]   smoke, core (default) or full\n"
    "  --dtype LIST             of f64,f32,f16,bf16 (default these; a plugin may decline some),\n"
    "                           f8e4m3,f8e5m2 (rotations alone, of plugins that name them)\n"
    "  --min-grade GRADE        what passes: exact, float32, recurrence, fast or low\n"
    "                           (default: f64 exact, f32 recurrence, 16 and 8 bits low)\n"
    "  --config KEY=VALUE       handed to the plugin; may be repeated\n"
    "  --report FORMAT[:FILE]   text (default), json, jsonl, junit, tap, github, markdown,\n"
    "                           html; may be repeated\n"
    "  --baseline FILE          known failures, a line ID DTYPE VERDICT each: they do not fail\n"
    "                           the run; a listed one that passes does, until it is taken off\n"
    "  --update-baseline        rewrite FILE with this run's failures (not after a crash, a\n"
    "                           timeout or a partial run)\n"
    "  --require OP,...         ops that may not be declined (all: none may)\n"
    "  --shard K/N              the K-th of N parts; posref merge joins their jsonl reports\n"
    "  --fresh SHARE            some (default), all or none of the vectors are judged once\n"
    "                           more on inputs drawn anew: ids fresh/ID\n"
    "  --properties YES         yes (default) or no: composition, batch invariance and the like,\n"
    "                           ids property/SCHEME/NAME/VARIANT\n"
    "  --layouts LIST           layouts to hand vectors in, of docs/plugin.md: bhsd,strided,...,\n"
    "                           plain, or all; ids ID@LAYOUT (default: plain and those that the\n"
    "                           plugin names)\n"
    "  --nonce HEX              what is drawn is drawn from it (default: another each run; the\n"
    "                           report has it)\n"
    "  --timeout S              seconds for a call (default 10)\n"
    "  --start-timeout S        seconds for opening, closing and the first call of each op and\n"
    "                           shape (default 60)\n"
    "  --memory MIB             ends a plugin whose process holds more (default: half of the\n"
    "                           machine's)\n"
    "  --strict                 refuse accepted alternatives, and other bits where the place of a\n"
    "                           row alone differs\n"
    "  --db FILE                the database (default: $POSREF_DB, else the cache)\n\n"
    "Exit codes: 0 conforms; 1 does not; 2 bad input, or nothing was judged; 3 posref failed.\n\n"
    "Example:\n  posref test ./libmykernel.so scheme=rope op=rotate --dtype f32\n";

struct arguments {
    struct posref_test_options options;
    struct posref_report_targets reports;
    struct posref_baseline *baseline;
    const char *baseline_path;
    bool update_baseline;
    struct posref_buffer config, filter_text, command;
    struct posref_filter *filter;
    const char *min_grade;
    bool nonce_given;
};

/* A word as a shell reads it back. */
static void add_word(struct posref_buffer *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,@+%";
    posref_buffer_text(out, out->length ? " " : "");
    if (*word && word[strspn(word, plain)] == '\0') {
        posref_buffer_text(out, word);
        return;
    }
    posref_buffer_text(out, "'");
    for (const char *at = word; *at; at++)
        posref_buffer_text(out, *at == '\'' ? "'\\''" : (char[2]){*at, '\0'});
    posref_buffer_text(out, "'");
}

/* ---- options ---- */

static enum posref_status read_memory(uint64_t *out, const char *text, struct posref_error *err)
{
    double mebibytes = 0;
    enum posref_status status = posref_number_parse(&mebibytes, text, "--memory", err);
    if (status == POSREF_OK && !(mebibytes >= 64 && mebibytes <= 1 << 30))
        return posref_bad_word(err, "--memory", "must be at least 64 (MiB)");
    *out = (uint64_t)mebibytes << 20;
    return status;
}

/* OP,OP,...: what may not be declined. */
static enum posref_status read_required(struct arguments *a, const char *text,
                                        struct posref_error *err)
{
    for (;;) {
        char name[32];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", length < 31 ? (int)length : 31, text);
        int op = posref_op_find(name);
        if (op < 0)
            return posref_fail(err, POSREF_BAD_INPUT, "--require", "'%s' is no op", name);
        a->options.require[op] = true;
        for (int each = 0; op == POSREF_OP_ALL && each < POSREF_N_OPS; each++)
            a->options.require[each] = true;
        if (text[length] == '\0')
            return POSREF_OK;
        text += length + 1;
    }
}

/* K/N, 1 <= K <= N. */
static enum posref_status read_shard(struct arguments *a, const char *text,
                                     struct posref_error *err)
{
    char *end;
    const bool digit = *text >= '0' && *text <= '9';
    long k = strtol(text, &end, 10), n = 0;
    bool good = digit && *end == '/' && end[1] >= '0' && end[1] <= '9';
    if (good)
        n = strtol(end + 1, &end, 10);
    if (!good || *end || k < 1 || n < k || n > POSREF_MAX_SHARDS)
        return posref_fail(err, POSREF_BAD_INPUT, "--shard",
                           "must be K/N with 1 <= K <= N <= %d, got '%.40s'", POSREF_MAX_SHARDS,
                           text);
    a->options.shard = (int)k;
    a->options.shard_of = (int)n;
    return POSREF_OK;
}

static enum posref_status read_fresh(enum posref_fresh *out, const char *text,
                                     struct posref_error *err)
{
    static const char *const names[] = {"some", "all", "none"};
    for (int k = 0; k < 3; k++)
        if (strcmp(text, names[k]) == 0) {
            *out = (enum posref_fresh)k;
            return POSREF_OK;
        }
    return posref_bad_word(err, "--fresh", "is some, all or none");
}

static enum posref_status read_properties(bool *none, const char *text, struct posref_error *err)
{
    *none = strcmp(text, "no") == 0;
    if (!*none && strcmp(text, "yes") != 0)
        return posref_bad_word(err, "--properties", "is yes or no");
    return POSREF_OK;
}

static enum posref_status set_option(struct arguments *a, const char *key, const char *value,
                                     struct posref_error *err)
{
    struct posref_test_options *o = &a->options;
    static const char *const own[] = {"--report", "--dtype",      "--baseline", "--shard",
                                      "--require", "--properties", "--fresh",    "--nonce",
                                      "--layouts"};
    bool repeats = true; /* belongs to the command that repeats one failure */
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        repeats = repeats && strcmp(key, own[k]) != 0;
    if (repeats) {
        add_word(&a->command, key);
        add_word(&a->command, value);
    }
    if (strcmp(key, "--suite") == 0) {
        o->suite = value;
    } else if (strcmp(key, "--db") == 0) {
        o->db_path = value;
    } else if (strcmp(key, "--dtype") == 0) {
        return posref_word_dtypes(o->dtype, value, err);
    } else if (strcmp(key, "--min-grade") == 0) {
        a->min_grade = value;
    } else if (strcmp(key, "--config") == 0) {
        return posref_word_config(&a->config, value, err);
    } else if (strcmp(key, "--report") == 0) {
        return posref_targets_add(&a->reports, value, err);
    } else if (strcmp(key, "--baseline") == 0) {
        a->baseline_path = value;
    } else if (strcmp(key, "--answers") == 0) {
        o->answers = value;
    } else if (strcmp(key, "--require") == 0) {
        return read_required(a, value, err);
    } else if (strcmp(key, "--shard") == 0) {
        return read_shard(a, value, err);
    } else if (strcmp(key, "--fresh") == 0) {
        return read_fresh(&o->fresh, value, err);
    } else if (strcmp(key, "--properties") == 0) {
        return read_properties(&o->no_properties, value, err);
    } else if (strcmp(key, "--layouts") == 0) {
        o->layouts = (struct posref_layout_choice){.given = true};
        return posref_layouts_parse(&o->layouts.plain, o->layouts.layout, value, key, err);
    } else if (strcmp(key, "--nonce") == 0) {
        a->nonce_given = true;
        return posref_nonce_parse(&o->nonce, value, err);
    } else if (strcmp(key, "--timeout") == 0) {
        return posref_word_seconds(&o->timeout_s, key, value, err);
    } else if (strcmp(key, "--start-timeout") == 0) {
        return posref_word_seconds(&o->start_timeout_s, key, value, err);
    } else if (strcmp(key, "--memory") == 0) {
        return read_memory(&o->memory_limit_bytes, value, err);
    } else {
        return posref_bad_word(err, key, "no such option; posref test --help lists them");
    }
    return POSREF_OK;
}

/* ID@LAYOUT: that layout, of the vectors whose id begins so. */
static enum posref_status add_laid_id(struct arguments *a, const char *id,
                                      struct posref_error *err)
{
    struct posref_test_options *o = &a->options;
    const char *at = posref_id_layout(id);
    char base[POSREF_MAX_ID + 1];
    o->id = id;
    o->id_kind = POSREF_ID_LAYOUT;
    o->layouts = (struct posref_layout_choice){.given = true};
    snprintf(base, sizeof base, "%.*s", (int)(at - id), id);
    enum posref_status status = posref_layouts_parse(&o->layouts.plain, o->layouts.layout, at + 1,
                                                     "id", err);
    return status == POSREF_OK ? posref_filter_add(a->filter, "id", base, err) : status;
}

static enum posref_status add_condition(struct arguments *a, const char *text,
                                        struct posref_error *err)
{
    char key[POSREF_WORD_KEY_SIZE];
    const char *value;
    enum posref_status status = posref_word_pair(key, &value, text, err);
    if (status != POSREF_OK)
        return status;
    add_word(&a->filter_text, text);
    if (strcmp(key, "id") == 0 && posref_id_layout(value))
        return add_laid_id(a, value, err);
    if (strcmp(key, "id") == 0) {
        a->options.id = value;
        a->options.id_kind = posref_id_is_property(value) ? POSREF_ID_PROPERTY
                             : posref_id_is_fresh(value)  ? POSREF_ID_FRESH
                                                          : POSREF_ID_GOLDEN;
        value += posref_id_is_fresh(value) ? strlen(POSREF_FRESH_PREFIX) : 0;
    }
    return posref_filter_add(a->filter, key, value, err);
}

/* What is judged: a plugin, or a directory of answers. */
static enum posref_status settle_subject(struct arguments *a, struct posref_error *err)
{
    struct stat info;
    if (a->options.answers && a->options.plugin)
        return posref_bad_word(err, a->options.plugin, "--answers takes the place of a plugin");
    if (a->options.answers && (stat(a->options.answers, &info) != 0 || !S_ISDIR(info.st_mode)))
        return posref_bad_word(err, a->options.answers, "is no directory of answers");
    if (a->options.answers && a->options.layouts.given)
        return posref_bad_word(err, "--layouts", "answers are to plain prompts");
    if (a->options.answers)
        a->options.plugin = a->options.answers;
    if (!a->options.plugin)
        return posref_bad_word(err, "PLUGIN", "missing: the shared library to judge");
    return POSREF_OK;
}

/* The first word without a dash is the plugin; the others are conditions. */
static enum posref_status read_arguments(struct arguments *a, int argc, char **argv,
                                         struct posref_error *err)
{
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i], *value;
        enum posref_status status = POSREF_OK;
        char key[POSREF_WORD_KEY_SIZE];
        if (strcmp(text, "--strict") == 0) {
            a->options.strict = true;
            add_word(&a->command, text);
        } else if (strcmp(text, "--update-baseline") == 0) {
            a->update_baseline = true;
        } else if (strncmp(text, "--", 2) == 0) {
            status = posref_word_option(key, &value, &i, argc, argv, err);
            if (status == POSREF_OK)
                status = set_option(a, key, value, err);
        } else if (!a->options.plugin && !(a->options.answers && strchr(text, '='))) {
            a->options.plugin = text;
        } else {
            status = add_condition(a, text, err);
        }
        if (status != POSREF_OK)
            return status;
    }
    return settle_subject(a, err);
}

static enum posref_status set_gates(struct arguments *a, struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    for (int d = 0; d < POSREF_N_FLOATS && status == POSREF_OK; d++)
        status = posref_word_gate(&a->options.gate[d], (enum posref_dtype)d, a->min_grade, err);
    return status;
}

/* Texts with their ends, and what the user left out. */
static enum posref_status settle(struct arguments *a, struct posref_error *err)
{
    struct posref_buffer command;
    posref_buffer_init(&command, 1 << 20);
    add_word(&command, program_invocation_name);
    add_word(&command, "test");
    if (!a->options.answers) /* else --answers is among the options */
        add_word(&command, a->options.plugin);
    if (a->command.length)
        posref_buffer_text(&command, " ");
    posref_buffer_add(&command, a->command.data, a->command.length);
    posref_buffer_clear(&a->command);
    a->command = command;
    posref_buffer_add(&a->command, "", 1);
    posref_buffer_add(&a->config, "", 1);
    posref_buffer_add(&a->filter_text, "", 1);
    if (a->command.failed || a->config.failed || a->filter_text.failed)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    a->options.command = a->command.data;
    a->options.config = a->config.data;
    a->options.filter_text = a->filter_text.data;
    a->options.filter = a->filter;
    return POSREF_OK;
}

/* The file of a baseline that is written for the first time need not be there. */
static enum posref_status open_baseline(struct arguments *a, struct posref_error *err)
{
    if (!a->baseline_path && a->update_baseline)
        return posref_bad_word(err, "--update-baseline", "needs --baseline FILE");
    if (a->update_baseline && (a->options.shard_of || *a->options.filter_text))
        return posref_bad_word(err, "--update-baseline",
                               "needs a run of the whole suite: no filter, no shard");
    if (!a->baseline_path || (a->update_baseline && access(a->baseline_path, F_OK) != 0))
        return POSREF_OK;
    enum posref_status status = posref_baseline_read(&a->baseline, a->baseline_path, err);
    a->options.baseline = a->baseline;
    return status;
}

static enum posref_status run(struct arguments *a, int argc, char **argv, int *code,
                              struct posref_error *err)
{
    bool conforms = false;
    int64_t n_judged = 0;
    enum posref_status status = read_arguments(a, argc, argv, err);
    if (status == POSREF_OK)
        status = set_gates(a, err);
    if (status == POSREF_OK && !a->nonce_given)
        status = posref_nonce_new(&a->options.nonce, err);
    if (status == POSREF_OK)
        status = settle(a, err);
    if (status == POSREF_OK)
        status = open_baseline(a, err);
    if (status == POSREF_OK)
        posref_targets_open(&a->reports);
    if (!posref_targets_stream(&a->reports) && posref_terminal_is(stderr))
        a->reports.progress.file = stderr;
    if (status == POSREF_OK)
        status = posref_test_run(&conforms, &n_judged, &a->options, posref_targets_keep,
                                 &a->reports, err);
    if (status == POSREF_OK)
        status = posref_targets_write(&a->reports, err);
    if (status == POSREF_OK && a->update_baseline) {
        status = posref_baseline_write(a->baseline_path, a->reports.lines.data,
                                       a->reports.lines.length, err);
        if (status == POSREF_BAD_INPUT) { /* a process died: the run's own verdict stands */
            (void)posref_report_error("test", status, err);
            status = POSREF_OK;
        }
    }
    if (status == POSREF_OK && conforms && n_judged == 0 && !a->options.shard_of)
        return posref_fail(err, POSREF_BAD_INPUT, a->options.plugin,
                           "declined every vector: nothing was judged");
    *code = conforms ? POSREF_EXIT_OK : POSREF_EXIT_FAIL;
    return status;
}

int posref_cmd_test(int argc, char **argv)
{
    struct posref_error err = {{0}, {0}};
    int code = POSREF_EXIT_BROKEN;
    if (posref_wants_help(argc, argv)) {
        fputs(help, stdout);
        return POSREF_EXIT_OK;
    }
    struct arguments *a = calloc(1, sizeof *a);
    if (a)
        a->filter = posref_filter_new();
    if (!a || !a->filter) {
        free(a);
        return posref_report_error("test", POSREF_NO_MEMORY, &err);
    }
    a->options.suite = "core";
    a->options.timeout_s = 10;
    a->options.start_timeout_s = 60;
    a->options.memory_limit_bytes = posref_default_memory();
    for (int d = 0; d < POSREF_N_USUAL_FLOATS; d++)
        a->options.dtype[d] = true;
    posref_buffer_init(&a->config, 1 << 16);
    posref_buffer_init(&a->filter_text, 1 << 16);
    posref_buffer_init(&a->command, 1 << 20);
    posref_targets_init(&a->reports, stdout);
    enum posref_status status = run(a, argc, argv, &code, &err);
    posref_progress_hide(&a->reports.progress);
    if (status != POSREF_OK)
        code = posref_report_error("test", status, &err);
    posref_buffer_clear(&a->config);
    posref_buffer_clear(&a->filter_text);
    posref_buffer_clear(&a->command);
    posref_targets_clear(&a->reports);
    posref_baseline_free(a->baseline);
    posref_filter_free(a->filter);
    free(a);
    return code;
}
