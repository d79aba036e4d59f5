/* SPDX-License-Identifier: Apache-2.0 */
/* Transformer-XL's four terms (Dai et al., arXiv 1901.02860), d = q_position - k_position (the past
 * is positive), everything times 1/sqrt(dim):
 *
 *     content_content q . k,  content_position q . R_d,  u_content u . k,  v_position v . R_d
 *
 *     relative_keys=sinusoid     R_d = W s_d, W = key_weights [heads * dim, model_dim], s_d the
 *                                sines and cosines of d base^(-2i/model_dim) in the spec's order;
 *                                d is clamped to +-clamp_len (XLNet; Transformer-XL sees d >= 0)
 *     relative_keys=learned      R_d = weights[n - 1 - d]; d beyond the n rows takes row 0
 *     relative_keys=zero_padded  the same with zeros beyond, and no u and v (Music Transformer)
 *
 * Learned rows are for d >= 0: keys after the query have R = 0 and must not be seen. order=concat
 * is Transformer-XL's and XLNet's, interleaved that of Conformer. */
#include "attention.h"
#include "scaling.h"

#include <math.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_BASE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_ORDER, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_RELATIVE_KEYS, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_MODEL_DIM, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_CLAMP_LEN, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"key_weights", "*,model_dim"}, {"weights", "*,dim"}, {"u", "[*],dim"}, {"v_bias", "[*],dim"},
    {NULL, NULL},
};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    const bool sinusoid = spec->relative_keys == POSREF_RELATIVE_SINUSOID;
    static const enum posref_field own[] = {POSREF_FIELD_BASE, POSREF_FIELD_ORDER,
                                            POSREF_FIELD_MODEL_DIM, POSREF_FIELD_CLAMP_LEN};
    for (size_t n = 0; n < sizeof own / sizeof *own; n++)
        if (!sinusoid && spec->given[own[n]])
            return posref_fail(err, POSREF_BAD_INPUT, posref_field_def(own[n])->name,
                               "is for relative_keys=sinusoid");
    if (spec->given[POSREF_FIELD_TEMPERATURE])
        return posref_fail(err, POSREF_BAD_INPUT, "temperature",
                           "multiplies queries, and two of the terms have none");
    if (!sinusoid)
        return POSREF_OK;
    if (!spec->given[POSREF_FIELD_MODEL_DIM] || spec->model_dim % 2)
        return posref_fail(err, POSREF_BAD_INPUT, "model_dim",
                           "is required by relative_keys=sinusoid, and even");
    if (!spec->given[POSREF_FIELD_BASE])
        spec->base = 10000;
    if (!spec->given[POSREF_FIELD_ORDER])
        spec->order = POSREF_ORDER_CONCAT;
    if (spec->order == POSREF_ORDER_FLIPPED)
        return posref_fail(err, POSREF_BAD_INPUT, "order", "must be concat or interleaved");
    spec->given[POSREF_FIELD_BASE] = spec->given[POSREF_FIELD_ORDER] = true;
    return POSREF_OK;
}

#define MAX_BALLS (1 << 16) /* of R, over all distances */

/* R of one distance, [heads, dim] (one head where it is shared), at one precision. */
struct relative {
    double distance;
    unsigned prec_bits; /* 0: not computed yet */
    struct posref_ball *r;
};

struct txl {
    const double *w, *rows, *u, *v;
    int64_t n_rows, r_heads, u_heads, v_heads;
    int64_t n;
    struct relative *relative; /* [n] distances that occur */
    int64_t *at;               /* [n_q, n_k] */
    struct posref_ball *wave;  /* scratch [model_dim] */
};

#define SHIFTED (POSREF_SLIP_SHIFT_CAUSAL | POSREF_SLIP_SHIFT_LAST)

/* Distances n_k - 1 ... 0 of each query, padded with one column before them, read again as rows of
 * n_q, one of which is dropped (the first by right): entry (i, j) is then a distance of some query.
 * False: it is padding. */
