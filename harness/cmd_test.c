/* SPDX-License-Identifier: Apache-2.0 */
/* The command posref test: arguments in, reports out. */
#include "commands.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_REPORTS 16
#define MAX_STREAM_BYTES ((size_t)1 << 30)

static const char help[] =
    "usage: posref test PLUGIN [KEY=VALUE]... [OPTION]...\n\n"
    "Judges an implementation on the golden vectors that match. PLUGIN is a shared library\n"
    "(docs/plugin.md); it runs in a process of its own. KEY is any field of a spec, op, flag, or\n"
    "id (then VALUE is how the id begins).\n\n"
    "  --suite NAME[@VERSION]   smoke, core (default) or full\n"
    "  --dtype LIST             of f64,f32,f16,bf16 (default all; a plugin may decline some)\n"
    "  --min-grade GRADE        what passes: exact, float32, recurrence, fast or low\n"
    "                           (default: f64 exact, f32 recurrence, 16-bit low)\n"
    "  --config KEY=VALUE       handed to the plugin; may be repeated\n"
    "  --report FORMAT[:FILE]   text (default), json or jsonl; may be repeated\n"
    "  --timeout S              seconds for a call (default 10)\n"
    "  --start-timeout S        seconds for opening, closing and the first call of each op and\n"
    "                           shape (default 60)\n"
    "  --memory MIB             ends a plugin whose process holds more (default: half of the\n"
    "                           machine's)\n"
    "  --strict                 refuse accepted alternatives\n"
    "  --db FILE                the database (default: $POSREF_DB, else the cache)\n\n"
    "Exit codes: 0 conforms; 1 does not; 2 bad input, or nothing was judged; 3 posref failed.\n\n"
    "Example:\n  posref test ./libmykernel.so scheme=rope op=rotate --dtype f32\n";

/* One --report. */
struct target {
    char format[8];
    const char *path; /* NULL: stdout */
    FILE *file;
    bool failed;
};

struct arguments {
    struct posref_test_options options;
    struct target report[MAX_REPORTS];
    int n_reports;
    struct posref_buffer config, filter_text, command, lines;
    struct posref_filter *filter;
    const char *min_grade;
};

static enum posref_status bad(struct posref_error *err, const char *key, const char *text)
{
    return posref_fail(err, POSREF_BAD_INPUT, key, "%s", text);
}

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

static enum posref_status read_dtypes(struct arguments *a, const char *text,
                                      struct posref_error *err)
{
    memset(a->options.dtype, 0, sizeof a->options.dtype);
    for (;;) {
        char name[8];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", length < 7 ? (int)length : 7, text);
        int dtype = posref_dtype_find(name);
        if (dtype < 0 || dtype >= POSREF_N_FLOATS)
            return posref_fail(err, POSREF_BAD_INPUT, "--dtype",
                               "'%s' is none of f64, f32, f16, bf16", name);
        a->options.dtype[dtype] = true;
        if (text[length] == '\0')
            return POSREF_OK;
        text += length + 1;
    }
}

static enum posref_status read_seconds(double *out, const char *key, const char *text,
                                       struct posref_error *err)
{
    enum posref_status status = posref_number_parse(out, text, key, err);
    if (status == POSREF_OK && !(*out > 0 && *out <= 86400))
        return bad(err, key, "must be more than 0 and at most 86400 seconds");
    return status;
}

static enum posref_status read_memory(uint64_t *out, const char *text, struct posref_error *err)
{
    double mebibytes = 0;
    enum posref_status status = posref_number_parse(&mebibytes, text, "--memory", err);
    if (status == POSREF_OK && !(mebibytes >= 64 && mebibytes <= 1 << 30))
        return bad(err, "--memory", "must be at least 64 (MiB)");
    *out = (uint64_t)mebibytes << 20;
    return status;
}

static enum posref_status read_report(struct arguments *a, const char *text,
                                      struct posref_error *err)
{
    static const char *const formats[] = {"text", "json", "jsonl", NULL};
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    int known = 0;
    while (formats[known] &&
           (strlen(formats[known]) != length || strncmp(formats[known], text, length) != 0))
        known++;
    if (!formats[known])
        return posref_fail(err, POSREF_BAD_INPUT, "--report",
                           "'%.*s' is none of text, json, jsonl", (int)(length < 40 ? length : 40),
                           text);
    if (a->n_reports == MAX_REPORTS)
        return bad(err, "--report", "given too often");
    struct target *target = &a->report[a->n_reports++];
    snprintf(target->format, sizeof target->format, "%s", formats[known]);
    if (colon && colon[1] == '\0')
        return bad(err, "--report", "names no file after the colon");
    target->path = colon ? colon + 1 : NULL;
    return POSREF_OK;
}

