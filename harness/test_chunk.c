/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk of a run: vectors to trials, trials to the worker, what comes back to the judge. */
#include "answers.h"
#include "call_spec.h"
#include "draw.h"
#include "float8.h"
#include "test_run_impl.h"
#include "trial.h"

#include <string.h>

static enum posref_status no_memory(struct posref_error *err)
{
    return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
}

static size_t bytes_of(const struct posref_tensors *set)
{
    size_t bytes = 0;
    for (int i = 0; i < set->n; i++)
        bytes += (size_t)posref_tensor_count(&set->item[i]) * sizeof(double);
    return bytes;
}

static enum posref_status make_trial(struct posref_run *run, struct posref_trial *trial,
                                     const struct posref_vector *vector, const char *spec,
                                     enum posref_dtype dtype, struct posref_error *err)
{
    const struct posref_arena arena = posref_heap_arena(run->heap);
    const struct posref_layout_case *laid = run->laid[run->n_vectors];
    struct posref_layout_result *result = NULL;
    if (!laid)
        return posref_trial_make(trial, vector, spec, dtype, &arena, err);
    result = run->result[run->n_trials] = arena.alloc(arena.ctx, sizeof *result);
    if (!result)
        return no_memory(err);
    enum posref_status status = posref_layout_trial(trial, result, laid, spec, dtype, &arena, err);
    if (status == POSREF_OK && result->vector)
        run->judged[run->n_trials] = result->vector;
    return status;
}

/* In 8 bits: the vector as it is in them, where it is offered and the plugin takes it. */
static enum posref_status make_float8(struct posref_run *run, struct posref_trial *trial,
                                      const struct posref_vector *vector, const char *spec,
                                      enum posref_dtype dtype, struct posref_error *err)
{
    const struct posref_arena arena = posref_heap_arena(run->heap);
    const bool offers = posref_float8_offers(vector);
    if (offers && (!run->runner ||
                   posref_float8_is_named(posref_runner_plugin_dtypes(run->runner), dtype))) {
        struct posref_vector *own = arena.alloc(arena.ctx, sizeof *own);
        enum posref_status status = own ? posref_float8_vector(own, vector, dtype, &arena, err)
                                        : no_memory(err);
        run->judged[run->n_trials] = own;
        return status == POSREF_OK ? posref_trial_make(trial, own, spec, dtype, &arena, err)
                                   : status;
    }
    posref_float8_withhold(trial, vector, spec, dtype, offers);
    run->is_withheld[run->n_trials] = true;
    return POSREF_OK;
}

static enum posref_status add_trials(struct posref_run *run, const struct posref_vector *vector,
                                     struct posref_error *err)
{
    const struct posref_arena arena = posref_heap_arena(run->heap);
    const char *spec = posref_call_spec(&vector->spec, &arena);
    enum posref_status status = spec ? POSREF_OK : no_memory(err);
    for (int d = 0; d < POSREF_N_FLOATS && status == POSREF_OK; d++) {
        if (!run->options->dtype[d])
            continue;
        run->dtype[run->n_trials] = (enum posref_dtype)d;
        run->of[run->n_trials] = run->n_vectors;
        run->judged[run->n_trials] = vector;
        run->result[run->n_trials] = NULL;
        run->is_withheld[run->n_trials] = false;
        struct posref_trial *trial = &run->trial[run->n_trials];
        status = (posref_dtype_is_float8((enum posref_dtype)d) ? make_float8 : make_trial)(
            run, trial, vector, spec, (enum posref_dtype)d, err);
        run->n_trials++;
        trial->group = run->group[vector->spec.scheme][vector->op][d];
    }
    return status;
}

static enum posref_status get_vector(struct posref_vector *vector, struct posref_run *run,
                                     const char *id, struct posref_error *err)
{
    const struct posref_arena arena = posref_heap_arena(run->heap);
    bool found = false;
    enum posref_status status = posref_db_get(run->db, id, vector, &found, &arena, err);
    if (status == POSREF_OK && !found)
        status = posref_fail(err, POSREF_INTERNAL, id, "went missing");
    return status;
}

