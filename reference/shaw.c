/* SPDX-License-Identifier: Apache-2.0 */
/* Relative position representations as vectors (Shaw et al., arXiv 1803.02155), k =
 * max_relative_position:
 *
 *     score = q_i . (k_j + K[row]) / sqrt(dim),  out_i = sum_j w_ij (v_j + V[row])
 *     shaw                row = clip(j - i, -k, k) + k                       key minus query
 *     relative_key        row = i - j + k, no clipping, no V                 query minus key
 *     relative_key_query  the same, and k_j . K[row] is added to the score
 *
 * The last two are Hugging Face's position_embedding_type of BERT and its kin, whose table has 2
 * max_position_embeddings - 1 rows: k = max_position_embeddings - 1. i and j are positions. */
#include "attention.h"

#include <math.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_MAX_RELATIVE_POSITION, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_POSITION_EMBEDDING_TYPE, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"key_weights", "2*max_relative_position+1,dim"},
    {"value_weights", "2*max_relative_position+1,*"},
    {NULL, NULL},
};

struct shaw {
    const double *keys, *values; /* values: NULL when not given */
};

/* The row of the table, or -1: outside of it. */
static int64_t row_of(const struct posref_attention *a, int64_t i, int64_t j)
{
    const struct posref_spec *spec = a->job->spec;
    const int64_t k = spec->max_relative_position;
    int64_t offset = (int64_t)a->k_positions.value[j] - (int64_t)a->q_positions.value[i];
    if (spec->position_embedding_type != POSREF_EMBEDDING_SHAW)
        return offset < -k || offset > k ? -1 : k - offset;
    return (offset < -k ? -k : offset > k ? k : offset) + k;
}

static enum posref_status check_rows(const struct posref_attention *a)
{
    for (int64_t i = 0; i < a->n_q; i++)
        for (int64_t j = 0; j < a->n_k; j++)
            if (row_of(a, i, j) < 0)
                return posref_fail(a->job->err, POSREF_BAD_INPUT, "max_relative_position",
                                   "query %lld and key %lld are further apart than %d: the table "
                                   "has no row for them", (long long)i, (long long)j,
                                   a->job->spec->max_relative_position);
    return POSREF_OK;
}

static enum posref_status begin(struct posref_attention *a)
{
    struct posref_job *job = a->job;
    const int64_t n = 2 * (int64_t)job->spec->max_relative_position + 1;
    struct shaw *shaw = posref_job_alloc(job, 1, sizeof *shaw);
    if (!shaw)
        return POSREF_NO_MEMORY;
    shaw->values = NULL;
    a->state = shaw;
    if (job->spec->position_embedding_type != POSREF_EMBEDDING_RELATIVE_KEY_QUERY)
        a->n_terms = 2;
    enum posref_status status = posref_job_input(&shaw->keys, job, "key_weights", 2,
                                                 (const int64_t[]){n, a->dim});
    if (status == POSREF_OK && posref_job_has(job, "value_weights")) {
        if (job->spec->position_embedding_type != POSREF_EMBEDDING_SHAW)
            return posref_fail(job->err, POSREF_BAD_INPUT, "value_weights",
                               "only position_embedding_type=shaw has them");
        if (a->v)
            status = posref_job_input(&shaw->values, job, "value_weights", 2,
                                      (const int64_t[]){n, a->dim_v});
    }
    if (status == POSREF_OK)
        status = posref_attention_read_positions(a, POSREF_POSITIONS_COUNTED, 1);
    if (status == POSREF_OK)
        status = posref_attention_whole_positions(a);
    return status == POSREF_OK ? check_rows(a) : status;
}

static enum posref_status score(struct posref_ball *term, const struct posref_attention *a,
                                int64_t head, int64_t i, int64_t j, unsigned prec_bits)
{
    const struct shaw *shaw = a->state;
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    const double *row = shaw->keys + row_of(a, i, j) * a->dim;
    posref_attention_dot(&term[0], q, k, a->dim, prec_bits);
    posref_attention_dot(&term[1], q, row, a->dim, prec_bits);
    if (a->n_terms == 3)
        posref_attention_dot(&term[2], k, row, a->dim, prec_bits);
    if (a->n_terms == 3 && a->job->spec->slips & POSREF_SLIP_KEYS_APART)
        posref_ball_set_int(&term[2], 0);
    return POSREF_OK;
}

static enum posref_status value(struct posref_ball *out, const struct posref_attention *a,
                                int64_t head, int64_t i, int64_t j, int64_t c, unsigned prec_bits)
{
    const struct shaw *shaw = a->state;
    (void)head, (void)prec_bits;
    posref_ball_set_double(out, shaw->values ? shaw->values[row_of(a, i, j) * a->dim_v + c] : 0);
    return POSREF_OK;
}

static void estimate(struct posref_attention_estimate *out, const struct posref_attention *a,
                     int64_t head, int64_t i, int64_t j)
{
    const struct shaw *shaw = a->state;
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    const double *row = shaw->keys + row_of(a, i, j) * a->dim;
    for (int64_t c = 0; c < a->dim; c++)
        out->size += fabs(q[c] * row[c]) + (a->n_terms == 3 ? fabs(k[c] * row[c]) : 0);
}

static enum posref_status eval(struct posref_job *job)
{
    (void)job;
    return POSREF_OK;
}

static const char *const terms[] = {"content_content", "content_position", "position_content",
                                    NULL};

static const struct posref_attention_hook hook = {
    .terms = terms,
    .begin = begin,
    .score = score,
    .value = value,
    .estimate = estimate,
};

const struct posref_scheme_def posref_shaw = {
    .info = {.name = "shaw",
             .summary = "learned vectors of the clipped distance, added to keys and values",
             .formula = "scores = q_i . (k_j + K[clip(j - i, -k, k) + k]) / sqrt(dim); out_i = "
                        "sum_j w_ij (v_j + V[...])",
             .source = "Shaw et al., Self-Attention with Relative Position Representations, arXiv "
                       "1803.02155",
             .learned = "2 k + 1 vectors for keys, as many for values, shared by heads",
             .injected = "in the scores and the weighted sum of every layer",
             .relative = "exact: the distance alone, clipped at k",
             .beyond = "distances beyond k share a vector",
             .cost = "O(n^2 d) a head, or O(n k d) and a gather",
             .users = "Music Transformer's ancestor; BERT variants with relative_key",
             .advice = "porting such models; biases do as well for less",
             .differs = "sign and clipping of the distance, and a second product with the keys "
                        "(position_embedding_type)"},
    .fields = fields,
    .inputs = inputs,
    .eval = eval,
    .attention = &hook,
};
