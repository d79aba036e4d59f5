/* SPDX-License-Identifier: Apache-2.0 */
/* DeBERTa's relative distances (He et al., arXiv 2006.03654; v2 and v3 of microsoft/DeBERTa:
 * DeBERTa/deberta/da_utils.py and Hugging Face's deberta_v2 for the buckets).
 *
 * d = q - k, B = num_buckets (position_buckets), M = max_distance, mid = B/2:
 *     bucket = d                                                              for |d| <= mid
 *     bucket = sign(d) (mid + ceil((mid - 1) ln(|d|/mid) / ln((M - 1)/mid)))  otherwise
 *     c2p = clip(bucket + B, 0, 2B - 1), p2c = clip(-bucket + B, 0, 2B - 1)
 * c2p and p2c are rows of the table of 2B relative embeddings: content to position, and position
 * to content before its transposition. log_buckets=false (DeBERTa v1): bucket = d, and M takes the
 * place of B. Edges are decided exactly, as t5_bias.c does. The scores are in deberta_attention.c.
 */
#include "attention.h"
#include "deberta.h"
#include "judge_impl.h"
#include "log_steps.h"

#include <math.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_NUM_BUCKETS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MAX_DISTANCE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_BIDIRECTIONAL, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_LOG_BUCKETS, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_POS_ATT_TYPE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_P2C_DIFFERENCE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_WEIGHTS_LAYOUT, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"positions", ""}, {"q_positions", ""}, {"k_positions", ""}, {"weights", "entries,heads"},
    {"key_weights", "[*],entries,dim"}, {"query_weights", "[*],entries,dim"}, {NULL, NULL}};

int64_t posref_deberta_span(const struct posref_spec *spec)
{
    return spec->log_buckets ? spec->num_buckets : spec->max_distance;
}

static int64_t entries(const struct posref_spec *spec)
{
    return 2 * posref_deberta_span(spec);
}

static enum posref_status check_buckets(struct posref_spec *spec, struct posref_error *err)
{
    if (!spec->given[POSREF_FIELD_NUM_BUCKETS])
        spec->num_buckets = 32;
    spec->given[POSREF_FIELD_NUM_BUCKETS] = true;
    if (spec->num_buckets % 2 != 0 || spec->num_buckets < 4)
        return posref_fail(err, POSREF_BAD_INPUT, "num_buckets",
                           "must be even and at least 4, got %d", spec->num_buckets);
    if (spec->max_distance - 1 <= spec->num_buckets / 2)
        return posref_fail(err, POSREF_BAD_INPUT, "max_distance",
                           "must be more than num_buckets / 2 + 1 = %d, got %d",
                           spec->num_buckets / 2 + 1, spec->max_distance);
    return POSREF_OK;
}

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (!spec->bidirectional)
        return posref_fail(err, POSREF_BAD_INPUT, "bidirectional",
                           "scheme=deberta has no causal buckets");
    if (spec->given[POSREF_FIELD_TEMPERATURE])
        return posref_fail(err, POSREF_BAD_INPUT, "temperature",
                           "multiplies queries, and p2c has none");
    if (spec->log_buckets)
        return check_buckets(spec, err);
    if (spec->given[POSREF_FIELD_NUM_BUCKETS])
        return posref_fail(err, POSREF_BAD_INPUT, "num_buckets", "needs log_buckets=true");
    return POSREF_OK;
}

enum posref_status posref_deberta_buckets(int64_t *out, struct posref_job *job,
                                          const struct posref_grid *grid)
{
    const struct posref_spec *spec = job->spec;
    const int64_t mid = spec->num_buckets / 2;
    struct posref_log_steps steps = {.low = mid, .high = (int64_t)spec->max_distance - 1,
                                     .steps = mid - 1};
    const bool nearest = (spec->slips & POSREF_SLIP_BUCKET_NEAREST) != 0;
    const bool floors = (spec->slips & POSREF_SLIP_BUCKET_FLOOR) != 0;
    const bool to_zero = (spec->slips & POSREF_SLIP_BUCKET_SIGNED) != 0; /* ceil(-x) = -floor(x) */
    struct posref_log_steps down = steps;
    steps.up = !nearest && !floors;
    steps.nearest = nearest;
    enum posref_status status =
        spec->log_buckets ? posref_log_steps_init(&steps, job, grid->q.n + grid->k.n) : POSREF_OK;
    if (status == POSREF_OK && to_zero)
        status = posref_log_steps_init(&down, job, grid->q.n);
    for (int64_t at = 0; at < grid->q.n * grid->k.n && status == POSREF_OK; at++) {
        const int64_t d = (int64_t)(grid->q.value[at / grid->k.n] - grid->k.value[at % grid->k.n]);
        const int64_t n = d < 0 ? -d : d;
        const bool far = spec->log_buckets && n > mid;
        int64_t up = 0;
        if (far)
            status = posref_log_steps_at(&up, to_zero && d < 0 ? &down : &steps, n);
        out[at] = !far ? d : d < 0 ? -(mid + up) : mid + up;
    }
    return status;
}