static enum posref_status read_config(struct arguments *a, const char *text,
                                      struct posref_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || strpbrk(text, " \n\t"))
        return bad(err, "--config", "must be KEY=VALUE without spaces");
    posref_buffer_text(&a->config, a->config.length ? " " : "");
    posref_buffer_text(&a->config, text);
    return POSREF_OK;
}

static enum posref_status set_option(struct arguments *a, const char *key, const char *value,
                                     struct posref_error *err)
{
    struct posref_test_options *o = &a->options;
    bool repeats = strcmp(key, "--report") == 0;
    if (!repeats && strcmp(key, "--dtype") != 0) {
        add_word(&a->command, key);
        add_word(&a->command, value);
    }
    if (strcmp(key, "--suite") == 0) {
        o->suite = value;
    } else if (strcmp(key, "--db") == 0) {
        o->db_path = value;
    } else if (strcmp(key, "--dtype") == 0) {
        return read_dtypes(a, value, err);
    } else if (strcmp(key, "--min-grade") == 0) {
        a->min_grade = value;
    } else if (strcmp(key, "--config") == 0) {
        return read_config(a, value, err);
    } else if (repeats) {
        return read_report(a, value, err);
    } else if (strcmp(key, "--timeout") == 0) {
        return read_seconds(&o->timeout_s, key, value, err);
    } else if (strcmp(key, "--start-timeout") == 0) {
        return read_seconds(&o->start_timeout_s, key, value, err);
    } else if (strcmp(key, "--memory") == 0) {
        return read_memory(&o->memory_limit_bytes, value, err);
    } else {
        return bad(err, key, "no such option; posref test --help lists them");
    }
    return POSREF_OK;
}

static enum posref_status add_condition(struct arguments *a, const char *text,
                                        struct posref_error *err)
{
    char key[64];
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals - text >= (ptrdiff_t)sizeof key)
        return bad(err, text, "is neither KEY=VALUE nor an option");
    snprintf(key, sizeof key, "%.*s", (int)(equals - text), text);
    if (strcmp(key, "id") == 0)
        a->options.id = equals + 1;
    add_word(&a->filter_text, text);
    return posref_filter_add(a->filter, key, equals + 1, err);
}

/* The first word without a dash is the plugin; the others are conditions. */
static enum posref_status read_arguments(struct arguments *a, int argc, char **argv,
                                         struct posref_error *err)
{
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i], *equals = strchr(text, '=');
        enum posref_status status = POSREF_OK;
        char key[32];
        if (strcmp(text, "--strict") == 0) {
            a->options.strict = true;
            add_word(&a->command, text);
        } else if (strncmp(text, "--", 2) == 0) {
            size_t length = equals ? (size_t)(equals - text) : strlen(text);
            snprintf(key, sizeof key, "%.*s", length < 31 ? (int)length : 31, text);
            if (!equals && i + 1 == argc)
                return bad(err, key, "needs a value");
            status = set_option(a, key, equals ? equals + 1 : argv[++i], err);
        } else if (!a->options.plugin) {
            a->options.plugin = text;
        } else {
            status = add_condition(a, text, err);
        }
        if (status != POSREF_OK)
            return status;
    }
    if (!a->options.plugin)
        return bad(err, "PLUGIN", "missing: the shared library to judge");
    return POSREF_OK;
}

/* Grade exact is not told from float32 where the output itself has no more digits. */
static enum posref_status set_gates(struct arguments *a, struct posref_error *err)
{
    int asked = a->min_grade ? posref_grade_find(a->min_grade) : -1;
    if (a->min_grade && (asked < 0 || asked == POSREF_GRADE_FAIL))
        return posref_fail(err, POSREF_BAD_INPUT, "--min-grade",
                           "'%.40s' is none of exact, float32, recurrence, fast, low",
                           a->min_grade);
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        a->options.gate[d] = posref_grade_default((enum posref_dtype)d);
        if (asked >= 0)
            a->options.gate[d] = d != POSREF_F64 && asked == POSREF_GRADE_EXACT
                                     ? POSREF_GRADE_FLOAT32 : (enum posref_grade)asked;
    }
    return POSREF_OK;
}

