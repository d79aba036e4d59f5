/* SPDX-License-Identifier: Apache-2.0 */
/* posref generate: writes the golden database. */
#include "vectors/case.h"
#include "vectors/commands.h"

#include <string.h>
#include <unistd.h>

static void print_help(void)
{
    puts("usage: posref generate [--suite NAME] [-o FILE] [-j N]\n"
         "       posref generate --cases\n"
         "\n"
         "Computes every golden vector and writes the database. It appears whole or not at all.\n"
         "  --suite NAME   smoke, core (default) or full\n"
         "  -o FILE        where to write (default: posref-NAME.db)\n"
         "  -j N           threads (default: one a core)\n"
         "  --cases        print the expanded case list instead, the input of posref-digest\n"
         "\n"
         "Example:\n"
         "  posref generate --suite smoke -o smoke.db");
}

void posref_progress_terminal(void *ctx, size_t n_done, size_t n_total)
{
    (void)ctx;
    if ((n_done % 50 && n_done != n_total) || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\rposref: %zu of %zu golden vectors%s", n_done, n_total,
            n_done == n_total ? "\n" : "");
    fflush(stderr);
}

static int print_cases(void)
{
    struct posref_error err = {{0}, {0}};
    struct posref_case_list list;
    struct posref_buffer out;
    struct posref_heap *heap = posref_heap_new(0);
    posref_buffer_init(&out, (size_t)1 << 28);
    if (!heap) {
        enum posref_status status = posref_fail(&err, POSREF_NO_MEMORY, "", "no memory");
        return posref_report_error("generate", status, &err);
    }
    struct posref_arena arena = posref_heap_arena(heap);
    enum posref_status status = posref_suites_load(&list, NULL, &arena, &err);
    if (status == POSREF_OK)
        posref_cases_text(&out, &list);
    int exit_code = status == POSREF_OK ? posref_write_out("generate", &out)
                                        : posref_report_error("generate", status, &err);
    posref_buffer_clear(&out);
    posref_heap_free(heap);
    return exit_code;
}

int posref_cmd_generate(int argc, char **argv)
{
    const char *suite = NULL, *path = NULL, *threads = NULL;
    bool cases = false;
    const struct posref_option options[] = {
        {"--suite", &suite, NULL}, {"-o", &path, NULL}, {"-j", &threads, NULL},
        {"--cases", NULL, &cases}, {NULL, NULL, NULL}};
    struct posref_error err = {{0}, {0}};
    char named[64];
    double n_threads = 0;
    if (posref_wants_help(argc, argv)) {
        print_help();
        return POSREF_EXIT_OK;
    }
    enum posref_status status = posref_options_read(options, &argc, argv, &err);
    if (status == POSREF_OK && argc > 1)
        status = posref_fail(&err, POSREF_BAD_INPUT, argv[1], "not an option of generate");
    if (status == POSREF_OK && threads)
        status = posref_number_parse(&n_threads, threads, "-j", &err);
    if (status == POSREF_OK && threads &&
        !(n_threads >= 1 && n_threads <= 1024 && n_threads == (int)n_threads))
        status = posref_fail(&err, POSREF_BAD_INPUT, "-j", "must be a number of threads");
    if (status == POSREF_OK && cases && (suite || path || threads))
        status = posref_fail(&err, POSREF_BAD_INPUT, "--cases",
                             "prints the cases of every suite, and goes with no other option");
    if (status != POSREF_OK)
        return posref_report_error("generate", status, &err);
    if (cases)
        return print_cases();
    if (!suite)
        suite = "core";
    if (!path) {
        snprintf(named, sizeof named, "posref-%.40s.db", suite);
        path = named;
    }
    status = posref_generate(path, suite, (int)n_threads, posref_progress_terminal, NULL, &err);
    return status == POSREF_OK ? POSREF_EXIT_OK : posref_report_error("generate", status, &err);
}
