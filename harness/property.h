/* SPDX-License-Identifier: Apache-2.0 */
/* Metamorphic properties: what must hold between a plugin's own answers, whatever is right. Each is
 * a case with an id (property/SCHEME/NAME/VARIANT) and a verdict for each dtype. The inputs are
 * drawn from the run's nonce. docs/tolerance.md ("Properties") derives how far two answers may be
 * apart: by what judge.h allows each of them. Private to harness/. */
#ifndef POSREF_PROPERTY_H
#define POSREF_PROPERTY_H

#include "draw.h"
#include "reference/judge.h"
#include "runner.h"

#define POSREF_PROPERTY_CALLS 12
#define POSREF_PROPERTY_ID 64

/* A property of one encoding. */
struct posref_property_case {
    char id[POSREF_PROPERTY_ID];
    const struct posref_property_def *def;
    const struct posref_property_subject *subject;
};

/* The cases there are, in a fixed order, which is also that of their ids' first appearance in
 * reports. false: there are not so many. */
bool posref_property_case_at(struct posref_property_case *out, int k);
/* The case's op and completed spec, for filters and lines. */
POSREF_MUST_USE enum posref_status posref_property_vector(struct posref_vector *out,
                                                          const struct posref_property_case *of,
                                                          struct posref_error *err);
/* "identity". */
const char *posref_property_name(const struct posref_property_case *of);

/* What became of a case in one dtype. */
struct posref_property_result {
    struct posref_trial trial;            /* verdict, signal, why, place, time */
    struct posref_judgement judgement;    /* where judged: the worst comparison */
    bool judged;
    struct posref_tensors shapes;         /* those that places refer to */
};

struct posref_property_settings {
    enum posref_dtype dtype;
    enum posref_grade gate;
    uint64_t nonce;
    bool strict; /* results that are to be the same must have the same bits */
    const char *group; /* see struct posref_trial */
};

/* Asks the plugin and compares. Everything in *out lives in the arena. Fails only when the harness
 * cannot go on. */
POSREF_MUST_USE enum posref_status
posref_property_run(struct posref_property_result *out, const struct posref_property_case *of,
                    struct posref_runner *runner, const struct posref_property_settings *settings,
                    const struct posref_arena *arena, struct posref_error *err);

#endif
