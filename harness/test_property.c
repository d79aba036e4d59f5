/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of a run, a line for each dtype. */
#include "float8.h"
#include "property.h"
#include "test_run_impl.h"

#include <string.h>

static void add_property_line(struct posref_run *run, struct posref_buffer *lines,
                              struct posref_vector *vector, const char *name,
                              const struct posref_property_result *result, enum posref_dtype dtype)
{
    struct posref_stream_line line = {.vector = vector, .trial = &result->trial, .dtype = dtype,
                                      .verdict = result->trial.verdict, .property = name,
                                      .nonce = posref_run_nonce(run, vector->id)};
    vector->outputs = result->shapes;
    if (result->judged) {
        line.judgement = &result->judgement;
        run->counts.n_compared += result->judgement.n_compared;
        run->counts.n_judged += result->judgement.n_judged;
        run->counts.grade[result->judgement.grade]++;
    }
    posref_run_mark(run, &line);
    run->counts.verdict[line.verdict]++;
    run->counts.run_ns += line.trial->run_ns;
    posref_stream_line(lines, &line);
}

enum posref_status posref_run_property(struct posref_run *run, const char *id,
                                       struct posref_error *err)
{
    struct posref_property_case of;
    struct posref_property_result result;
    struct posref_buffer lines;
    struct posref_vector *vector = &run->vector[0];
    enum posref_status status = POSREF_OK;
    for (int k = 0; posref_property_case_at(&of, k) && strcmp(of.id, id) != 0; k++)
        continue;
    posref_buffer_init(&lines, POSREF_N_FLOATS * POSREF_MAX_LINE_BYTES);
    for (int d = 0; d < POSREF_N_FLOATS && status == POSREF_OK; d++) {
        if (!run->options->dtype[d])
            continue;
        posref_heap_reset(run->heap);
        const struct posref_arena arena = posref_heap_arena(run->heap);
        status = posref_property_vector(vector, &of, err);
        const struct posref_property_settings settings = {
            .dtype = (enum posref_dtype)d, .gate = run->options->gate[d],
            .nonce = run->options->nonce, .strict = run->options->strict,
            .group = run->group[vector->spec.scheme][vector->op][d]};
        if (status == POSREF_OK && posref_dtype_is_float8(settings.dtype)) {
            result = (struct posref_property_result){.judged = false};
            posref_float8_withhold(&result.trial, vector, "", settings.dtype, false);
        } else if (status == POSREF_OK)
            status = posref_property_run(&result, &of, run->runner, &settings, &arena, err);
        if (status == POSREF_OK)
            add_property_line(run, &lines, vector, posref_property_name(&of), &result,
                              (enum posref_dtype)d);
    }
    if (status == POSREF_OK)
        return posref_run_emit(run, &lines, err);
    posref_buffer_clear(&lines);
    return status;
}
