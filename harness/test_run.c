/* SPDX-License-Identifier: Apache-2.0 */
/* A run of posref test: the suite, the plugin, chunk after chunk, the footer. */
#include "test_run.h"

#include "exec_plugin.h"
#include "float8.h"
#include "test_run_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum posref_status no_memory(struct posref_error *err)
{
    return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
}

enum posref_status posref_run_emit(struct posref_run *run, struct posref_buffer *lines,
                               struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    if (lines->failed)
        status = no_memory(err);
    else if (!run->sink(run->sink_ctx, lines->data, lines->length))
        status = posref_fail(err, POSREF_IO, "--report", "cannot be written");
    posref_buffer_clear(lines);
    return status;
}

void posref_run_mark(struct posref_run *run, struct posref_stream_line *line)
{
    enum posref_baseline_answer answer = posref_baseline_look(
        run->options->baseline, line->vector->id, line->dtype, line->verdict);
    line->known = answer == POSREF_BASELINE_KNOWN;
    line->fixed = answer == POSREF_BASELINE_FIXED;
    line->required = line->verdict == POSREF_VERDICT_UNSUPPORTED &&
                     run->options->require[line->vector->op] &&
                     !posref_float8_excludes(line->dtype, line->vector);
    run->counts.n_known += line->known;
    run->counts.n_fixed += line->fixed;
    run->counts.n_required += line->required;
}

const uint64_t *posref_run_nonce(const struct posref_run *run, const char *id)
{
    return posref_id_is_fresh(id) || posref_id_is_property(id) ? &run->options->nonce : NULL;
}

/* ---- the plugin ---- */

static enum posref_status find_suite(struct posref_run *run, struct posref_error *err)
{
    struct posref_suite_info suites[16];
    size_t n = sizeof suites / sizeof *suites;
    size_t length = strcspn(run->options->suite, "@");
    enum posref_status status = posref_db_suites(run->db, suites, &n, err);
    for (size_t k = 0; k < n && status == POSREF_OK; k++)
        if (strlen(suites[k].name) == length &&
            strncmp(suites[k].name, run->options->suite, length) == 0)
            run->suite = suites[k];
    return status;
}


static enum posref_status digest_plugin(char out[65], const char *path, struct posref_error *err)
{
    /* A named pipe without a writer would block a plain open for ever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    void *bytes = MAP_FAILED;
    if (fd < 0 && strncmp(path, POSREF_EXEC_PREFIX, strlen(POSREF_EXEC_PREFIX)) == 0) {
        posref_sha256_hex(out, path, strlen(path)); /* a command has no file of its own */
        return POSREF_OK;
    }
    if (fd < 0)
        return posref_fail(err, POSREF_BAD_INPUT, path, "cannot be opened");
    bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
    if (regular)
        bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return posref_fail(err, POSREF_BAD_INPUT, path, "is no shared library");
    posref_sha256_hex(out, bytes, (size_t)info.st_size);
    munmap(bytes, (size_t)info.st_size);
    return POSREF_OK;
}

static void name_groups(struct posref_run *run)
{
    for (int s = 0; s < POSREF_N_SCHEMES; s++)
        for (int op = 0; op < POSREF_N_OPS; op++)
            for (int d = 0; d < POSREF_N_FLOATS; d++)
                snprintf(run->group[s][op][d], sizeof run->group[s][op][d], "%s %s %s",
                         posref_scheme_info((enum posref_scheme)s)->name,
                         posref_op_name((enum posref_op)op),
                         posref_dtype_name((enum posref_dtype)d));
}

/* The plugin, and the layouts it is offered. */
static enum posref_status start_plugin(struct posref_run *run, struct posref_error *err)
{
    const struct posref_test_options *options = run->options;
    const struct posref_runner_options runner = {.plugin_path = options->plugin,
                                                 .config = options->config,
                                                 .start_timeout_s = options->start_timeout_s,
                                                 .timeout_s = options->timeout_s,
                                                 .memory_limit_bytes =
                                                     options->memory_limit_bytes};
    enum posref_status status = POSREF_OK;
    run->layouts = options->layouts;
    run->layouts.plain = options->layouts.plain || !options->layouts.given;
    if (options->answers) {
        posref_sha256_hex(run->plugin_sha256, options->plugin, strlen(options->plugin));
        return POSREF_OK;
    }
    status = digest_plugin(run->plugin_sha256, options->plugin, err);
    if (status == POSREF_OK)
        status = posref_runner_new(&run->runner, &runner, err);
    if (status == POSREF_OK && !options->layouts.given)
        status = posref_layouts_parse(&run->layouts.plain, run->layouts.layout,
                                      posref_runner_plugin_layouts(run->runner), NULL, err);
    return status;
}

static enum posref_status begin(struct posref_run *run, struct posref_error *err)
{
    const struct posref_test_options *options = run->options;
    struct posref_buffer line;
    name_groups(run);
    posref_buffer_init(&line, POSREF_MAX_LINE_BYTES);
    const struct posref_stream_header header = {
        .options = options,
        .suite = &run->suite,
        .plugin_name = run->runner ? posref_runner_plugin_name(run->runner) : "answers",
        .plugin_version = run->runner ? posref_runner_plugin_version(run->runner) : "",
        .plugin_sha256 = run->plugin_sha256,
        .db_path = posref_db_path(run->db),
        .n_vectors = run->choice.n,
        .n_selected = run->choice.n_selected,
        .selection_sha256 = run->choice.selection};
    posref_stream_header(&line, &header);
    return posref_run_emit(run, &line, err);
}

