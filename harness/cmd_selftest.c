/* SPDX-License-Identifier: Apache-2.0 */
/* The command posref selftest: the installed program must catch every bad plugin of the zoo. */
#include "choice.h"
#include "commands.h"
#include "draw.h"
#include "report_fields.h"
#include "selftest.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINES_BYTES ((size_t)1 << 28)

static const char help[] =
    "usage: posref selftest [--zoo DIR] [--db FILE]\n\n"
    "Judges bad plugins that crash, hang, write out of bounds, cheat or are wrong, and checks\n"
    "that each gets its verdict while the vectors on which it behaves keep theirs. DIR is where\n"
    "the plugins are: make install puts them in libexec/posref/mutants, make tests in\n"
    "build/mutants.\n\n"
    "Exit codes: 0 all were caught; 1 one was not; 2 there is no zoo.\n\n"
    "Example:\n  posref selftest\n";

/* What a run's lines say of one plugin. */
struct seen {
    const struct posref_bad_plugin *bad;
    int64_t n_bad, n_good; /* lines as they should be where dim is 4, and elsewhere */
    int64_t n_wrong;       /* the others */
    char close[32];
    struct posref_buffer lines;
};

static bool keep(void *ctx, const char *lines, size_t size_bytes)
{
    struct seen *seen = ctx;
    posref_buffer_add(&seen->lines, lines, size_bytes);
    return !seen->lines.failed;
}

static void look(void *ctx, const char *type, const json_t *line)
{
    struct seen *seen = ctx;
    const struct posref_bad_plugin *bad = seen->bad;
    if (strcmp(type, "footer") == 0)
        snprintf(seen->close, sizeof seen->close, "%s", text_of(line, "close"));
    if (strcmp(type, "vector") != 0)
        return;
    const char *verdict = text_of(line, "verdict");
    const bool here =
        bad->everywhere || strstr(text_of(line, "id"), bad->here ? bad->here : "/d4-");
    if (bad->id && strcmp(verdict, "unsupported") == 0)
        return;
    const enum posref_verdict want = here ? bad->verdict : POSREF_VERDICT_PASS;
    if (strcmp(verdict, posref_verdict_name(want)) != 0)
        seen->n_wrong++;
    else if (here)
        seen->n_bad++;
    else
        seen->n_good++;
}

/* Runs one plugin; *caught: everything became what it must. */
static enum posref_status try_plugin(bool *caught, const struct posref_bad_plugin *bad,
                                     const char *dir, const char *db_path,
                                     struct posref_error *err)
{
    const char *id = bad->id ? bad->id : "rope/half/none/";
    const bool fresh = posref_id_is_fresh(id);
    const char *const conditions[][2] = {
        {"id", id + (fresh ? strlen(POSREF_FRESH_PREFIX) : 0)}, {"op", "rotate"}};
    char path[4200];
    bool conforms = false;
    int64_t n_judged = 0;
    struct seen seen = {.bad = bad};
    struct posref_error why = {{0}, {0}};
    struct posref_filter *filter = posref_filter_new();
    enum posref_status status =
        filter ? POSREF_OK : posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    for (size_t k = 0; k < sizeof conditions / sizeof *conditions && status == POSREF_OK; k++)
        status = posref_filter_add(filter, conditions[k][0], conditions[k][1], err);
    snprintf(path, sizeof path, "%s/%s.so", dir, bad->name);
    struct posref_test_options options = {
        .plugin = path, .config = "", .suite = "smoke", .db_path = db_path, .filter = filter,
        .filter_text = "", .command = "posref selftest", .timeout_s = 1,
        .start_timeout_s = bad->memory_mib ? 20 : 2, /* to fill it */
        .memory_limit_bytes = (uint64_t)bad->memory_mib << 20,
        .id_kind = fresh                        ? POSREF_ID_FRESH
                   : posref_id_is_property(id) ? POSREF_ID_PROPERTY
                                               : POSREF_ID_GOLDEN};
    options.dtype[POSREF_F32] = true;
    options.gate[POSREF_F32] = posref_grade_default(POSREF_F32);
    posref_buffer_init(&seen.lines, MAX_LINES_BYTES);
    if (status == POSREF_OK)
        status = posref_nonce_new(&options.nonce, err);
    if (status == POSREF_OK)
        status = posref_test_run(&conforms, &n_judged, &options, keep, &seen, &why);
    posref_filter_free(filter);
    if (bad->no_plugin) {
        *caught = status == POSREF_BAD_INPUT && strcmp(why.key, "suite") != 0;
        status = POSREF_OK;
    } else if (status == POSREF_OK) {
        status = posref_stream_read(seen.lines.data, seen.lines.length, look, &seen, err);
        *caught = seen.n_wrong == 0 && seen.n_bad > 0 &&
                  (seen.n_good > 0 || bad->everywhere || fresh) &&
                  strcmp(seen.close, bad->close ? bad->close : "pass") == 0 &&
                  conforms == (bad->verdict == POSREF_VERDICT_PASS && !bad->close);
    } else if (err) {
        *err = why;
    }
    posref_buffer_clear(&seen.lines);
    return status;
}

