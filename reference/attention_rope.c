/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of rope. For a pair of channels, with delta = (k_position - q_position) theta:
 *
 *     (R q) . (R k) = A cos delta + B sin delta,  A = q1 k1 + q2 k2,  B = q2 k1 - q1 k2
 *
 * times the magnitude squared; channels that are not rotated add their products. Forming the
 * difference first is what makes equal positions exact: cos 0 = 1, and no sine and cosine squared
 * have to add up to it. (That the same follows from rotated vectors is a test of its own.)
 *
 * Tables that are mismatched (two frequencies in one pair) are no rotation: there the four products
 * of sines and cosines of both positions are formed.
 *
 * The double-double of turn.h encloses cosines well enough for nearly every score; what it leaves
 * open goes through balls. */
#include "attention.h"
#include "plan.h"
#include "xpos.h"

#include <math.h>

struct rope {
    const struct posref_plan *plan;
    struct posref_dd *cosine, *sine; /* [n_k, n_pairs] of one query, or NULL: too many */
    int64_t cached_query;            /* -1: none */
    int n_copied;
    double *q, *k;                   /* scratch [dim]: the copied channels */
};

#define MAX_CACHED (1 << 18)

static enum posref_status begin(struct posref_attention *a)
{
    struct posref_job *job = a->job;
    struct rope *rope = posref_job_alloc(job, 1, sizeof *rope);
    if (!rope)
        return POSREF_NO_MEMORY;
    *rope = (struct rope){.cached_query = -1};
    enum posref_status status = posref_rope_plan(&rope->plan, job);
    if (status != POSREF_OK)
        return status;
    const int64_t n = a->n_k * rope->plan->n_pairs;
    for (int c = 0; c < rope->plan->dim; c++)
        rope->n_copied += rope->plan->copied[c];
    rope->q = posref_job_alloc(job, (size_t)a->dim, sizeof *rope->q);
    rope->k = posref_job_alloc(job, (size_t)a->dim, sizeof *rope->k);
    if (n <= MAX_CACHED) {
        rope->cosine = posref_job_alloc(job, (size_t)n, sizeof *rope->cosine);
        rope->sine = posref_job_alloc(job, (size_t)n, sizeof *rope->sine);
    }
    if (!rope->q || !rope->k || (n <= MAX_CACHED && (!rope->cosine || !rope->sine)))
        return POSREF_NO_MEMORY;
    a->state = rope;
    status = posref_attention_read_positions(a, POSREF_POSITIONS_REQUIRED, rope->plan->n_axes);
    if (status == POSREF_OK)
        status = posref_xpos_count(job->spec, "q", a->heads * a->n_q * n, job->err);
    for (int64_t i = 0; i < a->n_q && status == POSREF_OK; i++)
        status = posref_xpos_reach(job->spec, "k_positions", a->k_positions.value, a->n_k,
                                   a->q_positions.value[i], job->err);
    return status;
}

const struct posref_plan *posref_attention_rope_plan(const struct posref_attention *a)
{
    return ((const struct rope *)a->state)->plan;
}

/* cos and sin of position * theta without the magnitude; err infinite: ask the balls. */
static void quick(struct posref_dd *cosine, struct posref_dd *sine, const struct posref_plan *plan,
                  int column, double position)
{
    static const struct posref_magnitude one = {.hi = 1, .is_one = true, .is_exact = true};
    posref_turn_cos_sin_dd(cosine, sine, &plan->turn[column], &one, position);
}

/* The same of the offset of key j from query i. */
static void quick_offset(struct posref_dd *cosine, struct posref_dd *sine,
                         const struct posref_attention *a, const struct posref_plan_pair *pair,
                         int64_t i, int64_t j)
{
    const int axis = posref_attention_rope_plan(a)->column[pair->column[0]].axis;
    const double q = a->q_positions.value[axis * a->n_q + i];
    const double k = a->k_positions.value[axis * a->n_k + j];
    const double offset = k - q, back = offset - k;
    cosine->err = sine->err = HUGE_VAL;
    if ((k - (offset - back)) - (q + back) == 0) /* TwoSum: the difference is exact */
        quick(cosine, sine, posref_attention_rope_plan(a), pair->column[0], offset);
}

