/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of weights share: a directory of their own, one comparison at a time, and looking
 * things up in its result. */
#ifndef POSREF_TESTS_WEIGHTS_FIXTURE_H
#define POSREF_TESTS_WEIGHTS_FIXTURE_H

#include "harness/weights.h"
#include "tests/unit/made_model.h"

struct weights_fixture {
    char directory[64];
    struct posref_weights_side before, after;
    struct posref_weights_result result;
    struct posref_error err; /* of the last comparison */
};
extern struct weights_fixture fixture;

void fixture_setup(void);
void fixture_teardown(void);
/* A path in the directory; four at a time. */
const char *in(const char *name);
/* Compares two paths; options may be NULL. Ends the comparison before. */
enum posref_status compare_paths(const char *a, const char *b,
                                 const struct posref_weights_options *options);
/* Saves two models as safetensors and compares them. */
enum posref_status compare_models(const struct made_model *a, const struct made_model *b,
                                  const struct posref_weights_options *options);
const struct posref_weights_pair *pair_named(const char *name);
const struct posref_weights_pair *pair_of(enum posref_weights_role role,
                                          enum posref_weights_kind kind); /* the first */
const struct posref_weights_finding *finding_of(const char *fault); /* or NULL */
int wrong_count(void);

#endif
