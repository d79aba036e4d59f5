/* SPDX-License-Identifier: Apache-2.0 */
/* One property of one encoding: its calls in two waves, and what they come to. */
#include "property_impl.h"
#include "probe.h"

#include <math.h>
#include <string.h>

enum posref_status posref_property_vector(struct posref_vector *out,
                                          const struct posref_property_case *of,
                                          struct posref_error *err)
{
    char text[256];
    *out = (struct posref_vector){.id = of->id, .suite_min = "", .op = of->subject->op,
                                  .flags = "", .source = ""};
    snprintf(text, sizeof text, "%s", of->subject->spec);
    enum posref_status status = posref_spec_typed(&out->spec, text, " ", err);
    return status == POSREF_OK ? posref_spec_complete(&out->spec, err) : status;
}

/* Runs the calls from number `first` on; *all: every one of them came back with its answer. */
static enum posref_status run_calls(bool *all, struct posref_property *p, int first,
                                    struct posref_runner *runner)
{
    struct posref_trial *trials[POSREF_PROPERTY_CALLS] = {NULL};
    const int n = p->n_calls - first;
    *all = true;
    for (int i = 0; i < n; i++)
        trials[i] = &p->call[first + i]->trial;
    enum posref_status status = posref_runner_run(runner, trials, (size_t)n, p->err);
    for (int i = 0; i < n && status == POSREF_OK; i++) {
        struct posref_property_call *call = p->call[first + i];
        *all = *all && call->trial.verdict == POSREF_VERDICT_PASS;
        call->got.n = call->trial.out.n;
        for (int t = 0; t < call->got.n && *all && status == POSREF_OK; t++)
            status = posref_tensor_widen(&call->got.item[t], &call->trial.out.item[t], p->arena,
                                         p->err);
    }
    return status;
}

/* The first call that did not come back speaks for all; the time is that of all. */
static void take_trial(struct posref_property_result *out, const struct posref_property *p)
{
    uint64_t ns = 0;
    int worst = 0;
    for (int i = p->n_calls - 1; i >= 0; i--) {
        ns += p->call[i]->trial.run_ns;
        if (p->call[i]->trial.verdict != POSREF_VERDICT_PASS)
            worst = i;
    }
    out->trial = p->call[worst]->trial;
    out->trial.run_ns = ns;
    out->shapes = p->call[worst]->vector.outputs;
}

static void settle(struct posref_property_result *out, struct posref_property *p)
{
    const enum posref_dtype dtype = p->settings->dtype;
    const enum posref_grade gate = p->settings->gate;
    struct posref_judgement *j = &p->judgement;
    j->grade = POSREF_GRADE_FAIL;
    for (int grade = (int)posref_grade_worst(dtype); grade >= (int)posref_grade_best(dtype);
         grade--)
        if (p->holds[grade])
            j->grade = (enum posref_grade)grade;
    if (p->settings->strict && p->bits_matter && p->n_other_bits > 0)
        j->grade = POSREF_GRADE_FAIL;
    j->pass = j->grade <= gate && j->grade != POSREF_GRADE_FAIL;
    j->n_compared = p->n_compared;
    j->n_judged = p->n_judged;
    out->judgement = *j;
    out->judged = true;
    if (p->shapes != &out->shapes)
        out->shapes = *p->shapes;
    out->trial.verdict = j->pass ? POSREF_VERDICT_PASS : POSREF_VERDICT_FAIL;
    const bool other_bits = p->bits_matter && p->n_other_bits > 0;
    if (!j->pass && j->grade == POSREF_GRADE_FAIL)
        snprintf(out->trial.why, sizeof out->trial.why, "%s", p->of->def->broken);
    else if (!j->pass)
        snprintf(out->trial.why, sizeof out->trial.why, "%s, within the limits of grade %s",
                 p->of->def->broken, posref_grade_name(j->grade));
    else if (other_bits)
        snprintf(out->trial.why, sizeof out->trial.why,
                 "%lld of %lld elements have other bits, within the limits",
                 (long long)p->n_other_bits, (long long)p->n_compared);
}

static enum posref_status run(struct posref_property_result *out, struct posref_property *p,
                              struct posref_runner *runner)
{
    const struct posref_property_def *def = p->of->def;
    bool all = false;
    enum posref_status status = def->ask(p);
    if (status == POSREF_OK)
        status = run_calls(&all, p, 0, runner);
    const int n_first = p->n_calls;
    if (status == POSREF_OK && all && def->ask_more) {
        status = def->ask_more(p);
        if (status == POSREF_OK && p->n_calls > n_first)
            status = run_calls(&all, p, n_first, runner);
    }
    if (status != POSREF_OK)
        return status;
    take_trial(out, p);
    if (!all)
        return POSREF_OK;
    p->shapes = &out->shapes;
    def->compare(p);
    settle(out, p);
    return POSREF_OK;
}

enum posref_status posref_property_run(struct posref_property_result *out,
                                       const struct posref_property_case *of,
                                       struct posref_runner *runner,
                                       const struct posref_property_settings *settings,
                                       const struct posref_arena *arena, struct posref_error *err)
{
    struct posref_property *p = arena->alloc(arena->ctx, sizeof *p);
    struct posref_vector *vector = arena->alloc(arena->ctx, sizeof *vector);
    if (!p || !vector)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    enum posref_status status = posref_property_vector(vector, of, err);
    if (status != POSREF_OK)
        return status;
    memset(out, 0, sizeof *out);
    *p = (struct posref_property){.of = of, .settings = settings, .spec = &vector->spec,
                                  .arena = arena, .err = err,
                                  .draw = posref_draw_begin(settings->nonce, of->id),
                                  .worst = -1};
    p->judgement = (struct posref_judgement){.pair = -1, .position = (double)NAN, .tensor = ""};
    for (int grade = 0; grade < POSREF_GRADE_FAIL; grade++)
        p->holds[grade] = true;
    return run(out, p, runner);
}