int64_t posref_deberta_row(const struct posref_spec *spec, int64_t bucket, int sign)
{
    const int64_t span = posref_deberta_span(spec), last = 2 * span - 1;
    const int64_t row = sign * bucket + span + ((spec->slips & POSREF_SLIP_SPAN_MORE) != 0) -
                        ((spec->slips & POSREF_SLIP_SPAN_LESS) != 0);
    return row < 0 ? 0 : row < last ? row : last;
}

/* The rows of both tables: c2p, or p2c, of every bucket. */
static enum posref_status rows_of(int64_t **out, struct posref_job *job,
                                  const struct posref_index *index, int sign)
{
    const int64_t count = index->n_q * index->n_k;
    int64_t *row = posref_job_alloc(job, (size_t)count, sizeof *row);
    if (!row)
        return POSREF_NO_MEMORY;
    for (int64_t at = 0; at < count; at++)
        row[at] = posref_deberta_row(job->spec, index->value[at], sign);
    *out = row;
    return POSREF_OK;
}

static enum posref_status eval(struct posref_job *job)
{
    struct posref_index index;
    struct posref_table table;
    int64_t *c2p, *p2c;
    enum posref_status status = posref_index_read(&index, job, 1, 0, posref_deberta_buckets);
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
        status = posref_table_read(&table, job, entries(job->spec));
    if (status == POSREF_OK && index.wants_bias)
        status = posref_table_gather(job, &table, c2p, index.n_q, index.n_k);
    return status;
}

const struct posref_scheme_def posref_deberta = {
    .info = {.name = "deberta",
             .summary = "disentangled attention: the query with a row of the distance, and the key "
                        "with another, beside query and key; distances in logarithmic buckets",
             .formula = "scores = (q . k + q . K[c2p] + k . Q[c2p]) / sqrt(3 dim); c2p = "
                        "clip(bucket + num_buckets, 0, 2 num_buckets - 1), bucket = d for |d| <= "
                        "mid, else sign(d) (mid + ceil((mid - 1) ln(|d|/mid) / ln((max_distance - "
                        "1)/mid))), mid = num_buckets/2, d = q - k",
             .source = "He et al., DeBERTa, arXiv 2006.03654",
             .learned = "2 num_buckets vectors, shared by all layers, and their projections",
             .injected = "terms of the scores of every layer",
             .relative = "exact: content and the distance alone",
             .beyond = "buckets grow on with the logarithm until the clamp to the table",
             .cost = "two products of query or key with position a score",
             .users = "DeBERTa v2 and v3: num_buckets 256, max_distance 512; v1: log_buckets=false",
             .advice = "encoders",
             .differs = "ceil and max_distance - 1, where T5 has floor and max_distance; with "
                        "bidirectional=true only. All released code looks p2c up by the distance "
                        "of c2p once its transposition is undone, the paper by the negative "
                        "(p2c_difference); output p2c of op index is before it. share_att_key is "
                        "how the caller projects key_weights and query_weights. Where query and "
                        "key lengths differ, Hugging Face swaps max_distance and num_buckets and "
                        "then adds matrices of different shapes: an error, so no variant. A table "
                        "of scalars given as weights is looked up by c2p"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_INDEX | 1U << POSREF_OP_BIAS,
    .check = check,
    .entries = entries,
    .eval = eval,
    .judge = posref_judge_units_table,
    .attention = &posref_attention_deberta,
};
