/* SPDX-License-Identifier: Apache-2.0 */
/* The command posref merge: the reports of shards in, one report out. */
#include "commands.h"
#include "merge.h"
#include "report_targets.h"
#include "vectors/files.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FILES 1024
#define MAX_BYTES ((size_t)1 << 30)

static const char help[] =
    "usage: posref merge REPORT... [--report FORMAT[:FILE]]...\n\n"
    "Joins the jsonl reports of posref test --shard into the report of the whole run, and proves\n"
    "that every vector was judged exactly once: a shard that is missing, incomplete, there twice,\n"
    "or of another suite, plugin or filter is an error.\n\n"
    "  --report FORMAT[:FILE]   as for posref test: text (default), json, jsonl, junit, tap,\n"
    "                           github, markdown or html; may be repeated\n\n"
    "Exit codes: 0 the run conforms; 1 it does not; 2 bad input, or nothing was judged.\n\n"
    "Example:\n  posref merge shard-1.jsonl shard-2.jsonl --report junit:all.xml\n";

struct merge_files {
    struct posref_merge_input item[MAX_FILES];
    struct posref_buffer text[MAX_FILES];
    size_t n;
};

static enum posref_status read_file(struct posref_buffer *out, const char *path,
                                    struct posref_error *err)
{
    FILE *file = fopen(path, "rbe");
    posref_buffer_init(out, MAX_BYTES);
    posref_buffer_text(out, "");
    if (!file)
        return posref_fail(err, POSREF_BAD_INPUT, path, "cannot be opened");
    bool good = posref_buffer_read(out, file);
    fclose(file);
    return good ? POSREF_OK : posref_fail(err, POSREF_BAD_INPUT, path,
                                          "cannot be read, or is larger than 1 GiB");
}

static enum posref_status read_arguments(struct merge_files *files,
                                         struct posref_report_targets *targets, int argc,
                                         char **argv, struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    for (int i = 1; i < argc && status == POSREF_OK; i++) {
        const char *text = argv[i];
        if (strncmp(text, "--report", 8) == 0 && (text[8] == '=' || text[8] == '\0')) {
            if (text[8] == '\0' && i + 1 == argc)
                return posref_fail(err, POSREF_BAD_INPUT, "--report", "needs a value");
            status = posref_targets_add(targets, text[8] ? text + 9 : argv[++i], err);
        } else if (text[0] == '-') {
            return posref_fail(err, POSREF_BAD_INPUT, text, "no such option");
        } else if (files->n == MAX_FILES) {
            return posref_fail(err, POSREF_BAD_INPUT, text, "more than %d reports", MAX_FILES);
        } else {
            struct posref_buffer *into = &files->text[files->n];
            status = read_file(into, text, err);
            files->item[files->n++] =
                (struct posref_merge_input){text, into->data, into->length};
        }
    }
    if (status == POSREF_OK && files->n == 0)
        return posref_fail(err, POSREF_BAD_INPUT, "REPORT", "missing: the shards' jsonl reports");
    return status;
}

static enum posref_status merge(struct merge_files *files, struct posref_report_targets *targets,
                                int argc, char **argv, int *code, struct posref_error *err)
{
    struct posref_buffer stream;
    bool conforms = false;
    int64_t n_judged = 0;
    posref_buffer_init(&stream, MAX_BYTES);
    enum posref_status status = read_arguments(files, targets, argc, argv, err);
    if (status == POSREF_OK)
        status = posref_merge(&stream, &conforms, &n_judged, files->item, files->n, err);
    if (status == POSREF_OK) {
        posref_targets_open(targets);
        if (!posref_targets_keep(targets, stream.data, stream.length))
            status = posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    }
    posref_buffer_clear(&stream);
    if (status == POSREF_OK)
        status = posref_targets_write(targets, err);
    if (status == POSREF_OK && conforms && n_judged == 0)
        return posref_fail(err, POSREF_BAD_INPUT, "REPORT", "nothing was judged");
    *code = conforms ? POSREF_EXIT_OK : POSREF_EXIT_FAIL;
    return status;
}

int posref_cmd_merge(int argc, char **argv)
{
    struct posref_error err = {{0}, {0}};
    struct posref_report_targets targets;
    int code = POSREF_EXIT_BROKEN;
    if (posref_wants_help(argc, argv)) {
        fputs(help, stdout);
        return POSREF_EXIT_OK;
    }
    struct merge_files *files = calloc(1, sizeof *files);
    if (!files)
        return posref_report_error("merge", POSREF_NO_MEMORY, &err);
    posref_targets_init(&targets, stdout);
    enum posref_status status = merge(files, &targets, argc, argv, &code, &err);
    if (status != POSREF_OK)
        code = posref_report_error("merge", status, &err);
    posref_targets_clear(&targets);
    for (size_t k = 0; k < files->n; k++)
        posref_buffer_clear(&files->text[k]);
    free(files);
    return code;
}
