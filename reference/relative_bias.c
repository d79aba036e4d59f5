/* SPDX-License-Identifier: Apache-2.0 */
/* A learned scalar for each relative distance and head, added to the scores.
 *
 * d = k - q or q - k (difference). The entry of distance d:
 *     table=clipped   clip(d, -k, k) + k of 2k + 1 entries, k = max_distance: Shaw et al., arXiv
 *                     1803.02155, with scalars in the place of vectors
 *     table=full      d + L - 1 of 2L - 1 entries, L = max_position_embeddings; |d| >= L is an
 *                     error */
#include "bias_attention.h"
#include "judge_impl.h"

#include <math.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_TABLE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_MAX_DISTANCE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MAX_POSITION_EMBEDDINGS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_DIFFERENCE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_WEIGHTS_LAYOUT, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"positions", ""}, {"q_positions", ""}, {"k_positions", ""}, {"weights", "entries,heads"},
    {NULL, NULL}};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    const bool full = spec->table == POSREF_TABLE_FULL;
    const enum posref_field size =
        full ? POSREF_FIELD_MAX_POSITION_EMBEDDINGS : POSREF_FIELD_MAX_DISTANCE;
    const enum posref_field other =
        full ? POSREF_FIELD_MAX_DISTANCE : POSREF_FIELD_MAX_POSITION_EMBEDDINGS;
    if (!spec->given[size])
        return posref_fail(err, POSREF_BAD_INPUT, posref_field_def(size)->name,
                           "is required by table=%s", full ? "full" : "clipped");
    if (spec->given[other])
        return posref_fail(err, POSREF_BAD_INPUT, posref_field_def(other)->name,
                           "table=%s takes no %s", full ? "full" : "clipped",
                           posref_field_def(other)->name);
    return POSREF_OK;
}

static int64_t entries_of(const struct posref_spec *spec)
{
    return spec->table == POSREF_TABLE_FULL ? 2 * (int64_t)spec->max_position_embeddings - 1
                                            : 2 * (int64_t)spec->max_distance + 1;
}

static enum posref_status index_of(int64_t *out, struct posref_job *job,
                                   const struct posref_grid *grid)
{
    const struct posref_spec *spec = job->spec;
    const bool full = spec->table == POSREF_TABLE_FULL;
    const double last = full ? spec->max_position_embeddings - 1.0 : spec->max_distance;
    for (int64_t at = 0; at < grid->q.n * grid->k.n; at++) {
        double q = grid->q.value[at / grid->k.n], k = grid->k.value[at % grid->k.n];
        double d = spec->difference == POSREF_DIFFERENCE_QUERY_MINUS_KEY ? q - k : k - q;
        if (full && fabs(d) > last)
            return posref_fail(job->err, POSREF_BAD_INPUT, posref_grid_name(job, true),
                               "query %.0f and key %.0f are %.0f apart; a full table of "
                               "max_position_embeddings=%d ends at %.0f",
                               q, k, fabs(d), spec->max_position_embeddings, last);
        out[at] = (int64_t)((d < -last ? -last : d > last ? last : d) + last);
    }
    return POSREF_OK;
}

static enum posref_status eval(struct posref_job *job)
{
    return posref_eval_table(job, 1, 0, entries_of(job->spec), "index", index_of);
}

static const char *const attention_inputs[] = {"weights", NULL};

static enum posref_status attention_begin(struct posref_attention *a)
{
    return posref_bias_attention_begin(a, entries_of(a->job->spec), index_of);
}

static const struct posref_attention_hook attention_hook = {
    .positions = POSREF_POSITIONS_REQUIRED,
    .inputs = attention_inputs,
    .begin = attention_begin,
    .bias = posref_bias_attention_bias,
    .estimate = posref_bias_attention_estimate,
};

const struct posref_scheme_def posref_relative_bias = {
    .info = {.name = "relative_bias",
             .summary = "a learned scalar for each relative distance and head, added to the scores",
             .formula = "bias = B[clip(d, -k, k) + k] of 2k + 1 entries, or B[d + L - 1] of 2L - "
                        "1; d = q - k or k - q",
             .source = "Shaw et al., arXiv 1803.02155, with scalars; Raffel et al., arXiv "
                       "1910.10683, section 2.1",
             .learned = "one scalar an entry and head: 2 max_distance + 1 or 2 "
                        "max_position_embeddings - 1 entries",
             .injected = "added to the scores of every layer",
             .relative = "exact: the bias depends on the distance alone",
             .beyond = "clipped: far distances share an entry; full: undefined, an error",
             .cost = "one addition a score; one look-up",
             .users = "research models; Swin and BEiT in two dimensions",
             .advice = "short fixed lengths, where every distance can be learned",
             .differs = "sign of the distance (difference): Shaw key minus query, Hugging Face's "
                        "relative_key query minus key; clipping or none (table); order of the "
                        "table (weights_layout)"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_INDEX | 1U << POSREF_OP_BIAS,
    .check = check,
    .entries = entries_of,
    .eval = eval,
    .judge = posref_judge_units_table,
    .attention = &attention_hook,
};