static void fill_cache(struct rope *rope, const struct posref_attention *a, int64_t i)
{
    for (int64_t j = 0; j < a->n_k; j++)
        for (int n = 0; n < rope->plan->n_pairs; n++) {
            const int64_t at = j * rope->plan->n_pairs + n;
            quick_offset(&rope->cosine[at], &rope->sine[at], a, &rope->plan->pair[n], i, j);
        }
    rope->cached_query = i;
}

/* By balls, of an exact position. */
static enum posref_status wide(struct posref_ball *cosine, struct posref_ball *sine,
                               const struct posref_plan *plan, int column,
                               const struct posref_ball *position, unsigned prec_bits)
{
    const struct posref_axis_pair *at = &plan->column[column];
    struct posref_ball turns, part;
    enum posref_status status = posref_frequencies_at(&turns, &plan->of[at->ladder], at->index,
                                                      prec_bits);
    if (status != POSREF_OK)
        return status;
    posref_ball_mul(&turns, &turns, position, prec_bits);
    posref_ball_pi(&part, prec_bits);
    posref_ball_scale2(&part, &part, 1);
    if (!posref_ball_div(&turns, &turns, &part, prec_bits))
        return POSREF_INTERNAL;
    posref_ball_cos_sin_turns(cosine, sine, &turns, prec_bits);
    return POSREF_OK;
}

static void set_dd(struct posref_ball *out, const struct posref_dd *value)
{
    posref_ball_set_dd(out, value->hi, value->lo, value->err);
}

static enum posref_status cos_sin(struct posref_ball *cosine, struct posref_ball *sine,
                                  const struct posref_attention *a, int n, int64_t i, int64_t j,
                                  unsigned prec_bits)
{
    struct rope *rope = a->state;
    const struct posref_plan_pair *pair = &rope->plan->pair[n];
    struct posref_dd c = {0, 0, HUGE_VAL}, s = c;
    if (prec_bits <= POSREF_ATTENTION_BITS && rope->cosine) {
        if (rope->cached_query != i)
            fill_cache(rope, a, i);
        c = rope->cosine[j * rope->plan->n_pairs + n];
        s = rope->sine[j * rope->plan->n_pairs + n];
    } else if (prec_bits <= POSREF_ATTENTION_BITS) {
        quick_offset(&c, &s, a, pair, i, j);
    }
    if (!isfinite(c.err) || !isfinite(s.err)) {
        struct posref_ball offset;
        posref_attention_offset(&offset, a, rope->plan->column[pair->column[0]].axis, i, j);
        return wide(cosine, sine, rope->plan, pair->column[0], &offset, prec_bits);
    }
    set_dd(cosine, &c);
    set_dd(sine, &s);
    return POSREF_OK;
}

/* Member `which` of a pair at a position: x1 cos - x2 sin, or x2 cos + x1 sin. */
static enum posref_status turned(struct posref_ball *out, const struct posref_plan *plan,
                                 const struct posref_plan_pair *pair, int which, const double *x,
                                 double position, unsigned prec_bits)
{
    const int column = pair->column[which];
    const double own = x[pair->in[which]];
    const double other = which == (pair->sign > 0) ? x[pair->in[1 - which]]
                                                   : -x[pair->in[1 - which]];
    struct posref_ball sine, part;
    struct posref_dd c = {0, 0, HUGE_VAL}, s = c;
    enum posref_status status = POSREF_OK;
    if (prec_bits <= POSREF_ATTENTION_BITS)
        quick(&c, &s, plan, column, position);
    if (isfinite(c.err) && isfinite(s.err)) {
        set_dd(out, &c);
        set_dd(&sine, &s);
    } else {
        posref_ball_set_double(&part, position);
        status = wide(out, &sine, plan, column, &part, prec_bits);
    }
    posref_ball_set_double(&part, own);
    posref_ball_mul(out, out, &part, prec_bits);
    posref_ball_set_double(&part, other);
    posref_ball_mul(&sine, &sine, &part, prec_bits);
    posref_ball_add(out, out, &sine, prec_bits);
    return status;
}