/* The vector of ID@LAYOUT, its rows as the layout has them. */
static enum posref_status get_laid(struct posref_vector *vector, struct posref_run *run,
                                   const char *id, struct posref_error *err)
{
    const struct posref_arena arena = posref_heap_arena(run->heap);
    const char *at = posref_id_layout(id);
    char base[POSREF_MAX_ID + 1];
    struct posref_vector stored;
    struct posref_layout_case *laid = arena.alloc(arena.ctx, sizeof *laid);
    if (!laid)
        return no_memory(err);
    snprintf(base, sizeof base, "%.*s", (int)(at - id), id);
    enum posref_status status = get_vector(&stored, run, base, err);
    if (status == POSREF_OK)
        status = posref_layout_make(laid, posref_layout_find(at + 1, strlen(at + 1)), &stored,
                                    &arena, err);
    if (status != POSREF_OK)
        return status;
    run->laid[run->n_vectors] = laid;
    *vector = laid->judged;
    vector->id = id;
    return POSREF_OK;
}

/* Reads a golden vector into the chunk. */
static enum posref_status read_vector(struct posref_run *run, size_t *bytes, const char *id,
                                      struct posref_error *err)
{
    struct posref_vector *vector = &run->vector[run->n_vectors];
    run->laid[run->n_vectors] = NULL;
    enum posref_status status = posref_id_layout(id) ? get_laid(vector, run, id, err)
                                                     : get_vector(vector, run, id, err);
    if (status == POSREF_OK)
        status = add_trials(run, vector, err);
    if (status != POSREF_OK)
        return status;
    *bytes += bytes_of(&vector->inputs) + bytes_of(&vector->outputs);
    run->is_original[run->n_vectors++] = false;
    return POSREF_OK;
}

/* The vector before it in the chunk, on inputs drawn for its id; the reference answers on the spot.
 * Where it refuses them, the stored ones stay. */
static enum posref_status draw_vector(struct posref_run *run, const char *id,
                                      struct posref_error *err)
{
    const struct posref_arena arena = posref_heap_arena(run->heap);
    struct posref_vector *original = &run->vector[run->n_vectors - 1];
    struct posref_vector *vector = &run->vector[run->n_vectors];
    struct posref_draw draw = posref_draw_begin(run->options->nonce, id);
    run->is_original[run->n_vectors - 1] = true;
    run->laid[run->n_vectors] = NULL;
    *vector = *original;
    vector->id = id;
    enum posref_status status = posref_draw_inputs(&vector->inputs, original, &draw, &arena, err);
    if (status == POSREF_OK)
        status = posref_eval(&vector->outputs, &vector->spec, vector->op, &vector->inputs, &arena,
                             err);
    if (status == POSREF_BAD_INPUT) {
        vector->inputs = original->inputs;
        vector->outputs = original->outputs;
        status = POSREF_OK;
    }
    if (status == POSREF_OK)
        status = add_trials(run, vector, err);
    run->is_original[run->n_vectors++] = false;
    return status;
}

/* Loads vectors from number *next on, as many as make a chunk, up to the first property. */
enum posref_status posref_run_load(struct posref_run *run, size_t *next, struct posref_error *err)
{
    size_t bytes = 0;
    posref_heap_reset(run->heap);
    run->n_vectors = run->n_trials = 0;
    while (*next < run->choice.n && run->n_vectors < POSREF_CHUNK_VECTORS &&
           bytes < POSREF_CHUNK_BYTES) {
        const char *id = run->choice.id[*next];
        const bool fresh = posref_id_is_fresh(id);
        if (posref_id_is_property(id))
            break;
        enum posref_status status =
            read_vector(run, &bytes, id + (fresh ? strlen(POSREF_FRESH_PREFIX) : 0), err);
        if (status == POSREF_OK && fresh)
            status = draw_vector(run, id, err);
        if (status != POSREF_OK)
            return status;
        ++*next;
    }
    return POSREF_OK;
}

