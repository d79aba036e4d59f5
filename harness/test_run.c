/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors to trials, trials to the worker, what comes back to the judge, a line for each. */
#include "test_run.h"

#include "answers.h"
#include "exec_plugin.h"
#include "stream.h"
#include "trial.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_VECTORS 128
#define CHUNK_BYTES ((size_t)4 << 20) /* of doubles: dtypes of a chunk fit one hand-over */
#define MAX_LINE_BYTES ((size_t)1 << 20)
#define N_NAMED 64

struct run {
    const struct posref_test_options *options;
    posref_stream_sink *sink;
    void *sink_ctx;
    struct posref_db *db;
    struct posref_suite_info suite;
    struct posref_runner *runner;
    struct posref_explainer *explainer;
    struct posref_stream_counts counts;
    char named[N_NAMED][POSREF_MAX_ID + 8]; /* the first failures that are to be explained */
    size_t n_named;
    struct posref_heap *ids_heap, *heap, *scratch;
    const char **id;
    size_t n_ids, room_ids;
    size_t n_selected;  /* of all shards */
    char selection[65]; /* SHA-256 of their ids */
    /* The present chunk. */
    struct posref_vector vector[CHUNK_VECTORS];
    struct posref_trial trial[CHUNK_VECTORS * POSREF_N_FLOATS];
    enum posref_dtype dtype[CHUNK_VECTORS * POSREF_N_FLOATS];
    size_t of[CHUNK_VECTORS * POSREF_N_FLOATS]; /* the trial's vector */
    size_t n_vectors, n_trials;
    char group[POSREF_N_SCHEMES][POSREF_N_OPS][POSREF_N_FLOATS][64];
};

static enum posref_status no_memory(struct posref_error *err)
{
    return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
}

