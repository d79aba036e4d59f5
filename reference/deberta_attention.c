/* SPDX-License-Identifier: Apache-2.0 */
/* DeBERTa's disentangled scores (He et al., arXiv 2006.03654, equation 4; Hugging Face's deberta_v2
 * and microsoft/DeBERTa: DeBERTa/deberta/disentangled_attention.py):
 *
 *     score = (q_i . k_j + q_i . K[c] + k_j . Q[p]) / sqrt(dim (1 + c2p + p2c))
 *
 * K and Q (key_weights, query_weights) are the relative embeddings as projected for keys and for
 * queries. c is the row of bucket(i - j). The paper's p is the row of bucket(j - i); released code
 * gathers k_j' . Q by the matrix of -bucket(i' - j') with keys as its rows and transposes, so that
 * its p is c. i and j are positions. */
#include "attention.h"
#include "deberta.h"

#include <math.h>

/* Rows for one side; value NULL: the spec leaves the term out. */
struct side {
    const double *value;
    int64_t heads; /* 1: shared by all */
    int sign;      /* of the bucket */
};

struct deberta {
    struct side side[2]; /* c2p, p2c */
    int64_t span, *bucket;
};

static const char *const both[] = {"content_content", "content_position", "position_content",
                                   NULL};
static const char *const p2c_alone[] = {"content_content", "position_content", NULL};

/* [rows, dim], or [heads, rows, dim]. */
static enum posref_status read_side(struct side *out, struct posref_attention *a, const char *name,
                                    bool wanted)
{
    const int64_t rows = 2 * posref_deberta_span(a->job->spec);
    if (wanted)
        return posref_attention_input(&out->value, &out->heads, a, name, 2,
                                      (const int64_t[]){rows, a->dim});
    return posref_job_has(a->job, name)
               ? posref_fail(a->job->err, POSREF_BAD_INPUT, name,
                             "is not read with this pos_att_type") : POSREF_OK;
}

static enum posref_status find_buckets(struct deberta *x, struct posref_attention *a)
{
    enum posref_status status =
        posref_attention_read_positions(a, POSREF_POSITIONS_REQUIRED, 1);
    const struct posref_grid grid = {.q = a->q_positions, .k = a->k_positions};
    if (status == POSREF_OK)
        status = posref_grid_whole(&grid, a->job);
    return status == POSREF_OK
               ? posref_index_fill(&x->bucket, a->job, &grid, 0, posref_deberta_buckets) : status;
}

static enum posref_status begin(struct posref_attention *a)
{
    const struct posref_spec *spec = a->job->spec;
    const bool c2p = spec->pos_att_type != POSREF_POS_ATT_P2C;
    const bool p2c = spec->pos_att_type != POSREF_POS_ATT_C2P;
    struct deberta *x = posref_job_alloc(a->job, 1, sizeof *x);
    if (!x)
        return POSREF_NO_MEMORY;
    *x = (struct deberta){.span = posref_deberta_span(spec), .side = {{.sign = 1}, {.sign = 1}}};
    const bool turned = (spec->slips & POSREF_SLIP_P2C_UNTURNED) == 0;
    if ((spec->p2c_difference == POSREF_DIFFERENCE_KEY_MINUS_QUERY) == turned)
        x->side[1].sign = -1;
    if (!turned && a->n_q != a->n_k)
        return posref_fail(a->job->err, POSREF_BAD_INPUT, "k", "p2c [keys, queries] does not fit");
    a->state = x;
    a->terms = c2p ? both : p2c_alone;
    a->n_terms = a->scale_factor = 1 + c2p + p2c;
    enum posref_status status = read_side(&x->side[0], a, "key_weights", c2p);
    if (status == POSREF_OK)
        status = read_side(&x->side[1], a, "query_weights", p2c);
    return status == POSREF_OK ? find_buckets(x, a) : status;
}

static const double *row_of(const struct posref_attention *a, const struct side *side,
                            int64_t head, int64_t i, int64_t j)
{
    const struct deberta *x = a->state;
    const int64_t row = posref_deberta_row(a->job->spec, x->bucket[i * a->n_k + j], side->sign);
    return side->value + ((side->heads == 1 ? 0 : head) * 2 * x->span + row) * a->dim;
}

/* What a side's rows are multiplied by: the query, or the key. p2c left as it is gathered, keys by
 * queries, has element (i, j) from key i and query j. */
static const double *content_of(const struct posref_attention *a, int side, int64_t head, int64_t i,
                                int64_t j)
{
    if (side == 0)
        return posref_attention_q(a, head, i);
    return posref_attention_k(a, head, a->job->spec->slips & POSREF_SLIP_P2C_UNTURNED ? i : j);
}

static enum posref_status score(struct posref_ball *term, const struct posref_attention *a,
                                int64_t head, int64_t i, int64_t j, unsigned prec_bits)
{
    const struct deberta *x = a->state;
    posref_attention_dot(term++, posref_attention_q(a, head, i), posref_attention_k(a, head, j),
                         a->dim, prec_bits);
    for (int n = 0; n < 2; n++)
        if (x->side[n].value)
            posref_attention_dot(term++, content_of(a, n, head, i, j),
                                 row_of(a, &x->side[n], head, i, j), a->dim, prec_bits);
    return POSREF_OK;
}

static void estimate(struct posref_attention_estimate *out, const struct posref_attention *a,
                     int64_t head, int64_t i, int64_t j)
{
    const struct deberta *x = a->state;
    for (int n = 0; n < 2; n++) {
        if (!x->side[n].value)
            continue;
        const double *row = row_of(a, &x->side[n], head, i, j);
        const double *content = content_of(a, n, head, i, j);
        for (int64_t c = 0; c < a->dim; c++)
            out->size += fabs(content[c] * row[c]);
    }
}

static const char *const inputs[] = {"key_weights", "query_weights", NULL};

const struct posref_attention_hook posref_attention_deberta = {
    .inputs = inputs,
    .terms = both,
    .begin = begin,
    .score = score,
    .estimate = estimate,
};
