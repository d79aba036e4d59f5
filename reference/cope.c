/* SPDX-License-Identifier: Apache-2.0 */
/* Contextual positions (Golovneva et al., CoPE, arXiv 2405.18719; facebookresearch/RAM:
 * projects/cope/src/cope/context_position.py). Rows of q, k and weights, E = weights:
 *
 *     g_ik = sigmoid(z_ik), z = q . k as gate_logits says, 0 where key k is not seen
 *     p_ij = min(g_ij + g_i(j+1) + ... + g_i(n_k - 1), npos_max - 1)
 *     score = scale q_i . k_j + q_i . E(p_ij)          position_logits=unscaled (paper's listing)
 *     score = scale (q_i . k_j + q_i . E(p_ij))        position_logits=scaled (RAM)
 *
 * E(p) lies on the line between rows floor(p) and floor(p) + 1. That is continuous, and so is the
 * clamp: an enclosure of p that holds a whole number m is within |p - m| times the slopes of both
 * sides of row m, so no floor of a computed number is ever decided by guess. Exact: a gate of z = 0
 * is 1/2. Keys count from the last one back: by row, not by position. */
#include "cope.h"
#include "judge_impl.h"

#define MAX_BALLS (1 << 16) /* keys times heads */

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_NPOS_MAX, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_GATE_LOGITS, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_POSITION_LOGITS, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {{"weights", "[*],npos_max,dim"}, {NULL, NULL}};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->given[POSREF_FIELD_TEMPERATURE])
        return posref_fail(err, POSREF_BAD_INPUT, "temperature",
                           "multiplies queries, of which gates are made: scale q");
    return POSREF_OK;
}

int64_t posref_cope_key(const struct posref_spec *spec, int64_t n, int64_t n_k)
{
    return spec->slips & POSREF_SLIP_GATES_FROM_START ? n : n_k - 1 - n;
}

bool posref_cope_counts(const struct posref_attention *a, int64_t i, int64_t k)
{
    return posref_attention_sees(a, i, k) || a->job->spec->slips & POSREF_SLIP_GATES_UNMASKED;
}

const double *posref_cope_weights(const struct posref_attention *a, int64_t head, int64_t m)
{
    const struct posref_cope *x = a->state;
    return x->weights +
           ((x->heads == 1 ? 0 : head) * a->job->spec->npos_max + m) * a->dim;
}

static enum posref_status read_weights(struct posref_cope *x, struct posref_attention *a)
{
    const int64_t npos = a->job->spec->npos_max;
    if (a->job->op == POSREF_OP_TABLE && !posref_job_has(a->job, "weights"))
        return POSREF_OK;
    return posref_attention_input(&x->weights, &x->heads, a, "weights", 2,
                                  (const int64_t[]){npos, a->dim});
}

static enum posref_status begin(struct posref_attention *a)
{
    struct posref_cope *x = posref_job_alloc(a->job, 1, sizeof *x);
    if (!x)
        return POSREF_NO_MEMORY;
    if (a->n_k * a->heads > MAX_BALLS)
        return posref_fail(a->job->err, POSREF_BAD_INPUT, "k",
                           "keys times heads must be at most %d", MAX_BALLS);
    *x = (struct posref_cope){.heads = 1};
    x->row = posref_job_alloc(a->job, (size_t)a->heads, sizeof *x->row);
    struct posref_ball *balls = posref_job_alloc(a->job, (size_t)(a->n_k * a->heads),
                                                 sizeof *balls);
    if (!x->row || !balls)
        return POSREF_NO_MEMORY;
    for (int64_t head = 0; head < a->heads; head++)
        x->row[head] = (struct posref_cope_row){.query = -1, .position = balls + head * a->n_k};
    a->state = x;
    if (a->job->spec->position_logits == POSREF_POSITION_LOGITS_UNSCALED)
        a->n_unscaled = 1;
    return read_weights(x, a);
}