/* ---- the whole ---- */

/* What each of the first failures is explained by. */
static void add_sentences(struct posref_buffer *out, const struct posref_run *run)
{
    const char *separator = "";
    posref_buffer_text(out, "[");
    for (size_t k = 0; k < run->n_named; k++) {
        struct posref_buffer text;
        const char *space = strrchr(run->named[k], ' ');
        posref_buffer_init(&text, 1 << 16);
        if (posref_explainer_sentence(&text, run->explainer, k)) {
            posref_buffer_add(&text, "", 1);
            posref_buffer_printf(out, "%s{\"id\": \"%.*s\", \"dtype\": \"%s\", \"summary\": ",
                                 separator, (int)(space - run->named[k]), run->named[k], space + 1);
            posref_buffer_json_string(out, text.failed ? "" : text.data);
            posref_buffer_text(out, "}");
            separator = ", ";
        }
        posref_buffer_clear(&text);
    }
    posref_buffer_text(out, "]");
}

#define N_TEXTS 4

/* The search, its results and the arithmetic, in buffers that the caller clears. */
static enum posref_status explain(struct posref_buffer text[N_TEXTS], size_t *n_unexplained,
                                  struct posref_run *run, struct posref_error *err)
{
    enum posref_status status = posref_explainer_search(run->explainer, err);
    if (status != POSREF_OK)
        return status;
    posref_explainer_json(&text[0], n_unexplained, run->explainer);
    posref_explainer_describe(&text[1], run->explainer);
    add_sentences(&text[2], run);
    posref_arithmetic_json(&text[3], run->arithmetic, run->options->shard_of > 0);
    for (int k = 0; k < N_TEXTS; k++) {
        posref_buffer_add(&text[k], "", 1);
        if (text[k].failed)
            status = no_memory(err);
    }
    return status;
}

static enum posref_status end(struct posref_run *run, bool *conforms, int64_t *n_judged,
                              struct posref_error *err)
{
    struct posref_buffer text[N_TEXTS], line;
    struct posref_stream_footer footer = {.counts = &run->counts};
    for (int k = 0; k < N_TEXTS; k++)
        posref_buffer_init(&text[k], (size_t)64 << 20);
    posref_buffer_init(&line, (size_t)65 << 20);
    enum posref_status status = explain(text, &footer.n_unexplained, run, err);
    char printed[4096 + 1] = "";
    if (run->runner) {
        footer.left = posref_runner_left(run->runner);
        footer.n_workers = posref_runner_n_workers(run->runner);
        posref_runner_close(run->runner, &footer.close_verdict);
        snprintf(printed, sizeof printed, "%s",
                 posref_runner_captured(run->runner, &footer.printed_bytes));
    }
    footer.printed = printed;
    footer.explanations = text[0].data;
    footer.description = text[1].data;
    footer.sentences = text[2].data;
    footer.arithmetic = text[3].data;
    *conforms = posref_counts_conform(&run->counts, footer.close_verdict, n_judged);
    footer.conforms = *conforms && *n_judged > 0;
    if (status == POSREF_OK) {
        posref_stream_footer(&line, &footer);
        status = posref_run_emit(run, &line, err);
    }
    for (int k = 0; k < N_TEXTS; k++)
        posref_buffer_clear(&text[k]);
    return status;
}

static enum posref_status run_all(struct posref_run *run, struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    for (size_t next = 0; next < run->choice.n && status == POSREF_OK;) {
        if (posref_id_is_property(run->choice.id[next])) {
            status = posref_run_property(run, run->choice.id[next++], err);
            continue;
        }
        status = posref_run_load(run, &next, err);
        if (status == POSREF_OK)
            status = posref_run_trials(run, err);
        if (status == POSREF_OK)
            status = posref_run_judge(run, err);
    }
    return status;
}

enum posref_status posref_test_run(bool *conforms, int64_t *n_judged,
                                   const struct posref_test_options *options,
                                   posref_stream_sink *sink, void *sink_ctx,
                                   struct posref_error *err)
{
    struct posref_run *run = calloc(1, sizeof *run);
    if (!run)
        return no_memory(err);
    run->options = options;
    run->sink = sink;
    run->sink_ctx = sink_ctx;
    run->heap = posref_heap_new(0);
    run->scratch = posref_heap_new(0);
    run->explainer = posref_explainer_new();
    run->arithmetic = posref_arithmetic_new();
    enum posref_status status = POSREF_OK;
    if (!run->heap || !run->scratch || !run->explainer || !run->arithmetic)
        status = no_memory(err);
    if (status == POSREF_OK)
        status = posref_db_open_progress(&run->db, options->db_path, posref_progress_terminal,
                                         NULL, err);
    if (status == POSREF_OK)
        status = find_suite(run, err);
    if (status == POSREF_OK)
        status = start_plugin(run, err);
    if (status == POSREF_OK)
        status = posref_choose(&run->choice, run->db, options, &run->layouts, err);
    if (status == POSREF_OK)
        status = begin(run, err);
    if (status == POSREF_OK)
        status = run_all(run, err);
    if (status == POSREF_OK)
        status = end(run, conforms, n_judged, err);
    posref_runner_free(run->runner);
    posref_explainer_free(run->explainer);
    posref_arithmetic_free(run->arithmetic);
    posref_db_close(run->db);
    posref_choice_clear(&run->choice);
    posref_heap_free(run->heap);
    posref_heap_free(run->scratch);
    free(run);
    return status;
}
