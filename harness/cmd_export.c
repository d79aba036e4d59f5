/* SPDX-License-Identifier: Apache-2.0 */
/* The command posref export: prompts without answers, a safetensors file for each vector and dtype,
 * for devices that cannot load a plugin. */
#include "answers.h"
#include "commands.h"
#include "test_run.h"
#include "trial.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: posref export -o DIR [KEY=VALUE]... [OPTION]...\n\n"
    "Writes the prompts of the vectors that match, without answers. DIR/ID.DTYPE.safetensors\n"
    "holds the inputs, and as metadata id, op, spec (key=value key=value), dtype and outputs, a\n"
    "JSON list of {\"name\", \"dtype\", \"shape\"}. For each, save exactly these outputs under\n"
    "the same name in a directory of your own, and have it judged: posref test --answers DIR.\n\n"
    "  -o DIR                   where they go; made when missing\n"
    "  --suite NAME[@VERSION]   smoke, core (default) or full\n"
    "  --dtype LIST             of f64,f32,f16,bf16 (default: f32)\n"
    "  --db FILE                the database (default: $POSREF_DB, else the cache)\n\n"
    "Example:\n  posref export -o prompts scheme=rope op=rotate dim=64 --dtype f32,bf16\n";

struct exporting {
    const char *dir, *suite, *db_path;
    bool dtype[POSREF_N_FLOATS];
    struct posref_filter *filter;
    struct posref_heap *heap;
    int64_t n_vectors, n_files;
    enum posref_status status;
    struct posref_error *err;
};

static enum posref_status read_dtypes(struct exporting *e, const char *text)
{
    memset(e->dtype, 0, sizeof e->dtype);
    for (;; text++) {
        char name[8];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", length < 7 ? (int)length : 7, text);
        int dtype = posref_dtype_find(name);
        if (dtype < 0 || dtype >= POSREF_N_FLOATS)
            return posref_fail(e->err, POSREF_BAD_INPUT, "--dtype",
                               "'%s' is none of f64, f32, f16, bf16", name);
        e->dtype[dtype] = true;
        text += length;
        if (*text == '\0')
            return POSREF_OK;
    }
}

static enum posref_status add_condition(struct exporting *e, const char *text)
{
    char key[64];
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof key)
        return posref_fail(e->err, POSREF_BAD_INPUT, text, "is neither KEY=VALUE nor an option");
    snprintf(key, sizeof key, "%.*s", (int)(equals - text), text);
    return posref_filter_add(e->filter, key, equals + 1, e->err);
}

static enum posref_status read_arguments(struct exporting *e, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        enum posref_status status = POSREF_OK;
        const char **into = strcmp(text, "-o") == 0        ? &e->dir
                            : strcmp(text, "--suite") == 0 ? &e->suite
                            : strcmp(text, "--db") == 0    ? &e->db_path
                                                           : NULL;
        bool dtype = strcmp(text, "--dtype") == 0;
        if ((into || dtype) && i + 1 == argc)
            return posref_fail(e->err, POSREF_BAD_INPUT, text, "needs a value");
        if (into)
            *into = argv[++i];
        else if (dtype)
            status = read_dtypes(e, argv[++i]);
        else if (text[0] == '-')
            return posref_fail(e->err, POSREF_BAD_INPUT, text, "no such option");
        else
            status = add_condition(e, text);
        if (status != POSREF_OK)
            return status;
    }
    if (!e->dir || !*e->dir)
        return posref_fail(e->err, POSREF_BAD_INPUT, "-o", "missing: where the prompts go");
    return POSREF_OK;
}

static bool export_one(void *ctx, const struct posref_vector *vector)
{
    struct exporting *e = ctx;
    const struct posref_arena arena = posref_heap_arena(e->heap);
    struct posref_buffer spec;
    posref_heap_reset(e->heap);
    posref_buffer_init(&spec, 1 << 16);
    posref_spec_text(&spec, &vector->spec);
    posref_buffer_add(&spec, "", 1);
    if (spec.failed)
        e->status = posref_fail(e->err, POSREF_NO_MEMORY, vector->id, "no memory");
    for (int d = 0; d < POSREF_N_FLOATS && e->status == POSREF_OK; d++) {
        struct posref_trial trial;
        if (!e->dtype[d])
            continue;
        e->status = posref_trial_make(&trial, vector, spec.data, (enum posref_dtype)d, &arena,
                                      e->err);
        if (e->status == POSREF_OK)
            e->status = posref_answers_prompt(e->dir, vector->id, (enum posref_dtype)d, &trial,
                                              e->err);
        e->n_files += e->status == POSREF_OK;
    }
    posref_buffer_clear(&spec);
    e->n_vectors++;
    return e->status == POSREF_OK;
}

static enum posref_status export(struct exporting *e, int argc, char **argv)
{
    struct posref_db *db = NULL;
    enum posref_status status = read_arguments(e, argc, argv);
    if (status == POSREF_OK)
        status = posref_db_open_progress(&db, e->db_path, posref_progress_terminal, NULL, e->err);
    if (status == POSREF_OK)
        status = posref_db_each(db, e->filter, e->suite, NULL, -1, export_one, e, e->err);
    if (status == POSREF_OK)
        status = e->status;
    if (status == POSREF_OK && e->n_vectors == 0)
        status = posref_fail(e->err, POSREF_BAD_INPUT, "", "no vector matches");
    if (status == POSREF_OK)
        printf("%lld prompts of %lld vectors in %s\n", (long long)e->n_files,
               (long long)e->n_vectors, e->dir);
    posref_db_close(db);
    return status;
}

int posref_cmd_export(int argc, char **argv)
{
    struct posref_error err = {{0}, {0}};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return POSREF_EXIT_OK;
        }
    struct exporting e = {.suite = "core", .err = &err, .filter = posref_filter_new(),
                          .heap = posref_heap_new(0)};
    e.dtype[POSREF_F32] = true;
    enum posref_status status = POSREF_NO_MEMORY;
    if (e.filter && e.heap)
        status = export(&e, argc, argv);
    posref_filter_free(e.filter);
    posref_heap_free(e.heap);
    return status == POSREF_OK ? POSREF_EXIT_OK : posref_report_error("export", status, &err);
}