/* sigmoid(z): within [0, 1] where z is not known well enough. */
static void sigmoid(struct posref_ball *out, const struct posref_ball *z, unsigned prec_bits)
{
    struct posref_ball one, e, sum;
    const bool positive = z->sign > 0;
    posref_ball_set_int(&one, 1);
    if (z->sign == 0 && z->rad_man == 0) {
        posref_ball_scale2(out, &one, -1);
        return;
    }
    posref_ball_set(&e, z);
    if (positive)
        posref_ball_neg(&e, &e);
    posref_ball_exp(&e, &e, prec_bits);
    posref_ball_add(&sum, &one, &e, prec_bits);
    if (!posref_ball_div(out, positive ? &one : &e, &sum, prec_bits))
        posref_ball_set_dd(out, 0.5, 0, 0.5);
}

static enum posref_status gate(struct posref_ball *out, const struct posref_attention *a,
                               int64_t head, int64_t i, int64_t k, unsigned prec_bits)
{
    struct posref_ball z;
    posref_attention_dot(&z, posref_attention_q(a, head, i), posref_attention_k(a, head, k), a->dim,
                         prec_bits);
    if (a->job->spec->gate_logits == POSREF_GATE_LOGITS_SCALED &&
        !posref_attention_times_scale(&z, a, NULL, prec_bits))
        return POSREF_INTERNAL;
    sigmoid(out, &z, prec_bits);
    return POSREF_OK;
}

/* The smaller of p and the last row: p itself encloses it where it holds that. */
static void clamp(struct posref_ball *out, const struct posref_ball *p,
                  const struct posref_spec *spec)
{
    posref_ball_set_int(out, spec->npos_max - 1);
    if (spec->slips & POSREF_SLIP_ROW_NONE_BEYOND) {
        posref_ball_set(out, p);
        return;
    }
    const int order = posref_ball_compare(p, out);
    if (order == -1 || order == 2)
        posref_ball_set(out, p);
}

/* The positions of query i for all keys, at the precision that the scale is set for. */
static enum posref_status positions(const struct posref_ball **out,
                                    const struct posref_attention *a,
                                    int64_t head, int64_t i, unsigned prec_bits)
{
    const struct posref_cope *x = a->state;
    const struct posref_spec *spec = a->job->spec;
    struct posref_cope_row *row = &x->row[head];
    struct posref_ball sum, before, one;
    enum posref_status status = POSREF_OK;
    *out = row->position;
    if (row->query == i && row->prec_bits == prec_bits)
        return POSREF_OK;
    posref_ball_set_int(&sum, 0);
    for (int64_t n = 0; n < a->n_k && status == POSREF_OK; n++) {
        const int64_t j = posref_cope_key(spec, n, a->n_k);
        posref_ball_set(&before, &sum);
        if (posref_cope_counts(a, i, j)) {
            status = gate(&one, a, head, i, j, prec_bits);
            if (status == POSREF_OK)
                posref_ball_add(&sum, &sum, &one, prec_bits);
        }
        clamp(&row->position[j], spec->slips & POSREF_SLIP_GATES_BEYOND ? &before : &sum, spec);
    }
    row->query = status == POSREF_OK ? i : -1;
    row->prec_bits = prec_bits;
    return status;
}

/* q . E[m]: 0 after the last row, where no clamp comes before. */
static void logit_at(struct posref_ball *out, const struct posref_attention *a, int64_t head,
                     const double *q, int64_t m, unsigned prec_bits)
{
    posref_ball_set_int(out, 0);
    if (m < a->job->spec->npos_max)
        posref_attention_dot(out, q, posref_cope_weights(a, head, m), a->dim, prec_bits);
}