static bool shift(int64_t *query, double *distance, const struct posref_attention *a, int64_t i,
                  int64_t j)
{
    const bool last = (a->job->spec->slips & POSREF_SLIP_SHIFT_LAST) != 0;
    const int64_t flat = (last ? 0 : a->n_q) + i * a->n_k + j, column = flat % (a->n_k + 1);
    *query = flat / (a->n_k + 1);
    *distance = (double)(a->n_k - column);
    return column > 0;
}

static bool is_sequence(const struct posref_attention *a)
{
    for (int64_t j = 0; j < a->n_k; j++)
        if (a->k_positions.value[j] != (double)j)
            return false;
    for (int64_t i = 0; i < a->n_q; i++)
        if (a->q_positions.value[i] != (double)(a->n_k - a->n_q + i))
            return false;
    return true;
}

static double distance_of(const struct posref_attention *a, int64_t i, int64_t j)
{
    const struct posref_spec *spec = a->job->spec;
    double d = a->q_positions.value[i] - a->k_positions.value[j];
    int64_t query;
    if (spec->slips & SHIFTED)
        (void)shift(&query, &d, a, i, j);
    if (spec->given[POSREF_FIELD_CLAMP_LEN])
        d = d < -spec->clamp_len ? -spec->clamp_len : d > spec->clamp_len ? spec->clamp_len : d;
    return d;
}

static enum posref_status list_distances(struct posref_attention *a, struct txl *x)
{
    const int64_t width = x->r_heads * a->dim;
    x->relative = posref_job_alloc(a->job, (size_t)(a->n_q * a->n_k), sizeof *x->relative);
    x->at = posref_job_alloc(a->job, (size_t)(a->n_q * a->n_k), sizeof *x->at);
    if (!x->relative || !x->at)
        return POSREF_NO_MEMORY;
    for (int64_t at = 0; at < a->n_q * a->n_k; at++) {
        const double d = distance_of(a, at / a->n_k, at % a->n_k);
        int64_t n = 0;
        while (n < x->n && x->relative[n].distance != d)
            n++;
        x->at[at] = n;
        if (n < x->n)
            continue;
        if ((n + 1) * width > MAX_BALLS)
            return posref_fail(a->job->err, POSREF_BAD_INPUT, "q_positions",
                               "distances times heads times dim must be at most %d", MAX_BALLS);
        x->relative[x->n++] = (struct relative){.distance = d};
        x->relative[n].r = posref_job_alloc(a->job, (size_t)width, sizeof *x->relative[n].r);
        if (!x->relative[n].r)
            return POSREF_NO_MEMORY;
    }
    return POSREF_OK;
}

static enum posref_status begin(struct posref_attention *a)
{
    struct posref_job *job = a->job;
    const struct posref_spec *spec = job->spec;
    struct txl *x = posref_job_alloc(job, 1, sizeof *x);
    if (!x)
        return POSREF_NO_MEMORY;
    *x = (struct txl){.r_heads = 1};
    a->state = x;
    enum posref_status status;
    if (spec->relative_keys == POSREF_RELATIVE_SINUSOID) {
        x->r_heads = a->heads;
        status = posref_job_input(&x->w, job, "key_weights", 2,
                                  (const int64_t[]){a->heads * a->dim, spec->model_dim});
        x->wave = posref_job_alloc(job, (size_t)spec->model_dim, sizeof *x->wave);
        if (!x->wave)
            return POSREF_NO_MEMORY;
    } else {
        const struct posref_tensor *rows = posref_tensors_find(job->in, "weights");
        x->n_rows = rows && rows->rank == 2 ? rows->shape[0] : 1;
        status = posref_job_input(&x->rows, job, "weights", 2,
                                  (const int64_t[]){x->n_rows, a->dim});
    }
    if (spec->relative_keys == POSREF_RELATIVE_ZERO_PADDED) {
        a->n_terms = 2;
    } else {
        if (status == POSREF_OK)
            status = posref_attention_input(&x->u, &x->u_heads, a, "u", 1, &a->dim);
        if (status == POSREF_OK)
            status = posref_attention_input(&x->v, &x->v_heads, a, "v_bias", 1, &a->dim);
    }
    if (status == POSREF_OK)
        status = posref_attention_read_positions(a, POSREF_POSITIONS_COUNTED, 1);
    if (status == POSREF_OK)
        status = posref_attention_whole_positions(a);
    if (status == POSREF_OK && spec->slips & SHIFTED && !is_sequence(a))
        return posref_fail(job->err, POSREF_BAD_INPUT, "q_positions", "are no sequence's end");
    return status == POSREF_OK ? list_distances(a, x) : status;
}