static enum posref_status emit(struct run *run, struct posref_buffer *lines,
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

/* ---- which vectors ---- */

static bool keep_id(void *ctx, const char *id)
{
    struct run *run = ctx;
    const struct posref_arena arena = posref_heap_arena(run->ids_heap);
    char *copy = arena.alloc(arena.ctx, strlen(id) + 1);
    if (run->n_ids == run->room_ids) {
        size_t room = run->room_ids ? 2 * run->room_ids : 1024;
        const char **grown = realloc(run->id, room * sizeof *grown);
        if (!grown)
            return false;
        run->id = grown;
        run->room_ids = room;
    }
    if (!copy)
        return false;
    memcpy(copy, id, strlen(id) + 1);
    run->id[run->n_ids++] = copy;
    return true;
}

static enum posref_status find_suite(struct run *run, struct posref_error *err)
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

/* The SHA-256 of the chosen ids, and then only every shard_of-th of them. */
static enum posref_status keep_shard(struct run *run, struct posref_error *err)
{
    const struct posref_test_options *options = run->options;
    struct posref_buffer ids;
    posref_buffer_init(&ids, (size_t)1 << 28);
    for (size_t k = 0; k < run->n_ids; k++) {
        posref_buffer_text(&ids, run->id[k]);
        posref_buffer_text(&ids, "\n");
    }
    if (!ids.failed)
        posref_sha256_hex(run->selection, ids.data, ids.length);
    bool failed = ids.failed;
    posref_buffer_clear(&ids);
    if (failed)
        return no_memory(err);
    run->n_selected = run->n_ids;
    if (options->shard_of == 0)
        return POSREF_OK;
    if ((size_t)options->shard_of > run->n_ids)
        return posref_fail(err, POSREF_BAD_INPUT, "--shard", "%d shards, but only %zu vectors",
                           options->shard_of, run->n_ids);
    size_t kept = 0;
    for (size_t k = (size_t)options->shard - 1; k < run->n_ids; k += (size_t)options->shard_of)
        run->id[kept++] = run->id[k];
    run->n_ids = kept;
    return POSREF_OK;
}

static enum posref_status choose_vectors(struct run *run, struct posref_error *err)
{
    const struct posref_test_options *options = run->options;
    enum posref_status status = find_suite(run, err);
    if (status == POSREF_OK)
        status = posref_db_ids(run->db, options->filter, options->suite, NULL, -1, keep_id, run,
                               err);
    if (status != POSREF_OK)
        return status;
    /* id= is a prefix; where a vector has just this name, it is meant alone. */
    for (size_t k = 0; k < run->n_ids && options->id; k++)
        if (strcmp(run->id[k], options->id) == 0) {
            run->id[0] = run->id[k];
            run->n_ids = 1;
        }
    if (run->n_ids == 0)
        return posref_fail(err, POSREF_BAD_INPUT, "", "no vector matches");
    return keep_shard(run, err);
}

/* ---- the plugin ---- */

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

static void name_groups(struct run *run)
{
    for (int s = 0; s < POSREF_N_SCHEMES; s++)
        for (int op = 0; op < POSREF_N_OPS; op++)
            for (int d = 0; d < POSREF_N_FLOATS; d++)
                snprintf(run->group[s][op][d], sizeof run->group[s][op][d], "%s %s %s",
                         posref_scheme_info((enum posref_scheme)s)->name,
                         posref_op_name((enum posref_op)op),
                         posref_dtype_name((enum posref_dtype)d));
}

static enum posref_status begin(struct run *run, struct posref_error *err)
{
    const struct posref_test_options *options = run->options;
    const struct posref_runner_options runner = {.plugin_path = options->plugin,
                                                 .config = options->config,
                                                 .start_timeout_s = options->start_timeout_s,
                                                 .timeout_s = options->timeout_s,
                                                 .memory_limit_bytes =
                                                     options->memory_limit_bytes};
    char digest[65];
    name_groups(run);
    enum posref_status status = POSREF_OK;
    if (options->answers)
        posref_sha256_hex(digest, options->plugin, strlen(options->plugin));
    else
        status = digest_plugin(digest, options->plugin, err);
    if (status == POSREF_OK && !options->answers)
        status = posref_runner_new(&run->runner, &runner, err);
    if (status != POSREF_OK)
        return status;
    struct posref_buffer line;
    posref_buffer_init(&line, MAX_LINE_BYTES);
    const struct posref_stream_header header = {
        .options = options,
        .suite = &run->suite,
        .plugin_name = run->runner ? posref_runner_plugin_name(run->runner) : "answers",
        .plugin_version = run->runner ? posref_runner_plugin_version(run->runner) : "",
        .plugin_sha256 = digest,
        .db_path = posref_db_path(run->db),
        .n_vectors = run->n_ids,
        .n_selected = run->n_selected,
        .selection_sha256 = run->selection};
    posref_stream_header(&line, &header);
    return emit(run, &line, err);
}

/* ---- a chunk ---- */

static size_t bytes_of(const struct posref_tensors *set)
{
    size_t bytes = 0;
    for (int i = 0; i < set->n; i++)
        bytes += (size_t)posref_tensor_count(&set->item[i]) * sizeof(double);
    return bytes;
}

static enum posref_status add_trials(struct run *run, const struct posref_vector *vector,
                                     struct posref_error *err)
{
    const struct posref_arena arena = posref_heap_arena(run->heap);
    struct posref_buffer text;
    posref_buffer_init(&text, 65536);
    posref_spec_text(&text, &vector->spec);
    posref_buffer_add(&text, "", 1);
    char *spec = text.failed ? NULL : arena.alloc(arena.ctx, text.length);
    if (spec)
        memcpy(spec, text.data, text.length);
    posref_buffer_clear(&text);
    enum posref_status status = spec ? POSREF_OK : no_memory(err);
    for (int d = 0; d < POSREF_N_FLOATS && status == POSREF_OK; d++) {
        if (!run->options->dtype[d])
            continue;
        run->dtype[run->n_trials] = (enum posref_dtype)d;
        run->of[run->n_trials] = run->n_vectors;
        struct posref_trial *trial = &run->trial[run->n_trials++];
        status = posref_trial_make(trial, vector, spec, (enum posref_dtype)d, &arena, err);
        trial->group = run->group[vector->spec.scheme][vector->op][d];
    }
    return status;
}

/* Loads vectors from number *next on, as many as make a chunk. */
static enum posref_status load(struct run *run, size_t *next, struct posref_error *err)
{
    size_t bytes = 0;
    posref_heap_reset(run->heap);
    run->n_vectors = run->n_trials = 0;
    const struct posref_arena arena = posref_heap_arena(run->heap);
    while (*next < run->n_ids && run->n_vectors < CHUNK_VECTORS && bytes < CHUNK_BYTES) {
        struct posref_vector *vector = &run->vector[run->n_vectors];
        bool found = false;
        enum posref_status status = posref_db_get(run->db, run->id[*next], vector, &found, &arena,
                                                  err);
        if (status == POSREF_OK && !found)
            status = posref_fail(err, POSREF_INTERNAL, run->id[*next], "went missing");
        if (status == POSREF_OK)
            status = add_trials(run, vector, err);
        if (status != POSREF_OK)
            return status;
        bytes += bytes_of(&vector->inputs) + bytes_of(&vector->outputs);
        run->n_vectors++;
        ++*next;
    }
    return POSREF_OK;
}

static enum posref_status judge(struct run *run, struct posref_stream_line *line,
                                struct posref_judgement *judgement, struct posref_error *err)
{
    const struct posref_vector *v = line->vector;
    const struct posref_arena scratch = posref_heap_arena(run->scratch);
    const enum posref_grade gate = run->options->gate[line->dtype];
    enum posref_status status = posref_judge(judgement, &v->spec, v->op, &v->inputs, &v->outputs,
                                             &line->trial->out, line->dtype, gate, &scratch, err);
    if (status != POSREF_OK)
        return status;
    line->judgement = judgement;
    run->counts.grade[judgement->grade]++;
    run->counts.n_compared += judgement->n_compared;
    run->counts.n_judged += judgement->n_judged;
    if (judgement->pass)
        return POSREF_OK;
    line->verdict = POSREF_VERDICT_FAIL;
    /* A lower grade's limits hold: the arithmetic is less exact, nothing is wrong to explain. */
    if (judgement->grade != POSREF_GRADE_FAIL)
        return POSREF_OK;
    if (run->n_named < N_NAMED)
        snprintf(run->named[run->n_named++], sizeof run->named[0], "%s %s", v->id,
                 posref_dtype_name(line->dtype));
    return posref_explainer_add(run->explainer, v, &line->trial->out, line->dtype, err);
}

/* What the baseline and --require say of the verdict. */
static void mark(struct run *run, struct posref_stream_line *line)
{
    enum posref_baseline_answer answer = posref_baseline_look(
        run->options->baseline, line->vector->id, line->dtype, line->verdict);
    line->known = answer == POSREF_BASELINE_KNOWN;
    line->fixed = answer == POSREF_BASELINE_FIXED;
    line->required = line->verdict == POSREF_VERDICT_UNSUPPORTED &&
                     run->options->require[line->vector->op];
    run->counts.n_known += line->known;
    run->counts.n_fixed += line->fixed;
    run->counts.n_required += line->required;
}

static enum posref_status judge_chunk(struct run *run, struct posref_error *err)
{
    struct posref_buffer lines;
    enum posref_status status = POSREF_OK;
    posref_buffer_init(&lines, (size_t)CHUNK_VECTORS * POSREF_N_FLOATS * MAX_LINE_BYTES);
    for (size_t k = 0; k < run->n_trials && status == POSREF_OK; k++) {
        struct posref_stream_line line = {.vector = &run->vector[run->of[k]],
                                          .trial = &run->trial[k],
                                          .dtype = run->dtype[k],
                                          .verdict = run->trial[k].verdict};
        struct posref_judgement judgement;
        posref_heap_reset(run->scratch);
        if (line.verdict == POSREF_VERDICT_PASS)
            status = judge(run, &line, &judgement, err);
        mark(run, &line);
        run->counts.verdict[line.verdict]++;
        run->counts.run_ns += line.trial->run_ns;
        posref_stream_line(&lines, &line);
    }
    if (status != POSREF_OK) {
        posref_buffer_clear(&lines);
        return status;
    }
    return emit(run, &lines, err);
}

/* ---- the whole ---- */

/* What each of the first failures is explained by. */
static void add_sentences(struct posref_buffer *out, const struct run *run)
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

/* The search, and its results in three buffers that the caller clears. */
static enum posref_status explain(struct posref_buffer text[3], size_t *n_unexplained,
                                  struct run *run, struct posref_error *err)
{
    enum posref_status status = posref_explainer_search(run->explainer, err);
    if (status != POSREF_OK)
        return status;
    posref_explainer_json(&text[0], n_unexplained, run->explainer);
    posref_explainer_describe(&text[1], run->explainer);
    add_sentences(&text[2], run);
    for (int k = 0; k < 3; k++) {
        posref_buffer_add(&text[k], "", 1);
        if (text[k].failed)
            status = no_memory(err);
    }
    return status;
}

static enum posref_status end(struct run *run, bool *conforms, int64_t *n_judged,
                              struct posref_error *err)
{
    struct posref_buffer text[3], line;
    struct posref_stream_footer footer = {.counts = &run->counts};
    for (int k = 0; k < 3; k++)
        posref_buffer_init(&text[k], (size_t)64 << 20);
    posref_buffer_init(&line, (size_t)65 << 20);
    enum posref_status status = explain(text, &footer.n_unexplained, run, err);
    char printed[4096 + 1] = "";
    if (run->runner) {
        footer.n_workers = posref_runner_n_workers(run->runner);
        posref_runner_close(run->runner, &footer.close_verdict);
        snprintf(printed, sizeof printed, "%s",
                 posref_runner_captured(run->runner, &footer.printed_bytes));
    }
    footer.printed = printed;
    footer.explanations = text[0].data;
    footer.description = text[1].data;
    footer.sentences = text[2].data;
    *conforms = posref_counts_conform(&run->counts, footer.close_verdict, n_judged);
    footer.conforms = *conforms && *n_judged > 0;
    if (status == POSREF_OK) {
        posref_stream_footer(&line, &footer);
        status = emit(run, &line, err);
    }
    for (int k = 0; k < 3; k++)
        posref_buffer_clear(&text[k]);
    return status;
}

static enum posref_status run_trials(struct run *run, struct posref_error *err)
{
    if (run->runner)
        return posref_runner_run(run->runner, run->trial, run->n_trials, err);
    for (size_t k = 0; k < run->n_trials; k++)
        posref_answers_read(&run->trial[k], run->options->answers, run->vector[run->of[k]].id,
                            run->dtype[k]);
    return POSREF_OK;
}

static enum posref_status run_all(struct run *run, struct posref_error *err)
{
    enum posref_status status = POSREF_OK;
    for (size_t next = 0; next < run->n_ids && status == POSREF_OK;) {
        status = load(run, &next, err);
        if (status == POSREF_OK)
            status = run_trials(run, err);
        if (status == POSREF_OK)
            status = judge_chunk(run, err);
    }
    return status;
}

enum posref_status posref_test_run(bool *conforms, int64_t *n_judged,
                                   const struct posref_test_options *options,
                                   posref_stream_sink *sink, void *sink_ctx,
                                   struct posref_error *err)
{
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return no_memory(err);
    run->options = options;
    run->sink = sink;
    run->sink_ctx = sink_ctx;
    run->ids_heap = posref_heap_new(0);
    run->heap = posref_heap_new(0);
    run->scratch = posref_heap_new(0);
    run->explainer = posref_explainer_new();
    enum posref_status status = POSREF_OK;
    if (!run->ids_heap || !run->heap || !run->scratch || !run->explainer)
        status = no_memory(err);
    if (status == POSREF_OK)
        status = posref_db_open_progress(&run->db, options->db_path, posref_progress_terminal,
                                         NULL, err);
    if (status == POSREF_OK)
        status = choose_vectors(run, err);
    if (status == POSREF_OK)
        status = begin(run, err);
    if (status == POSREF_OK)
        status = run_all(run, err);
    if (status == POSREF_OK)
        status = end(run, conforms, n_judged, err);
    posref_runner_free(run->runner);
    posref_explainer_free(run->explainer);
    posref_db_close(run->db);
    posref_heap_free(run->ids_heap);
    posref_heap_free(run->heap);
    posref_heap_free(run->scratch);
    free(run->id);
    free(run);
    return status;
}
