/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing answers with each other, within what each of them may be off by. */
#include "property_impl.h"

#include <math.h>
#include <string.h>

double posref_property_got(const struct posref_property *p, int call, int tensor, int64_t element)
{
    return ((const double *)p->call[call]->got.item[tensor].data)[element];
}

struct posref_slack posref_property_slack(const struct posref_property *p, int call, int tensor,
                                          int64_t element, double times)
{
    struct posref_slack slack = {{0}};
    for (int grade = 0; grade < POSREF_GRADE_FAIL; grade++)
        if (p->call[call]->limit[grade].n > 0)
            slack.at[grade] =
                times * ((const double *)p->call[call]->limit[grade].item[tensor].data)[element];
    return slack;
}

struct posref_slack posref_slack_sum(struct posref_slack a, struct posref_slack b)
{
    for (int grade = 0; grade < POSREF_GRADE_FAIL; grade++)
        a.at[grade] += b.at[grade];
    return a;
}

struct posref_slack posref_slack_more(struct posref_slack a, double more)
{
    for (int grade = 0; grade < POSREF_GRADE_FAIL; grade++)
        a.at[grade] += more;
    return a;
}

/* The gate, or the worst grade of the dtype where the gate is below all it has. */
static enum posref_grade gate_of(const struct posref_property *p)
{
    const enum posref_grade last = posref_grade_worst(p->settings->dtype);
    return p->settings->gate <= last ? p->settings->gate : last;
}

static void name_worst(struct posref_property *p, int call, int tensor, int64_t element, double got,
                       double want, double size)
{
    struct posref_judgement *j = &p->judgement;
    j->tensor = p->call[call]->vector.outputs.item[tensor].name;
    j->element = element;
    j->got = got;
    j->want = want;
    j->error_u = fabs(got - want) / (size > 0 ? size : 1) / posref_unit(p->settings->dtype);
    j->error_limits = p->worst;
    p->shapes = &p->call[call]->vector.outputs;
}

void posref_property_compare(struct posref_property *p, int call, int tensor, int64_t element,
                             double got, double want, const struct posref_slack *slack)
{
    const double error = got == want ? 0 : fabs(got - want); /* infinities of one sign are equal */
    const double size = fmax(fabs(got), fabs(want)), at_gate = slack->at[gate_of(p)];
    for (int grade = 0; grade < POSREF_GRADE_FAIL; grade++)
        p->holds[grade] = p->holds[grade] && error <= slack->at[grade];
    const double ratio = error <= 0 ? 0 : at_gate > 0 ? error / at_gate : HUGE_VAL;
    if (isinf(at_gate)) /* nothing finite is expected there */
        return;
    p->n_compared++;
    p->n_judged += size > 0 && at_gate <= size / 8;
    if (ratio <= p->worst)
        return;
    p->worst = ratio;
    name_worst(p, call, tensor, element, got, want, size);
}

void posref_property_same(struct posref_property *p, int call_a, int64_t a, int call_b, int64_t b,
                          int tensor)
{
    const double got = posref_property_got(p, call_b, tensor, b);
    const double want = posref_property_got(p, call_a, tensor, a);
    const struct posref_slack slack =
        posref_slack_sum(posref_property_slack(p, call_a, tensor, a, 1),
                         posref_property_slack(p, call_b, tensor, b, 1));
    p->n_other_bits += got != want;
    posref_property_compare(p, call_b, tensor, b, got, want, &slack);
}
