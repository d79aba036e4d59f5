/* SPDX-License-Identifier: Apache-2.0 */
/* posref suites: the suites of a database, with versions, counts and digests. */
#include "vectors/commands.h"

static void print_help(void)
{
    puts("usage: posref suites [--format text|json] [--db FILE]\n"
         "\n"
         "Lists suites, smallest first: name, version, vectors, SHA-256 of the content. A suite\n"
         "holds every smaller one.\n"
         "\n"
         "Example:\n"
         "  posref suites");
}

static void add_suite(struct posref_buffer *out, const struct posref_suite_info *info, bool json)
{
    if (json)
        posref_buffer_printf(out,
                             "{\"name\": \"%s\", \"version\": \"%s\", \"vectors\": %lld, "
                             "\"digest\": \"%s\"}",
                             info->name, info->version, (long long)info->n_vectors, info->digest);
    else
        posref_buffer_printf(out, "%s %s %lld %s\n", info->name, info->version,
                             (long long)info->n_vectors, info->digest);
}

int posref_cmd_suites(int argc, char **argv)
{
    const char *format = "text", *path = NULL;
    const struct posref_option options[] = {
        {"--format", &format, NULL}, {"--db", &path, NULL}, {NULL, NULL, NULL}};
    struct posref_error err = {{0}, {0}};
    bool json = false;
    if (posref_wants_help(argc, argv)) {
        print_help();
        return POSREF_EXIT_OK;
    }
    struct posref_db *db = NULL;
    struct posref_suite_info info[8];
    size_t n = sizeof info / sizeof *info;
    enum posref_status status = posref_options_read(options, &argc, argv, &err);
    if (status == POSREF_OK && argc > 1)
        status = posref_fail(&err, POSREF_BAD_INPUT, argv[1], "not an option of suites");
    if (status == POSREF_OK)
        status = posref_format_json(&json, format, &err);
    if (status == POSREF_OK)
        status = posref_db_open_progress(&db, path, posref_progress_terminal, NULL, &err);
    if (status == POSREF_OK)
        status = posref_db_suites(db, info, &n, &err);
    posref_db_close(db);
    if (status != POSREF_OK)
        return posref_report_error("suites", status, &err);
    struct posref_buffer out;
    posref_buffer_init(&out, 1 << 16);
    posref_buffer_text(&out, json ? "{\"suites\": [" : "");
    for (size_t i = 0; i < n; i++) {
        posref_buffer_text(&out, json && i ? ", " : "");
        add_suite(&out, &info[i], json);
    }
    posref_buffer_text(&out, json ? "]}\n" : "");
    int exit_code = posref_write_out("suites", &out);
    posref_buffer_clear(&out);
    return exit_code;
}
