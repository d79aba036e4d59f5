/* SPDX-License-Identifier: Apache-2.0 */
/* T5's relative position buckets (Raffel et al., arXiv 1910.10683; mesh-tensorflow and Hugging
 * Face's T5 for what the paper leaves open).
 *
 * r = k - q. bidirectional: nb = num_buckets / 2, n = |r|, and keys after the query use the upper
 * half; causal: nb = num_buckets, n = max(-r, 0). With me = floor(nb / 2) and M = max_distance
 *     bucket = n                                                          for n < me
 *     bucket = min(nb - 1, me + floor((nb - me) ln(n/me) / ln(M/me)))     otherwise
 * decided by exact arithmetic: an edge is where (n/me)^(nb - me) = (M/me)^t.
 *
 * Scores add the bias to scale q . k; scale is 1/sqrt(dim) here as everywhere, and T5 has none:
 * softmax_scale=1. */
#include "bias_attention.h"
#include "judge_impl.h"
#include "log_steps.h"

#include <math.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_NUM_BUCKETS, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_MAX_DISTANCE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_BIDIRECTIONAL, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_WEIGHTS_LAYOUT, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"positions", ""}, {"q_positions", ""}, {"k_positions", ""}, {"weights", "num_buckets,heads"},
    {NULL, NULL}};

static int buckets_a_side(const struct posref_spec *spec)
{
    return spec->bidirectional ? spec->num_buckets / 2 : spec->num_buckets;
}

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    const int exact = buckets_a_side(spec) / 2;
    if (spec->num_buckets % 2 != 0)
        return posref_fail(err, POSREF_BAD_INPUT, "num_buckets", "must be even, got %d",
                           spec->num_buckets);
    if (exact < 1)
        return posref_fail(err, POSREF_BAD_INPUT, "num_buckets",
                           "must be at least 4 when bidirectional, got %d", spec->num_buckets);
    if (spec->max_distance <= exact)
        return posref_fail(err, POSREF_BAD_INPUT, "max_distance",
                           "must be more than %d, the distances that have a bucket each; got %d",
                           exact, spec->max_distance);
    return POSREF_OK;
}

static enum posref_status buckets(int64_t *out, struct posref_job *job,
                                  const struct posref_grid *grid)
{
    const struct posref_spec *spec = job->spec;
    const int64_t side = buckets_a_side(spec), exact = side / 2;
    struct posref_log_steps steps = {.low = exact, .high = spec->max_distance,
                                     .steps = side - exact,
                                     .up = (spec->slips & POSREF_SLIP_BUCKET_CEIL) != 0,
                                     .nearest = (spec->slips & POSREF_SLIP_BUCKET_NEAREST) != 0};
    enum posref_status status = posref_log_steps_init(&steps, job, grid->q.n + grid->k.n);
    for (int64_t at = 0; at < grid->q.n * grid->k.n && status == POSREF_OK; at++) {
        double r = grid->k.value[at % grid->k.n] - grid->q.value[at / grid->k.n];
        int64_t n = (int64_t)(spec->bidirectional ? fabs(r) : r < 0 ? -r : 0), bucket = n;
        if (n >= spec->max_distance) {
            bucket = side - 1;
        } else if (n >= exact) {
            status = posref_log_steps_at(&bucket, &steps, n);
            bucket = bucket + exact < side ? bucket + exact : side - 1;
        }
        out[at] = bucket + (spec->bidirectional && r > 0 ? side : 0);
    }
    return status;
}

static enum posref_status eval(struct posref_job *job)
{
    return posref_eval_table(job, 1, 0, job->spec->num_buckets, "buckets", buckets);
}

static const char *const attention_inputs[] = {"weights", NULL};

static enum posref_status attention_begin(struct posref_attention *a)
{
    return posref_bias_attention_begin(a, a->job->spec->num_buckets, buckets);
}

static const struct posref_attention_hook attention_hook = {
    .positions = POSREF_POSITIONS_REQUIRED,
    .inputs = attention_inputs,
    .begin = attention_begin,
    .bias = posref_bias_attention_bias,
    .estimate = posref_bias_attention_estimate,
};

const struct posref_scheme_def posref_t5_bias = {
    .info = {.name = "t5_bias",
             .summary = "a learned scalar for each bucket of relative distances and head, added to "
                        "the scores",
             .formula = "bucket = n for n < me, else min(nb - 1, me + floor((nb - me) ln(n/me) / "
                        "ln(max_distance/me))), me = nb/2; bias = weights[bucket][head]",
             .source = "Raffel et al., T5, arXiv 1910.10683",
             .learned = "num_buckets scalars a head, in T5 shared by all layers of a stack",
             .injected = "added to the scores of every layer",
             .relative = "exact: the bias depends on the distance alone",
             .beyond = "distances beyond max_distance share a bucket",
             .cost = "one addition a score; one look-up",
             .users = "T5, mT5, Flan-T5, UMT5, LayoutLMv3, MPNet",
             .advice = "encoders and encoder-decoders of moderate length",
             .differs = "buckets of decoders are causal (bidirectional=false); UMT5 has a table "
                        "a layer; the table of T5X is transposed (weights_layout); no "
                        "1/sqrt(dim) beside it (give softmax_scale=1 for scores and attention); "
                        "logarithms in bfloat16 put distances 16, 32 and 90 into a wrong bucket"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_INDEX | 1U << POSREF_OP_BIAS,
    .check = check,
    .eval = eval,
    .judge = posref_judge_units_table,
    .attention = &attention_hook,
};
