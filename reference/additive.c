/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a sinusoidal encoding that is added to the content, in four terms: q and k are content
 * rows, p_i the table's row of query i and r_j that of key j,
 *
 *     (q + p_i) . (k + r_j) = q . k + q . r_j + p_i . k + p_i . r_j
 *
 * everything times 1/sqrt(dim) (Vaswani et al., arXiv 1706.03762, without projections; Dai et al.,
 * arXiv 1901.02860, section 3.3 compares the terms). The last one is table_scale^2 times the sum of
 * cos(theta (i - j)), formed from the difference, so that equal positions are exact. */
#include "attention.h"
#include "waves.h"

#include <math.h>

#define MAX_BALLS (1 << 16) /* rows of keys */

struct side {
    unsigned prec_bits; /* 0: not computed yet */
    struct posref_ball *row;
};

struct additive {
    struct posref_waves waves;
    struct side q, *k; /* [n_k] */
    int64_t query;     /* that q is for */
};

static enum posref_status allocate(struct posref_attention *a, struct additive *x)
{
    if (a->n_k * a->dim > MAX_BALLS)
        return posref_fail(a->job->err, POSREF_BAD_INPUT, "k",
                           "keys times dim must be at most %d", MAX_BALLS);
    const size_t dim = (size_t)a->dim, rows = (size_t)a->n_k + 1;
    struct posref_ball *balls = posref_job_alloc(a->job, rows * dim, sizeof *balls);
    x->k = posref_job_alloc(a->job, (size_t)a->n_k, sizeof *x->k);
    if (!balls || !x->k)
        return POSREF_NO_MEMORY;
    x->q = (struct side){.row = balls};
    for (int64_t j = 0; j < a->n_k; j++)
        x->k[j] = (struct side){.row = balls + (size_t)(j + 1) * dim};
    return POSREF_OK;
}

enum posref_status posref_attention_check_added(const struct posref_attention *a)
{
    const struct posref_spec *spec = a->job->spec;
    if (spec->given[POSREF_FIELD_PADDING_IDX])
        return posref_fail(a->job->err, POSREF_BAD_INPUT, "padding_idx",
                           "counts positions of one sequence; scores take them as they are");
    if (spec->x_scale != POSREF_X_SCALE_ONE)
        return posref_fail(a->job->err, POSREF_BAD_INPUT, "x_scale",
                           "scores take the content as it is added: scale q and k");
    return POSREF_OK;
}

static enum posref_status begin(struct posref_attention *a)
{
    const struct posref_spec *spec = a->job->spec;
    struct additive *x = posref_job_alloc(a->job, 1, sizeof *x);
    if (!x)
        return POSREF_NO_MEMORY;
    if (spec->given[POSREF_FIELD_AXES_DIMS])
        return posref_fail(a->job->err, POSREF_BAD_INPUT, "axes_dims",
                           "scores of several axes are not computed; add the table to q and k");
    enum posref_status status = posref_attention_check_added(a);
    if (status != POSREF_OK)
        return status;
    if (spec->given[POSREF_FIELD_ODD_DIM] && spec->odd_dim == POSREF_ODD_DIM_EXTRA_SINE)
        return posref_fail(a->job->err, POSREF_BAD_INPUT, "odd_dim",
                           "scores need a cosine beside every sine");
    *x = (struct additive){.query = -1};
    posref_sinusoidal_waves(&x->waves, spec);
    a->state = x;
    status = allocate(a, x);
    return status == POSREF_OK ? posref_attention_read_positions(a, POSREF_POSITIONS_REQUIRED, 1)
                               : status;
}

static enum posref_status fill(struct side *side, const struct posref_attention *a,
                               double position, unsigned prec_bits)
{
    const struct additive *x = a->state;
    const struct posref_coordinate at = posref_coordinate_sum(position, a->job->spec->offset);
    enum posref_status status = POSREF_OK;
    for (int64_t c = 0; c < a->dim; c++)
        posref_ball_set_int(&side->row[c], 0);
    for (int n = 0; n < x->waves.block.n_sines && status == POSREF_OK; n++) {
        int sine, cosine;
        posref_layout_wave(&sine, &cosine, &x->waves.block, n);
        status = posref_waves_ball(&side->row[cosine], &side->row[sine], &x->waves, n, &at,
                                   prec_bits);
    }
    side->prec_bits = prec_bits;
    return status;
}