static enum posref_status judge(struct posref_run *run, struct posref_stream_line *line,
                                struct posref_judgement *judgement, struct posref_error *err)
{
    const struct posref_vector *v = line->vector;
    const struct posref_arena scratch = posref_heap_arena(run->scratch);
    const enum posref_grade gate = run->options->gate[line->dtype];
    enum posref_status status = posref_arithmetic_judge(judgement, run->arithmetic, v,
                                                        &line->trial->out, line->dtype, gate,
                                                        &scratch, err);
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
    if (run->n_named < POSREF_N_NAMED)
        snprintf(run->named[run->n_named++], sizeof run->named[0], "%s %s", v->id,
                 posref_dtype_name(line->dtype));
    return posref_explainer_add(run->explainer, v, &line->trial->out, line->dtype, err);
}

/* What a plugin declines may depend on all but the values of its inputs: one that computes a vector
 * and declines it with other values of the same kind knows the vector, and not how to compute. */
static void check_declined(struct posref_run *run, size_t k)
{
    const size_t vector = run->of[k];
    struct posref_trial *trial = &run->trial[k];
    if (trial->verdict != POSREF_VERDICT_UNSUPPORTED || vector == 0 ||
        !run->is_original[vector - 1])
        return;
    size_t original = k;
    while (run->of[original] != vector - 1 || run->dtype[original] != run->dtype[k])
        original--;
    if (run->trial[original].verdict != POSREF_VERDICT_PASS)
        return;
    trial->verdict = POSREF_VERDICT_ERROR;
    snprintf(trial->why, sizeof trial->why,
             "declined other values of the same shapes and kinds as it computes in %.100s",
             run->vector[vector - 1].id);
}

enum posref_status posref_run_judge(struct posref_run *run, struct posref_error *err)
{
    struct posref_buffer lines;
    enum posref_status status = POSREF_OK;
    posref_buffer_init(&lines, POSREF_CHUNK_TRIALS * POSREF_MAX_LINE_BYTES);
    for (size_t k = 0; k < run->n_trials && status == POSREF_OK; k++) {
        if (run->is_original[run->of[k]])
            continue;
        check_declined(run, k);
        if (run->result[k])
            posref_layout_collect(&run->trial[k], run->result[k]);
        const struct posref_vector *vector = run->judged[k];
        struct posref_stream_line line = {.vector = vector,
                                          .trial = &run->trial[k],
                                          .dtype = run->dtype[k],
                                          .verdict = run->trial[k].verdict,
                                          .nonce = posref_run_nonce(run, vector->id)};
        struct posref_judgement judgement;
        posref_heap_reset(run->scratch);
        if (line.verdict == POSREF_VERDICT_PASS)
            status = judge(run, &line, &judgement, err);
        posref_run_mark(run, &line);
        run->counts.verdict[line.verdict]++;
        run->counts.run_ns += line.trial->run_ns;
        posref_stream_line(&lines, &line);
    }
    if (status != POSREF_OK) {
        posref_buffer_clear(&lines);
        return status;
    }
    return posref_run_emit(run, &lines, err);
}

/* In an order that the nonce draws, so that an answer left over from the call before shows. */
static enum posref_status run_shuffled(struct posref_run *run, struct posref_error *err)
{
    size_t n = 0;
    struct posref_draw draw = posref_draw_begin(run->options->nonce, run->vector[0].id);
    for (size_t k = 0; k < run->n_trials; k++)
        if (!run->is_withheld[k])
            run->shuffled[n++] = &run->trial[k];
    for (size_t k = n; k > 1; k--) {
        const size_t other = (size_t)posref_draw_below(&draw, (int64_t)k);
        struct posref_trial *kept = run->shuffled[k - 1];
        run->shuffled[k - 1] = run->shuffled[other];
        run->shuffled[other] = kept;
    }
    return posref_runner_run(run->runner, run->shuffled, n, err);
}

enum posref_status posref_run_trials(struct posref_run *run, struct posref_error *err)
{
    if (run->runner)
        return run_shuffled(run, err);
    for (size_t k = 0; k < run->n_trials; k++)
        if (!run->is_withheld[k])
            posref_answers_read(&run->trial[k], run->options->answers, run->vector[run->of[k]].id,
                                run->dtype[k]);
    return POSREF_OK;
}
