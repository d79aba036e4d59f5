/* SPDX-License-Identifier: Apache-2.0 */
/* The command posref faults: the registry, or what one vector shows of it. */
#include "commands.h"
#include "faults_front.h"
#include "separate.h"

#include <stdio.h>

static const char help[] =
    "usage: posref faults [ID...] [--dtype DTYPE] [--db FILE]\n\n"
    "Without an ID: every known fault as JSON (docs/faults.md). With some: the faults that each\n"
    "vector is there to catch, {\"id\", \"dtype\", \"shows\": [[FAULT, ...], ...]}, one a line.\n"
    "Faults of one list give the same output here: other vectors tell them apart.\n\n"
    "  --dtype DTYPE   f32 (default), f64, f16 or bf16: the outputs' dtype, at its default gate\n\n"
    "Example:\n  posref faults rope/half/none/d4-b1e4/near\n";

static enum posref_status fill(struct posref_buffer *out, struct posref_db *db, const char *id,
                               const char *dtype_text, const struct posref_arena *arena,
                               struct posref_heap *scratch, struct posref_error *err)
{
    struct posref_vector *vector = arena->alloc(arena->ctx, sizeof *vector);
    const int dtype = posref_dtype_find(dtype_text);
    bool found = false;
    if (!vector)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    if (dtype < POSREF_F64 || dtype > POSREF_BF16)
        return posref_fail(err, POSREF_BAD_INPUT, "--dtype", "must be one of f64, f32, f16, bf16");
    enum posref_status status = posref_db_get(db, id, vector, &found, arena, err);
    if (status == POSREF_OK && !found)
        return posref_fail(err, POSREF_BAD_INPUT, id, "no such vector");
    return status == POSREF_OK
               ? posref_separate(out, vector, (enum posref_dtype)dtype, scratch, err) : status;
}

int posref_cmd_faults(int argc, char **argv)
{
    const char *dtype = "f32", *path = NULL;
    const struct posref_option options[] = {
        {"--dtype", &dtype, NULL}, {"--db", &path, NULL}, {NULL, NULL, NULL}};
    struct posref_error err = {{0}, {0}};
    struct posref_db *db = NULL;
    struct posref_buffer out;
    if (posref_wants_help(argc, argv)) {
        fputs(help, stdout);
        return POSREF_EXIT_OK;
    }
    posref_buffer_init(&out, (size_t)1 << 24);
    struct posref_heap *heap = posref_heap_new(0), *scratch = posref_heap_new(0);
    enum posref_status status = posref_options_read(options, &argc, argv, &err);
    if (status == POSREF_OK && (!heap || !scratch))
        status = posref_fail(&err, POSREF_NO_MEMORY, "", "no memory");
    if (status == POSREF_OK && argc == 1)
        posref_faults_json(&out);
    if (status == POSREF_OK && argc > 1)
        status = posref_db_open_progress(&db, path, posref_progress_terminal, NULL, &err);
    for (int i = 1; i < argc && status == POSREF_OK; i++) {
        struct posref_arena arena = posref_heap_arena(heap);
        status = fill(&out, db, argv[i], dtype, &arena, scratch, &err);
        posref_heap_reset(heap);
    }
    posref_db_close(db);
    int exit_code = status == POSREF_OK ? posref_write_out("faults", &out)
                                        : posref_report_error("faults", status, &err);
    posref_buffer_clear(&out);
    posref_heap_free(heap);
    posref_heap_free(scratch);
    return exit_code;
}
