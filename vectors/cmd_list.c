/* SPDX-License-Identifier: Apache-2.0 */
/* posref list KEY=VALUE...: the vectors that match. */
#include "vectors/commands.h"

#include <string.h>

static void print_help(void)
{
    puts("usage: posref list [KEY=VALUE...] [--suite NAME[@VERSION]] [--format text|json]\n"
         "                   [--db FILE]\n"
         "\n"
         "Lists the vectors for which every condition holds, one id a line. KEY is any field of a\n"
         "spec, op, flag, or id (then VALUE is how the id begins). Nothing that matches is an\n"
         "error (exit 2).\n"
         "\n"
         "Example:\n"
         "  posref list scheme=rope pairing=half scaling=yarn op=rotate --suite smoke");
}

struct listing {
    struct posref_buffer out;
    size_t n;
};

static bool list_id(void *ctx, const char *id)
{
    struct listing *listing = ctx;
    posref_buffer_text(&listing->out, id);
    posref_buffer_text(&listing->out, "\n");
    listing->n++;
    return !listing->out.failed;
}

static bool list_json(void *ctx, const struct posref_vector *vector)
{
    struct listing *listing = ctx;
    posref_buffer_text(&listing->out, listing->n++ ? ",\n" : "");
    posref_vector_head_json(&listing->out, vector);
    posref_buffer_text(&listing->out, "}");
    return !listing->out.failed;
}

static enum posref_status fill(struct listing *listing, struct posref_db *db, int argc,
                               char **argv, const char *suite, bool json, struct posref_error *err)
{
    struct posref_filter *filter = posref_filter_new();
    if (!filter)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    enum posref_status status = posref_filter_arguments(filter, argc, argv, err);
    posref_buffer_text(&listing->out, json ? "{\"vectors\": [" : "");
    if (status == POSREF_OK && json)
        status = posref_db_each(db, filter, suite, NULL, -1, list_json, listing, err);
    else if (status == POSREF_OK)
        status = posref_db_ids(db, filter, suite, NULL, -1, list_id, listing, err);
    posref_buffer_text(&listing->out, json ? "]}\n" : "");
    posref_filter_free(filter);
    if (status == POSREF_OK && listing->out.failed)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    if (status == POSREF_OK && listing->n == 0)
        return posref_fail(err, POSREF_BAD_INPUT, "", "no vector matches");
    return status;
}

int posref_cmd_list(int argc, char **argv)
{
    const char *format = "text", *path = NULL, *suite = NULL;
    const struct posref_option options[] = {{"--format", &format, NULL},
                                            {"--db", &path, NULL},
                                            {"--suite", &suite, NULL},
                                            {NULL, NULL, NULL}};
    struct posref_error err = {{0}, {0}};
    struct posref_db *db = NULL;
    struct listing listing = {.n = 0};
    bool json = false;
    if (posref_wants_help(argc, argv)) {
        print_help();
        return POSREF_EXIT_OK;
    }
    posref_buffer_init(&listing.out, (size_t)1 << 28);
    enum posref_status status = posref_options_read(options, &argc, argv, &err);
    if (status == POSREF_OK)
        status = posref_format_json(&json, format, &err);
    if (status == POSREF_OK)
        status = posref_db_open_progress(&db, path, posref_progress_terminal, NULL, &err);
    if (status == POSREF_OK)
        status = fill(&listing, db, argc, argv, suite, json, &err);
    posref_db_close(db);
    int exit_code = status == POSREF_OK ? posref_write_out("list", &listing.out)
                                        : posref_report_error("list", status, &err);
    posref_buffer_clear(&listing.out);
    return exit_code;
}
