/* SPDX-License-Identifier: Apache-2.0 */
/* A case while its group is expanded: what the alternatives chosen so far have said. Private to
 * the suite files. */
#ifndef POSREF_SUITE_DRAFT_H
#define POSREF_SUITE_DRAFT_H

#include "vectors/case.h"

#include <jansson.h>

#define POSREF_DRAFT_INPUTS 64 /* the known inputs, by number */
#define POSREF_DRAFT_FLAGS 16

struct posref_draft {
    struct posref_spec spec;
    const char *op, *source;
    const char *input[POSREF_DRAFT_INPUTS]; /* as posref_input_def counts; NULL: not said */
    const char *flag[POSREF_DRAFT_FLAGS];
    int n_flags;
    double length;       /* context length L that positions refer to; 0: not said */
    double dim_min, dim_max;
};

/* Takes the members of one JSON object: "spec", "op", the inputs, "flags", "source", "length",
 * "dim_min", "dim_max". "slug" and "id" are skipped; any other member is an error. Texts are
 * borrowed from the JSON. */
POSREF_MUST_USE enum posref_status posref_draft_add(struct posref_draft *draft,
                                                    const json_t *object,
                                                    struct posref_error *err);
/* Completes the spec and makes the case: positions relative to the length resolved, flags that
 * follow from spec and positions added. *wanted = false: dim lies outside [dim_min, dim_max]. */
POSREF_MUST_USE enum posref_status posref_draft_finish(struct posref_case *out, bool *wanted,
                                                       struct posref_draft *draft, const char *id,
                                                       const struct posref_arena *arena,
                                                       struct posref_error *err);
/* A copy of the text in the arena; NULL: no memory. */
char *posref_arena_text(const struct posref_arena *arena, const char *text, size_t length);

#endif