/* A pair whose members turn by different angles. */
static enum posref_status add_mismatched(struct posref_ball *sum, const struct posref_attention *a,
                                         int n, const double *q, const double *k, int64_t i,
                                         int64_t j, unsigned prec_bits)
{
    const struct posref_plan *plan = posref_attention_rope_plan(a);
    const struct posref_plan_pair *pair = &plan->pair[n];
    struct posref_ball of_q, of_k;
    enum posref_status status = POSREF_OK;
    for (int which = 0; which < 2 && status == POSREF_OK; which++) {
        const int axis = plan->column[pair->column[which]].axis;
        status = turned(&of_q, plan, pair, which, q, a->q_positions.value[axis * a->n_q + i],
                        prec_bits);
        if (status == POSREF_OK)
            status = turned(&of_k, plan, pair, which, k, a->k_positions.value[axis * a->n_k + j],
                            prec_bits);
        if (status != POSREF_OK)
            break;
        posref_ball_mul(&of_q, &of_q, &of_k, prec_bits);
        posref_ball_add(sum, sum, &of_q, prec_bits);
    }
    return status;
}

enum posref_status posref_attention_rope_add(struct posref_ball *sum,
                                             const struct posref_attention *a, int n,
                                             const struct posref_ball *along,
                                             const struct posref_ball *across, int64_t i,
                                             int64_t j, unsigned prec_bits)
{
    struct posref_ball cosine, sine;
    enum posref_status status = cos_sin(&cosine, &sine, a, n, i, j, prec_bits);
    if (status != POSREF_OK)
        return status;
    const struct posref_plan_pair *pair = &posref_attention_rope_plan(a)->pair[n];
    posref_ball_mul(&cosine, &cosine, along, prec_bits);
    posref_ball_mul(&sine, &sine, across, prec_bits);
    if (pair->sign < 0)
        posref_ball_neg(&sine, &sine);
    posref_ball_add(&cosine, &cosine, &sine, prec_bits);
    if (posref_xpos_on(a->job->spec)) {
        struct posref_ball offset;
        posref_attention_offset(&offset, a, 0, i, j);
        status = posref_xpos_score(&cosine, a->job->spec, pair->column[0], &offset, prec_bits);
    }
    posref_ball_add(sum, sum, &cosine, prec_bits);
    return status;
}

static enum posref_status add_pair(struct posref_ball *sum, const struct posref_attention *a,
                                   int n, const double *q, const double *k, int64_t i, int64_t j,
                                   unsigned prec_bits)
{
    const struct posref_plan_pair *pair = &posref_attention_rope_plan(a)->pair[n];
    const double q1 = q[pair->in[0]], q2 = q[pair->in[1]];
    const double k1 = k[pair->in[0]], k2 = k[pair->in[1]];
    struct posref_ball along, across;
    if (pair->column[0] != pair->column[1])
        return add_mismatched(sum, a, n, q, k, i, j, prec_bits);
    posref_attention_dot(&along, (const double[]){q1, q2}, (const double[]){k1, k2}, 2, prec_bits);
    posref_attention_dot(&across, (const double[]){q2, -q1}, (const double[]){k1, k2}, 2,
                         prec_bits);
    return posref_attention_rope_add(sum, a, n, &along, &across, i, j, prec_bits);
}

static enum posref_status score(struct posref_ball *term, const struct posref_attention *a,
                                int64_t head, int64_t i, int64_t j, unsigned prec_bits)
{
    struct rope *rope = a->state;
    const struct posref_plan *plan = rope->plan;
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    struct posref_ball part;
    enum posref_status status = POSREF_OK;
    posref_ball_set_int(term, 0);
    for (int n = 0; n < plan->n_pairs && status == POSREF_OK; n++)
        status = add_pair(term, a, n, q, k, i, j, prec_bits);
    if (status == POSREF_OK && !plan->magnitude.is_one) {
        status = posref_frequencies_magnitude_ball(&part, &plan->of[0], prec_bits);
        posref_ball_mul(term, term, &part, prec_bits);
        posref_ball_mul(term, term, &part, prec_bits);
    }
    if (rope->n_copied == 0)
        return status;
    for (int c = 0, n = 0; c < plan->dim; c++)
        if (plan->copied[c]) {
            rope->q[n] = q[c];
            rope->k[n++] = k[c];
        }
    posref_attention_dot(&part, rope->q, rope->k, rope->n_copied, prec_bits);
    posref_ball_add(term, term, &part, prec_bits);
    return status;
}

const struct posref_attention_hook posref_attention_rope = {
    .begin = begin,
    .score = score,
    .estimate = posref_attention_rope_estimate,
};