static enum posref_status prepare_rows(const struct posref_attention *a, int64_t i, int64_t j,
                                       unsigned prec_bits)
{
    struct additive *x = a->state;
    enum posref_status status = POSREF_OK;
    if (x->query != i || x->q.prec_bits != prec_bits)
        status = fill(&x->q, a, a->q_positions.value[i], prec_bits);
    x->query = i;
    if (status == POSREF_OK && x->k[j].prec_bits != prec_bits)
        status = fill(&x->k[j], a, a->k_positions.value[j], prec_bits);
    return status;
}

/* table_scale^2 sum of cos(theta_n (k - q)); waves carry table_scale once. */
static enum posref_status of_positions(struct posref_ball *out, const struct posref_attention *a,
                                       int64_t i, int64_t j, unsigned prec_bits)
{
    const struct additive *x = a->state;
    const struct posref_coordinate at = posref_coordinate_sum(a->k_positions.value[j],
                                                              -a->q_positions.value[i]);
    struct posref_ball cosine, sine, scale;
    enum posref_status status = POSREF_OK;
    posref_ball_set_int(out, 0);
    for (int n = 0; n < x->waves.block.n_sines && status == POSREF_OK; n++) {
        status = posref_waves_ball(&cosine, &sine, &x->waves, n, &at, prec_bits);
        posref_ball_add(out, out, &cosine, prec_bits);
    }
    posref_ball_set_double(&scale, a->job->spec->table_scale);
    posref_ball_mul(out, out, &scale, prec_bits);
    return status;
}

static enum posref_status score(struct posref_ball *term, const struct posref_attention *a,
                                int64_t head, int64_t i, int64_t j, unsigned prec_bits)
{
    const struct additive *x = a->state;
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    enum posref_status status = prepare_rows(a, i, j, prec_bits);
    if (status != POSREF_OK)
        return status;
    const bool own = (a->job->spec->slips & POSREF_SLIP_OWN_POSITIONS) != 0;
    posref_attention_dot(&term[0], q, k, a->dim, prec_bits);
    posref_attention_dot_ball(&term[1], q, own ? x->q.row : x->k[j].row, a->dim, prec_bits);
    posref_attention_dot_ball(&term[2], k, own ? x->k[j].row : x->q.row, a->dim, prec_bits);
    status = of_positions(&term[3], a, i, j, prec_bits);
    posref_attention_drop_added(term, a->job->spec);
    return status;
}

void posref_attention_drop_added(struct posref_ball term[4], const struct posref_spec *spec)
{
    const bool queries = (spec->slips & POSREF_SLIP_QUERIES_BARE) != 0;
    const bool keys = (spec->slips & POSREF_SLIP_KEYS_BARE) != 0;
    if (keys)
        posref_ball_set_int(&term[1], 0);
    if (queries)
        posref_ball_set_int(&term[2], 0);
    if (keys || queries || spec->slips & POSREF_SLIP_POSITIONS_APART)
        posref_ball_set_int(&term[3], 0);
}

/* Channels of the table are at most table_scale, and err by their angle. */
static void estimate(struct posref_attention_estimate *out, const struct posref_attention *a,
                     int64_t head, int64_t i, int64_t j)
{
    const struct posref_spec *spec = a->job->spec;
    const struct additive *x = a->state;
    const struct posref_ladder *ladder = &x->waves.ladder;
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    const double q_at = fabs(a->q_positions.value[i] + spec->offset);
    const double k_at = fabs(a->k_positions.value[j] + spec->offset), s = spec->table_scale;
    for (int n = 0; n < x->waves.block.n_sines; n++) {
        int sine, cosine;
        posref_layout_wave(&sine, &cosine, &x->waves.block, n);
        const double theta = spec->min_timescale * pow(spec->base / spec->min_timescale,
                                                       -(double)ladder->num * n / ladder->den);
        const double of_q = s * (fabs(q[sine]) + fabs(q[cosine]));
        const double of_k = s * (fabs(k[sine]) + fabs(k[cosine]));
        out->size += of_q + of_k + s * s;
        out->angle += 16 * theta * (of_q * k_at + of_k * q_at + s * s * (q_at + k_at));
    }
}

const char *const posref_attention_added_terms[] = {"content_content", "content_position",
                                                    "position_content", "position_position", NULL};

const struct posref_attention_hook posref_attention_additive = {
    .terms = posref_attention_added_terms,
    .begin = begin,
    .score = score,
    .estimate = estimate,
};