/* slope = q . E[m + 1] - q . E[m]: 0 before the first row and after the last. */
static void slope_at(struct posref_ball *slope, const struct posref_attention *a, int64_t head,
                     const double *q, int64_t m, unsigned prec_bits)
{
    const struct posref_spec *spec = a->job->spec;
    struct posref_ball low;
    posref_ball_set_int(slope, 0);
    if (m < 0 || spec->slips & (POSREF_SLIP_ROW_FLOOR | POSREF_SLIP_ROW_NEAREST) ||
        (m + 1 >= spec->npos_max && !(spec->slips & POSREF_SLIP_ROW_NONE_BEYOND)))
        return;
    logit_at(slope, a, head, q, m + 1, prec_bits);
    logit_at(&low, a, head, q, m, prec_bits);
    posref_ball_sub(slope, slope, &low, prec_bits);
}

/* Some weights within [-1, 1] of all rows: where p is hardly known. */
static void any_row(struct posref_ball *out, const struct posref_attention *a, int64_t head,
                    const double *q, unsigned prec_bits)
{
    struct posref_ball weight, logit;
    posref_ball_set_dd(&weight, 0, 0, 1);
    posref_ball_set_int(out, 0);
    for (int64_t m = 0; m < a->job->spec->npos_max; m++) {
        posref_attention_dot(&logit, q, posref_cope_weights(a, head, m), a->dim, prec_bits);
        posref_ball_mul(&logit, &logit, &weight, prec_bits);
        posref_ball_add(out, out, &logit, prec_bits);
    }
}

/* The whole number nearest to p's midpoint, and *offset = p - m: false where |offset| may be 1. */
static bool nearest(int64_t *m, struct posref_ball *offset, const struct posref_ball *p,
                    unsigned prec_bits)
{
    struct posref_ball half, middle;
    posref_ball_set(&middle, p);
    middle.rad_man = 0;
    middle.rad_exponent = 0;
    posref_ball_set_int(&half, 1);
    posref_ball_scale2(&half, &half, -1);
    posref_ball_add(&middle, &middle, &half, POSREF_BALL_MAX_BITS);
    if (!posref_ball_floor(m, &middle))
        return false;
    posref_ball_set_int(&middle, *m);
    posref_ball_sub(offset, p, &middle, prec_bits);
    posref_ball_set_int(&half, 1);
    posref_ball_neg(&middle, &half);
    return posref_ball_compare(offset, &half) == -1 && posref_ball_compare(offset, &middle) == 1;
}

/* q . E(p): the line of row floor(p); or, about a whole number m that p holds, both lines, of which
 * one has the offset 0: offset slope(m - 1) + offset slope(m) encloses either. */
static void interpolate(struct posref_ball *out, const struct posref_attention *a, int64_t head,
                        const double *q, const struct posref_ball *at, unsigned prec_bits)
{
    const struct posref_spec *spec = a->job->spec;
    const int64_t last = spec->slips & POSREF_SLIP_ROW_NONE_BEYOND ? a->n_k + 1
                                                                   : spec->npos_max - 1;
    struct posref_ball offset, slope, rounded;
    const struct posref_ball *p = at;
    if (spec->slips & POSREF_SLIP_ROW_NEAREST) {
        posref_ball_ratio(&rounded, 1, 2, prec_bits);
        posref_ball_add(&rounded, &rounded, at, prec_bits);
        p = &rounded;
    }
    int64_t m = 0;
    const bool decided = posref_ball_floor(&m, p);
    if (decided) {
        posref_ball_set_int(&slope, m);
        posref_ball_sub(&offset, p, &slope, prec_bits);
    } else if (!nearest(&m, &offset, p, prec_bits) || m < 0 || m > last) {
        any_row(out, a, head, q, prec_bits);
        return;
    }
    logit_at(out, a, head, q, m, prec_bits);
    for (int64_t line = decided ? m : m - 1; line <= m; line++) {
        slope_at(&slope, a, head, q, line, prec_bits);
        posref_ball_mul(&slope, &slope, &offset, prec_bits);
        posref_ball_add(out, out, &slope, prec_bits);
    }
}