/* Texts with their ends, and what the user left out. */
static enum posref_status settle(struct arguments *a, struct posref_error *err)
{
    struct posref_buffer command;
    posref_buffer_init(&command, 1 << 20);
    add_word(&command, program_invocation_name);
    add_word(&command, "test");
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
    if (a->n_reports == 0)
        return read_report(a, "text", err);
    return POSREF_OK;
}

/* ---- reports ---- */

static bool keep_lines(void *ctx, const char *lines, size_t size_bytes)
{
    struct arguments *a = ctx;
    posref_buffer_add(&a->lines, lines, size_bytes);
    for (int k = 0; k < a->n_reports; k++) {
        struct target *target = &a->report[k];
        if (strcmp(target->format, "jsonl") == 0 && !target->failed)
            target->failed = fwrite(lines, 1, size_bytes, target->file) != size_bytes ||
                             fflush(target->file) != 0;
    }
    return !a->lines.failed;
}

/* One that cannot be opened is an error at the end, when the others are written. */
static void open_reports(struct arguments *a)
{
    for (int k = 0; k < a->n_reports; k++) {
        struct target *target = &a->report[k];
        target->file = target->path ? fopen(target->path, "we") : stdout;
        target->failed = target->file == NULL;
    }
}

static bool write_text(FILE *file, const struct posref_buffer *text)
{
    if (text->failed)
        return false;
    size_t written = text->length ? fwrite(text->data, 1, text->length, file) : 0;
    return written == text->length && fflush(file) == 0;
}

/* Draws the reports; the first that cannot be written is the error, after the others. */
static enum posref_status write_reports(struct arguments *a, struct posref_error *err)
{
    struct posref_tally tally;
    enum posref_status status = posref_tally_read(&tally, a->lines.data, a->lines.length, err);
    if (status != POSREF_OK)
        return POSREF_INTERNAL;
    for (int k = 0; k < a->n_reports; k++) {
        struct target *target = &a->report[k];
        struct posref_buffer text;
        posref_buffer_init(&text, MAX_STREAM_BYTES);
        if (strcmp(target->format, "text") == 0)
            posref_report_text(&text, &tally);
        else if (strcmp(target->format, "json") == 0)
            posref_report_json(&text, &tally);
        target->failed = target->failed || !write_text(target->file, &text);
        posref_buffer_clear(&text);
        if (target->failed && status == POSREF_OK)
            status = posref_fail(err, POSREF_IO, target->path ? target->path : "stdout",
                                 "the report cannot be written");
    }
    posref_tally_clear(&tally);
    return status;
}

static void close_reports(struct arguments *a)
{
    for (int k = 0; k < a->n_reports; k++)
        if (a->report[k].file && a->report[k].file != stdout)
            fclose(a->report[k].file);
}

static enum posref_status run(struct arguments *a, int argc, char **argv, int *code,
                              struct posref_error *err)
{
    bool conforms = false;
    int64_t n_judged = 0;
    enum posref_status status = read_arguments(a, argc, argv, err);
    if (status == POSREF_OK)
        status = set_gates(a, err);
    if (status == POSREF_OK)
        status = settle(a, err);
    if (status == POSREF_OK)
        open_reports(a);
    if (status == POSREF_OK)
        status = posref_test_run(&conforms, &n_judged, &a->options, keep_lines, a, err);
    if (status == POSREF_OK)
        status = write_reports(a, err);
    if (status == POSREF_OK && conforms && n_judged == 0)
        return posref_fail(err, POSREF_BAD_INPUT, a->options.plugin,
                           "declined every vector: nothing was judged");
    *code = conforms ? POSREF_EXIT_OK : POSREF_EXIT_FAIL;
    return status;
}

int posref_cmd_test(int argc, char **argv)
{
    struct posref_error err = {{0}, {0}};
    int code = POSREF_EXIT_BROKEN;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
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
    a->options.memory_limit_bytes =
        (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE);
    for (int d = 0; d < POSREF_N_FLOATS; d++)
        a->options.dtype[d] = true;
    posref_buffer_init(&a->config, 1 << 16);
    posref_buffer_init(&a->filter_text, 1 << 16);
    posref_buffer_init(&a->command, 1 << 20);
    posref_buffer_init(&a->lines, MAX_STREAM_BYTES);
    enum posref_status status = run(a, argc, argv, &code, &err);
    close_reports(a);
    if (status != POSREF_OK)
        code = posref_report_error("test", status, &err);
    posref_buffer_clear(&a->config);
    posref_buffer_clear(&a->filter_text);
    posref_buffer_clear(&a->command);
    posref_buffer_clear(&a->lines);
    posref_filter_free(a->filter);
    free(a);
    return code;
}