/* s_d: sines and cosines of d base^(-2i/model_dim). */
static enum posref_status waves(struct posref_ball *out, const struct posref_spec *spec,
                                double distance, unsigned prec_bits)
{
    const struct posref_ladder ladder = {.base = spec->base, .num = 2, .den = spec->model_dim,
                                         .over = 1};
    const int half = spec->model_dim / 2;
    struct posref_ball turns, part, two_pi;
    posref_ball_pi(&two_pi, prec_bits);
    posref_ball_scale2(&two_pi, &two_pi, 1);
    posref_ball_set_double(&part, distance);
    for (int i = 0; i < half; i++) {
        const bool concat = spec->order == POSREF_ORDER_CONCAT;
        enum posref_status status = posref_ladder_at(&turns, &ladder, i, prec_bits);
        posref_ball_mul(&turns, &turns, &part, prec_bits);
        if (status != POSREF_OK || !posref_ball_div(&turns, &turns, &two_pi, prec_bits))
            return POSREF_INTERNAL;
        posref_ball_cos_sin_turns(&out[concat ? half + i : 2 * i + 1], &out[concat ? i : 2 * i],
                                  &turns, prec_bits);
    }
    return POSREF_OK;
}

static enum posref_status fill(struct relative *out, const struct posref_attention *a,
                               unsigned prec_bits)
{
    struct txl *x = a->state;
    const struct posref_spec *spec = a->job->spec;
    out->prec_bits = prec_bits;
    if (spec->relative_keys == POSREF_RELATIVE_SINUSOID) {
        enum posref_status status = waves(x->wave, spec, out->distance, prec_bits);
        for (int64_t n = 0; n < x->r_heads * a->dim && status == POSREF_OK; n++)
            posref_attention_dot_ball(&out->r[n], x->w + n * spec->model_dim, x->wave,
                                      spec->model_dim, prec_bits);
        return status;
    }
    const bool far = out->distance > (double)(x->n_rows - 1);
    const bool zero = out->distance < 0 ||
                      (far && spec->relative_keys == POSREF_RELATIVE_ZERO_PADDED);
    const int64_t row = far || zero ? 0 : x->n_rows - 1 - (int64_t)out->distance;
    for (int64_t c = 0; c < a->dim; c++)
        posref_ball_set_double(&out->r[c], zero ? 0 : x->rows[row * a->dim + c]);
    return POSREF_OK;
}

static const struct posref_ball *row_of(enum posref_status *status,
                                        const struct posref_attention *a, int64_t head, int64_t i,
                                        int64_t j, unsigned prec_bits)
{
    struct txl *x = a->state;
    struct relative *relative = &x->relative[x->at[i * a->n_k + j]];
    *status = relative->prec_bits == prec_bits ? POSREF_OK : fill(relative, a, prec_bits);
    return relative->r + (x->r_heads == 1 ? 0 : head) * a->dim;
}

