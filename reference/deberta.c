/* SPDX-License-Identifier: Apache-2.0 */
/* DeBERTa's logarithmic buckets (He et al., arXiv 2006.03654; v2 and v3 of microsoft/DeBERTa:
 * DeBERTa/deberta/da_utils.py and Hugging Face's deberta_v2 for the buckets).
 *
 * d = q - k, B = num_buckets (position_buckets), M = max_distance, mid = B/2:
 *     bucket = d                                                              for |d| <= mid
 *     bucket = sign(d) (mid + ceil((mid - 1) ln(|d|/mid) / ln((M - 1)/mid)))  otherwise
 *     c2p = clip(bucket + B, 0, 2B - 1), p2c = clip(-bucket + B, 0, 2B - 1)
 * c2p and p2c are rows of the table of 2B relative embeddings: content to position, and position
 * to content before its transposition. Edges are decided exactly, as t5_bias.c does. */
#include "bias.h"
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
    {"positions", ""}, {"q_positions", ""}, {"k_positions", ""}, {"weights", "2*num_buckets,heads"},
    {NULL, NULL}};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->num_buckets % 2 != 0 || spec->num_buckets < 4)
        return posref_fail(err, POSREF_BAD_INPUT, "num_buckets",
                           "must be even and at least 4, got %d", spec->num_buckets);
    if (spec->max_distance - 1 <= spec->num_buckets / 2)
        return posref_fail(err, POSREF_BAD_INPUT, "max_distance",
                           "must be more than num_buckets / 2 + 1 = %d, got %d",
                           spec->num_buckets / 2 + 1, spec->max_distance);
    if (!spec->bidirectional)
        return posref_fail(err, POSREF_BAD_INPUT, "bidirectional",
                           "scheme=deberta has no causal buckets");
    return POSREF_OK;
}

static enum posref_status buckets(int64_t *out, struct posref_job *job,
                                  const struct posref_grid *grid)
{
    const struct posref_spec *spec = job->spec;
    const int64_t mid = spec->num_buckets / 2;
    struct posref_log_steps steps = {.low = mid, .high = (int64_t)spec->max_distance - 1,
                                     .steps = mid - 1, .up = true};
    enum posref_status status = posref_log_steps_init(&steps, job, grid->q.n + grid->k.n);
    for (int64_t at = 0; at < grid->q.n * grid->k.n && status == POSREF_OK; at++) {
        const int64_t d = (int64_t)(grid->q.value[at / grid->k.n] - grid->k.value[at % grid->k.n]);
        const int64_t n = d < 0 ? -d : d;
        int64_t up = 0;
        if (n > mid)
            status = posref_log_steps_at(&up, &steps, n);
        out[at] = n <= mid ? d : d < 0 ? -(mid + up) : mid + up;
    }
    return status;
}

static int64_t clip(int64_t row, int64_t n_rows)
{
    return row < 0 ? 0 : row < n_rows ? row : n_rows - 1;
}

/* The rows of both tables: c2p, or p2c, of every bucket. */
static enum posref_status rows_of(int64_t **out, struct posref_job *job,
                                  const struct posref_index *index, int sign)
{
    const int64_t B = job->spec->num_buckets, count = index->n_q * index->n_k;
    int64_t *row = posref_job_alloc(job, (size_t)count, sizeof *row);
    if (!row)
        return POSREF_NO_MEMORY;
    for (int64_t at = 0; at < count; at++)
        row[at] = clip(sign * index->value[at] + B, 2 * B);
    *out = row;
    return POSREF_OK;
}

static enum posref_status eval(struct posref_job *job)
{
    struct posref_index index;
    struct posref_table table;
    int64_t *c2p, *p2c;
    enum posref_status status = posref_index_read(&index, job, 1, 0, buckets);
    if (status != POSREF_OK || !index.value)
        return status;
    status = rows_of(&c2p, job, &index, 1);
    if (status == POSREF_OK)
        status = rows_of(&p2c, job, &index, -1);
    if (status == POSREF_OK && index.wants_index) {
        status = posref_index_output(job, "buckets", index.value, index.n_q, index.n_k);
        if (status == POSREF_OK)
            status = posref_index_output(job, "c2p", c2p, index.n_q, index.n_k);
        if (status == POSREF_OK)
            status = posref_index_output(job, "p2c", p2c, index.n_q, index.n_k);
    }
    if (status == POSREF_OK && index.wants_bias)
        status = posref_table_read(&table, job, 2 * (int64_t)job->spec->num_buckets);
    if (status == POSREF_OK && index.wants_bias)
        status = posref_table_gather(job, &table, c2p, index.n_q, index.n_k);
    return status;
}

const struct posref_scheme_def posref_deberta = {
    .info = {.name = "deberta",
             .summary = "logarithmic buckets of relative distances, and the rows of the relative "
                        "embeddings that disentangled attention reads",
             .formula = "bucket = d for |d| <= mid, else sign(d) (mid + ceil((mid - 1) ln(|d|/mid) "
                        "/ ln((max_distance - 1)/mid))), mid = num_buckets/2, d = q - k; c2p = "
                        "clip(bucket + num_buckets, 0, 2 num_buckets - 1)",
             .source = "He et al., DeBERTa, arXiv 2006.03654",
             .learned = "2 num_buckets vectors, shared by all layers",
             .injected = "terms of the scores of every layer",
             .relative = "exact: bucket and scores depend on the distance alone",
             .beyond = "buckets grow on with the logarithm until the clamp to the table",
             .cost = "two products of query or key with position a score",
             .users = "DeBERTa v2 and v3: num_buckets 256, max_distance 512",
             .advice = "encoders",
             .differs = "ceil and max_distance - 1, where T5 has floor and max_distance; with "
                        "bidirectional=true only; Hugging Face swaps max_distance and "
                        "num_buckets where query and key lengths differ. The scores need q and "
                        "k; a table of scalars given as weights is looked up by c2p"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_INDEX | 1U << POSREF_OP_BIAS,
    .check = check,
    .eval = eval,
    .judge = posref_judge_units_table,
};