/* Where the zoo is: as told, where make install puts it beside the program, or in the build. */
static bool find_zoo(char *out, size_t size_bytes, const char *told)
{
    static const char *const places[] = {"/../libexec/posref/mutants", "/mutants"};
    char program[4096], path[4200];
    if (told) {
        snprintf(out, size_bytes, "%s", told);
        snprintf(path, sizeof path, "%.4000s/%s.so", out, posref_zoo[0].name);
        return access(path, R_OK) == 0;
    }
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 64);
    if (n <= 0)
        return false;
    program[n] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        snprintf(out, size_bytes, "%s%s", program, places[k]);
        snprintf(path, sizeof path, "%.4000s/%s.so", out, posref_zoo[0].name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static enum posref_status selftest(int *code, const char *zoo, const char *db_path,
                                   struct posref_error *err)
{
    char dir[4150];
    int n = 0, n_missed = 0;
    if (!find_zoo(dir, sizeof dir, zoo))
        return posref_fail(err, POSREF_BAD_INPUT, zoo ? zoo : "--zoo",
                           "the bad plugins are not there; make tests builds them in "
                           "build/mutants, make install puts them beside the program");
    for (; posref_zoo[n].name; n++) {
        const struct posref_bad_plugin *bad = &posref_zoo[n];
        bool caught = false;
        enum posref_status status = try_plugin(&caught, bad, dir, db_path, err);
        if (status != POSREF_OK)
            return status;
        n_missed += !caught;
        printf("%-6s %-20s %s: %s\n", caught ? "ok" : "MISSED", bad->name, bad->what,
               bad->no_plugin ? "refused"
               : bad->close   ? "noticed"
                              : posref_verdict_name(bad->verdict));
        fflush(stdout);
    }
    printf("\n%d of %d bad plugins became what they must\n", n - n_missed, n);
    *code = n_missed ? POSREF_EXIT_FAIL : POSREF_EXIT_OK;
    return POSREF_OK;
}

int posref_cmd_selftest(int argc, char **argv)
{
    struct posref_error err = {{0}, {0}};
    const char *zoo = NULL, *db_path = NULL;
    int code = POSREF_EXIT_BROKEN;
    const struct posref_option options[] = {
        {"--zoo", &zoo, NULL}, {"--db", &db_path, NULL}, {NULL, NULL, NULL}};
    if (posref_wants_help(argc, argv)) {
        fputs(help, stdout);
        return POSREF_EXIT_OK;
    }
    enum posref_status status = posref_options_read(options, &argc, argv, &err);
    if (status == POSREF_OK && argc > 1)
        status = posref_fail(&err, POSREF_BAD_INPUT, argv[1], "no such option");
    if (status == POSREF_OK)
        status = selftest(&code, zoo, db_path, &err);
    return status == POSREF_OK ? code : posref_report_error("selftest", status, &err);
}
