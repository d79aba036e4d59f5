/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles and recipes of a run: see arithmetic.h. */
#include "arithmetic.h"

#include "profile.h"
#include "recipes.h"

#include <stdlib.h>

#define N_FLOATS 4

/* Schemes whose pairs turn with the position. */
static const int schemes[] = {POSREF_SCHEME_ROPE, POSREF_SCHEME_SINUSOIDAL, POSREF_SCHEME_TIMESTEP};
#define N_SCHEMES ((int)(sizeof schemes / sizeof *schemes))

struct posref_arithmetic {
    struct part {
        struct posref_profile *profile; /* NULL: nothing was judged yet */
        struct posref_recipe_counts counts;
        int64_t n_failed; /* outputs that no grade covers */
    } part[N_SCHEMES][N_FLOATS];
};

struct posref_arithmetic *posref_arithmetic_new(void)
{
    return calloc(1, sizeof(struct posref_arithmetic));
}

void posref_arithmetic_free(struct posref_arithmetic *arithmetic)
{
    for (int s = 0; arithmetic && s < N_SCHEMES; s++)
        for (int d = 0; d < N_FLOATS; d++)
            posref_profile_free(arithmetic->part[s][d].profile);
    free(arithmetic);
}

/* NULL: there is nothing of it to note. */
static struct part *part_of(struct posref_arithmetic *a, const struct posref_vector *vector,
                            enum posref_dtype dtype)
{
    for (int s = 0; s < N_SCHEMES; s++)
        if (vector->spec.scheme == schemes[s] && (int)dtype < N_FLOATS)
            return &a->part[s][dtype];
    return NULL;
}

enum posref_status posref_arithmetic_judge(struct posref_judgement *out,
                                           struct posref_arithmetic *arithmetic,
                                           const struct posref_vector *vector,
                                           const struct posref_tensors *actual,
                                           enum posref_dtype dtype, enum posref_grade gate,
                                           const struct posref_arena *scratch,
                                           struct posref_error *err)
{
    struct part *part = part_of(arithmetic, vector, dtype);
    if (part && !part->profile)
        part->profile = posref_profile_new();
    if (part && !part->profile)
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory");
    const struct posref_judge_watch watch = {posref_profile_see, part ? part->profile : NULL};
    enum posref_status status =
        posref_judge_watched(out, part ? &watch : NULL, &vector->spec, vector->op, &vector->inputs,
                             &vector->outputs, actual, dtype, gate, scratch, err);
    if (status != POSREF_OK || !part)
        return status;
    part->counts.dtype = dtype;
    part->n_failed += out->grade == POSREF_GRADE_FAIL;
    if (out->grade != POSREF_GRADE_FAIL)
        posref_recipes_compare(&part->counts, vector, actual, scratch);
    return POSREF_OK;
}

void posref_arithmetic_json(struct posref_buffer *out, struct posref_arithmetic *arithmetic,
                            bool shard)
{
    const char *separator = "";
    posref_buffer_text(out, "[");
    for (int s = 0; s < N_SCHEMES; s++)
        for (int d = 0; d < N_FLOATS; d++) {
            struct part *part = &arithmetic->part[s][d];
            if (!part->profile || part->profile->failed || part->profile->n_places == 0)
                continue;
            posref_buffer_printf(out, "%s{\"scheme\": \"%s\", \"dtype\": \"%s\", "
                                 "\"failed\": %lld, ", separator,
                                 posref_scheme_info((enum posref_scheme)schemes[s])->name,
                                 posref_dtype_name((enum posref_dtype)d),
                                 (long long)part->n_failed);
            posref_recipes_json(out, &part->counts);
            posref_buffer_text(out, ", ");
            posref_profile_json(out, part->profile, shard);
            posref_buffer_text(out, "}");
            separator = ", ";
        }
    posref_buffer_text(out, "]");
}