static enum posref_status score(struct posref_ball *term, const struct posref_attention *a,
                                int64_t head, int64_t i, int64_t j, unsigned prec_bits)
{
    const double *q = posref_attention_q(a, head, i);
    const struct posref_ball *p;
    enum posref_status status = positions(&p, a, head, i, prec_bits);
    if (status != POSREF_OK)
        return status;
    posref_attention_dot(&term[0], q, posref_attention_k(a, head, j), a->dim, prec_bits);
    interpolate(&term[1], a, head, q, &p[j], prec_bits);
    return POSREF_OK;
}

static enum posref_status one_row(double *out, struct posref_attention *a, int64_t head, int64_t i)
{
    bool decided = false;
    enum posref_status status = POSREF_OK;
    for (unsigned bits = POSREF_ATTENTION_BITS; !decided && status == POSREF_OK; bits *= 2) {
        const struct posref_ball *p;
        status = posref_attention_set_scale(a, bits);
        if (status == POSREF_OK)
            status = positions(&p, a, head, i, bits);
        decided = status == POSREF_OK;
        for (int64_t j = 0; j < a->n_k && decided; j++)
            decided = posref_attention_round(&out[j], &p[j], bits);
    }
    return status;
}

static enum posref_status eval(struct posref_job *job)
{
    const bool pair = posref_job_has(job, "q") && posref_job_has(job, "k");
    if (!posref_job_wants(job, POSREF_OP_TABLE, pair))
        return POSREF_OK;
    struct posref_attention *a = posref_job_alloc(job, 1, sizeof *a);
    if (!a)
        return POSREF_NO_MEMORY;
    enum posref_status status = posref_attention_open(a, job);
    if (status != POSREF_OK)
        return status;
    double *out;
    const int64_t shape[] = {a->heads, a->n_q, a->n_k};
    const int drop = a->by_head ? 0 : 1;
    status = posref_job_output(&out, job, "contextual_positions", 3 - drop, shape + drop);
    for (int64_t head = 0; head < a->heads && status == POSREF_OK; head++)
        for (int64_t i = 0; i < a->n_q && status == POSREF_OK; i++)
            status = one_row(out + (head * a->n_q + i) * a->n_k, a, head, i);
    return status;
}

static const char *const terms[] = {"content_content", "content_position", NULL};
static const char *const more_inputs[] = {"weights", NULL};

static const struct posref_attention_hook hook = {
    .inputs = more_inputs,
    .terms = terms,
    .begin = begin,
    .score = score,
    .estimate = posref_cope_estimate,
};

const struct posref_scheme_def posref_cope = {
    .info = {.name = "cope",
             .summary = "contextual positions: a key's position is the sum of gates from it to the "
                        "query, and lies between learned rows",
             .formula = "p_ij = min(sum over k = j..i of sigmoid(q_i . k_k), npos_max - 1); scores "
                        "= q_i . k_j / sqrt(dim) + q_i . E(p_ij), E between rows floor and ceil "
                        "of p",
             .source = "Golovneva et al., CoPE, arXiv 2405.18719",
             .learned = "npos_max vectors, shared by heads and often by layers",
             .injected = "terms of the scores of every layer",
             .relative = "in its own way: position counts what the query's gates let through",
             .beyond = "positions are clamped to the last row; gates may count sparsely",
             .cost = "n^2 gates and their sums a head, and n npos_max d products",
             .users = "research models; x-transformers has it",
             .advice = "counting words or sentences instead of tokens; experiments",
             .differs = "whether gates are those of scaled scores (the paper's listing, its code) "
                        "or of q . k (its equation 3): gate_logits; whether the position's logit "
                        "is divided by sqrt(dim) too (facebookresearch/RAM) or not (the paper's "
                        "listing, x-transformers, RAM's cope-nodiv): position_logits. A key that "
                        "is not seen has the gate 0; some copies leave a query's own key out of "
                        "the sum"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_TABLE,
    .check = check,
    .eval = eval,
    .judge = posref_judge_units_cope,
    .attention = &hook,
};
