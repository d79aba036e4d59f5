/* SPDX-License-Identifier: Apache-2.0 */
/* posref show ID: one vector as JSON, for people, or as a safetensors document. */
#include "vectors/commands.h"

#include <string.h>

static void print_help(void)
{
    puts("usage: posref show ID [--format json|text|safetensors] [--db FILE]\n"
         "\n"
         "Prints one golden vector: spec, inputs, outputs, flags, source. safetensors holds\n"
         "inputs and outputs as they are, bit for bit; redirect it to a file.\n"
         "\n"
         "Example:\n"
         "  posref show rope/half/none/d4-b1e4/near --format text");
}

static void add_rows(struct posref_buffer *out, const char *role,
                     const struct posref_tensor *tensor)
{
    posref_buffer_printf(out, "%s %s [", role, tensor->name);
    for (int axis = 0; axis < tensor->rank; axis++)
        posref_buffer_printf(out, "%s%lld", axis ? ", " : "", (long long)tensor->shape[axis]);
    posref_buffer_text(out, "]\n");
    int64_t count = posref_tensor_count(tensor);
    int64_t row = tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
    for (int64_t i = 0; i < count; i++) {
        posref_buffer_text(out, i % row ? " " : "  ");
        posref_buffer_number(out, ((const double *)tensor->data)[i]);
        if (i % row == row - 1)
            posref_buffer_text(out, "\n");
    }
}

static void add_text(struct posref_buffer *out, const struct posref_vector *vector)
{
    posref_buffer_printf(out, "id      %s\nsuite   %s\nop      %s\nspec    ", vector->id,
                         vector->suite_min, posref_op_name(vector->op));
    posref_spec_text(out, &vector->spec);
    posref_buffer_printf(out, "\nflags   %s\nsource  %s\n", vector->flags, vector->source);
    for (int i = 0; i < vector->inputs.n; i++)
        add_rows(out, "input", &vector->inputs.item[i]);
    for (int i = 0; i < vector->outputs.n; i++)
        add_rows(out, "output", &vector->outputs.item[i]);
}

enum format { FORMAT_JSON, FORMAT_TEXT, FORMAT_SAFETENSORS, N_FORMATS };

static enum posref_status fill(struct posref_buffer *out, struct posref_db *db, const char *id,
                               int format, const struct posref_arena *arena,
                               struct posref_error *err)
{
    bool found = false;
    char sha256[65];
    const char *json;
    size_t length;
    struct posref_vector vector;
    enum posref_status status;
    if (format == FORMAT_JSON) {
        status = posref_db_json(db, id, true, &json, &length, sha256, &found, err);
        if (status == POSREF_OK && found)
            posref_buffer_add(out, json, length);
    } else {
        status = posref_db_get(db, id, &vector, &found, arena, err);
        if (status == POSREF_OK && found && format == FORMAT_TEXT)
            add_text(out, &vector);
        else if (status == POSREF_OK && found)
            posref_vector_safetensors(out, &vector, true);
    }
    char successor[POSREF_MAX_ID + 1];
    bool retired = false;
    if (status == POSREF_OK && !found)
        status = posref_db_successor(db, id, successor, &retired, err);
    if (status == POSREF_OK && retired)
        return posref_fail(err, POSREF_BAD_INPUT, id, "was retired; %s took its place", successor);
    if (status == POSREF_OK && !found)
        return posref_fail(err, POSREF_BAD_INPUT, id, "no such vector");
    if (status == POSREF_OK && out->failed)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    return status;
}

static enum posref_status read_format(int *out, const char *text, struct posref_error *err)
{
    static const char *const names[N_FORMATS] = {"json", "text", "safetensors"};
    for (int i = 0; i < N_FORMATS; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return POSREF_OK;
        }
    }
    return posref_fail(err, POSREF_BAD_INPUT, "--format",
                       "must be json, text or safetensors; got '%.40s'", text);
}

int posref_cmd_show(int argc, char **argv)
{
    const char *format_text = "json", *path = NULL;
    const struct posref_option options[] = {
        {"--format", &format_text, NULL}, {"--db", &path, NULL}, {NULL, NULL, NULL}};
    struct posref_error err = {{0}, {0}};
    struct posref_db *db = NULL;
    struct posref_buffer out;
    int format = FORMAT_JSON;
    if (posref_wants_help(argc, argv)) {
        print_help();
        return POSREF_EXIT_OK;
    }
    posref_buffer_init(&out, (size_t)1 << 28);
    struct posref_heap *heap = posref_heap_new(0);
    enum posref_status status = posref_options_read(options, &argc, argv, &err);
    if (status == POSREF_OK && !heap)
        status = posref_fail(&err, POSREF_NO_MEMORY, "", "no memory");
    if (status == POSREF_OK && argc != 2)
        status = posref_fail(&err, POSREF_BAD_INPUT, "ID", "exactly one is needed");
    if (status == POSREF_OK)
        status = read_format(&format, format_text, &err);
    if (status == POSREF_OK)
        status = posref_db_open_progress(&db, path, posref_progress_terminal, NULL, &err);
    if (status == POSREF_OK) {
        struct posref_arena arena = posref_heap_arena(heap);
        status = fill(&out, db, argv[1], format, &arena, &err);
    }
    posref_db_close(db);
    int exit_code = status == POSREF_OK ? posref_write_out("show", &out)
                                        : posref_report_error("show", status, &err);
    posref_buffer_clear(&out);
    posref_heap_free(heap);
    return exit_code;
}
