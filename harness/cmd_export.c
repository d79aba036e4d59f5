/* SPDX-License-Identifier: Apache-2.0 */
/* The command posref export: prompts without answers, a safetensors file for each vector and dtype,
 * for devices that cannot load a plugin. */
#include "answers.h"
#include "call_spec.h"
#include "command_words.h"
#include "commands.h"
#include "float8.h"
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
    "  --dtype LIST             of f64,f32,f16,bf16,f8e4m3,f8e5m2 (default: f32)\n"
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

static enum posref_status read_arguments(struct exporting *e, int argc, char **argv)
{
    const char *dtypes = "f32";
    const struct posref_option options[] = {{"-o", &e->dir, NULL},
                                            {"--suite", &e->suite, NULL},
                                            {"--db", &e->db_path, NULL},
                                            {"--dtype", &dtypes, NULL},
                                            {NULL, NULL, NULL}};
    enum posref_status status = posref_options_read(options, &argc, argv, e->err);
    if (status == POSREF_OK)
        status = posref_word_dtypes(e->dtype, dtypes, e->err);
    if (status == POSREF_OK)
        status = posref_filter_arguments(e->filter, argc, argv, e->err);
    if (status == POSREF_OK && !e->dir)
        return posref_fail(e->err, POSREF_BAD_INPUT, "-o", "missing: where the prompts go");
    return status;
}

static enum posref_status make_trial(struct posref_trial *out, const struct posref_vector *vector,
                                     const char *spec, enum posref_dtype dtype,
                                     const struct posref_arena *arena, struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    struct posref_vector *own = arena->alloc(arena->ctx, sizeof *own);
    if (!own)
        return posref_fail(err, POSREF_NO_MEMORY, vector->id, "no memory");
    *own = *vector;
    if (posref_dtype_is_float8(dtype))
        status = posref_float8_vector(own, vector, dtype, arena, err);
    return status == POSREF_OK ? posref_trial_make(out, own, spec, dtype, arena, err) : status;
}

static bool export_one(void *ctx, const struct posref_vector *vector)
{
    struct exporting *e = ctx;
    const struct posref_arena arena = posref_heap_arena(e->heap);
    posref_heap_reset(e->heap);
    const char *spec = posref_call_spec(&vector->spec, &arena);
    if (!spec)
        e->status = posref_fail(e->err, POSREF_NO_MEMORY, vector->id, "no memory");
    for (int d = 0; d < POSREF_N_FLOATS && e->status == POSREF_OK; d++) {
        struct posref_trial trial;
        if (!e->dtype[d] || posref_float8_excludes((enum posref_dtype)d, vector))
            continue;
        e->status = make_trial(&trial, vector, spec, (enum posref_dtype)d, &arena, e->err);
        if (e->status == POSREF_OK)
            e->status = posref_answers_prompt(e->dir, vector->id, (enum posref_dtype)d, &trial,
                                              e->err);
        e->n_files += e->status == POSREF_OK;
    }
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
    if (posref_wants_help(argc, argv)) {
        fputs(help, stdout);
        return POSREF_EXIT_OK;
    }
    struct exporting e = {.suite = "core", .err = &err, .filter = posref_filter_new(),
                          .heap = posref_heap_new(0)};
    enum posref_status status = POSREF_NO_MEMORY;
    if (e.filter && e.heap)
        status = export(&e, argc, argv);
    posref_filter_free(e.filter);
    posref_heap_free(e.heap);
    return status == POSREF_OK ? POSREF_EXIT_OK : posref_report_error("export", status, &err);
}