static enum posref_status score(struct posref_ball *term, const struct posref_attention *a,
                                int64_t head, int64_t i, int64_t j, unsigned prec_bits)
{
    const struct txl *x = a->state;
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    enum posref_status status;
    const struct posref_ball *r = row_of(&status, a, head, i, j, prec_bits);
    int64_t query = i;
    double distance;
    const bool padded = a->job->spec->slips & SHIFTED && !shift(&query, &distance, a, i, j);
    posref_attention_dot(&term[0], q, k, a->dim, prec_bits);
    posref_attention_dot_ball(&term[1], posref_attention_q(a, head, query), r, a->dim, prec_bits);
    if (padded)
        posref_ball_set_int(&term[1], 0);
    if (a->n_terms == 2 || status != POSREF_OK)
        return status;
    posref_attention_dot(&term[2], x->u + (x->u_heads == 1 ? 0 : head) * a->dim, k, a->dim,
                         prec_bits);
    posref_attention_dot_ball(&term[3], x->v + (x->v_heads == 1 ? 0 : head) * a->dim, r, a->dim,
                              prec_bits);
    if (padded)
        posref_ball_set_int(&term[3], 0);
    return POSREF_OK;
}

/* |R_d| is estimated from its ball; a sinusoid's error grows with the distance. */
static void estimate(struct posref_attention_estimate *out, const struct posref_attention *a,
                     int64_t head, int64_t i, int64_t j)
{
    const struct txl *x = a->state;
    const struct posref_spec *spec = a->job->spec;
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    const double *u = x->u ? x->u + (x->u_heads == 1 ? 0 : head) * a->dim : NULL;
    const double *v = x->v ? x->v + (x->v_heads == 1 ? 0 : head) * a->dim : NULL;
    const bool waves_of = spec->relative_keys == POSREF_RELATIVE_SINUSOID;
    enum posref_status status;
    const struct posref_ball *r = row_of(&status, a, head, i, j, POSREF_ATTENTION_BITS);
    for (int64_t c = 0; c < a->dim && status == POSREF_OK; c++) {
        double size = 0;
        const double left = fabs(q[c]) + (v ? fabs(v[c]) : 0);
        if (waves_of) /* sines and cosines are at most 1 */
            for (int n = 0; n < spec->model_dim; n++)
                size += fabs(x->w[(head * a->dim + c) * spec->model_dim + n]);
        else if (!posref_ball_round(&size, &r[c]))
            size = 0;
        out->size += left * fabs(size) + (u ? fabs(u[c] * k[c]) : 0);
        /* A sum of model_dim products, and angles of distance times a frequency up to 1. */
        if (waves_of)
            out->angle += left * size * (spec->model_dim + 16 + 16 * fabs(distance_of(a, i, j)));
    }
}

static enum posref_status eval(struct posref_job *job)
{
    (void)job;
    return POSREF_OK;
}

static const char *const terms[] = {"content_content", "content_position", "u_content",
                                    "v_position", NULL};

static const struct posref_attention_hook hook = {
    .terms = terms,
    .begin = begin,
    .score = score,
    .estimate = estimate,
};

const struct posref_scheme_def posref_transformer_xl = {
    .info = {.name = "transformer_xl",
             .summary = "relative keys in the scores, with two learned vectors in place of the "
                        "query: four terms",
             .formula = "scores = (q_i . k_j + q_i . R_(i-j) + u . k_j + v . R_(i-j)) / sqrt(dim)",
             .source = "Dai et al., Transformer-XL, arXiv 1901.02860; Huang et al., Music "
                       "Transformer, arXiv 1809.04281; Gulati et al., Conformer, arXiv 2005.08100",
             .learned = "u and v a head, and the projection of the sinusoids or the rows R",
             .injected = "in the scores of every layer",
             .relative = "exact: content and the distance alone",
             .beyond = "sinusoids go on; learned rows repeat the last or end in zeros",
             .cost = "a second product of n^2 d a head, and a shift",
             .users = "Transformer-XL, XLNet, Conformer, Parakeet, Music Transformer",
             .advice = "porting such models; speech encoders",
             .differs = "order of the sinusoid (order), clamping (clamp_len), and where R comes "
                        "from (relative_keys); shifts of kernels amount to the distance"},
    .fields = fields,
    .inputs = inputs,
    .check = check,
    .eval = eval,
    .attention = &hook,
};
