/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with linear biases (Press et al., arXiv 2108.12409).
 *
 * Slopes of n heads, c the largest power of two <= n, B = alibi_bias_max:
 *     slopes=published       head h < c:   m = 2^(-B (h + 1) / c)
 *                            head h >= c:  m = 2^(-B (2 (h - c) + 1) / (2c)), every other slope of
 *                                          the list for 2c heads
 *     slopes=published_bf16  these rounded to bfloat16, as Falcon holds them
 *     slopes=geometric       m = 2^(-B (h + 1) / n) for any n
 * Bias of query position i and key position j, added to the scaled scores:
 *     form=distance   -m (i - j)    for every i and j; for keys after the query it is positive,
 *                                   which causal attention masks
 *     form=row         m j          distance plus m i, constant in a row: equal after softmax
 *     form=symmetric  -m |i - j|
 * align=bottom_right takes the positions as they are: in a step of decoding the last query stands
 * on the last key. align=top_left puts the first query on the first key, whatever their positions:
 * i is i - q_positions[0] + k_positions[0] (TransformerEngine without bottom_right_diagonal, and
 * kernels that take row and column numbers for positions). */
#include "attention.h"
#include "bias.h"
#include "judge_impl.h"
#include "layout.h"

#include <math.h>
#include <string.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_ALIBI_BIAS_MAX, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_FORM, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_ALIGN, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_SLOPES, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {{"positions", ""}, {"q_positions", ""},
                                                 {"k_positions", ""},
                                                 {"logits", "num_heads,n_q,n_k"}, {NULL, NULL}};

/* Slopes are enclosed once a head at this precision; the rare product that it leaves undecided is
 * computed again from the spec. */
#define SLOPE_BITS 192U

/* B num / den as a whole number, when it is one. */
static bool whole_exponent(int64_t *out, double B, int num, int den)
{
    struct posref_ball product, factor;
    int64_t whole;
    posref_ball_set_double(&product, B);
    posref_ball_set_int(&factor, num);
    posref_ball_mul(&product, &product, &factor, 128); /* 53 + 11 bits: exact */
    if (!posref_ball_floor(&whole, &product))
        return false;
    posref_ball_set_int(&factor, whole);
    if (posref_ball_compare(&factor, &product) != 0 || whole % den != 0)
        return false;
    *out = whole / den;
    return true;
}

/* 2^(-B num / den), exact when the exponent is a whole number: any other is a rational number that
 * gives an irrational slope, which precision decides. */
static enum posref_status power_ball(struct posref_ball *out, const struct posref_spec *spec, int h,
                                     unsigned prec_bits)
{
    int num, den;
    int64_t whole;
    posref_layout_slope(&num, &den, spec, h);
    if (whole_exponent(&whole, spec->alibi_bias_max, num, den)) {
        posref_ball_set_int(out, 1);
        posref_ball_scale2(out, out, -whole);
        return POSREF_OK;
    }
    struct posref_ball exponent, factor;
    posref_ball_set_double(&exponent, spec->alibi_bias_max);
    posref_ball_ratio(&factor, -num, den, prec_bits);
    posref_ball_mul(&exponent, &exponent, &factor, prec_bits);
    posref_ball_set_int(&factor, 2);
    if (!posref_ball_log(&factor, &factor, prec_bits))
        return POSREF_INTERNAL;
    posref_ball_mul(&exponent, &exponent, &factor, prec_bits);
    posref_ball_exp(out, &exponent, prec_bits);
    return POSREF_OK;
}

struct slope_ctx {
    const struct posref_spec *spec;
    int h;
};

static enum posref_status power_of_ctx(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct slope_ctx *c = ctx;
    return power_ball(out, c->spec, c->h, prec_bits);
}

/* The published slope in bfloat16, exactly: by way of a double rounded to odd, from which a second
 * rounding goes right. */
static enum posref_status bf16_ball(struct posref_ball *out, const struct posref_spec *spec, int h)
{
    struct posref_ball power, rounded;
    double slope;
    int side = 2;
    enum posref_status status =
        posref_ball_decide(&slope, power_of_ctx, &(const struct slope_ctx){spec, h});
    for (unsigned bits = 128; status == POSREF_OK && side == 2; bits *= 2) {
        status = bits > POSREF_BALL_MAX_BITS ? POSREF_INTERNAL : power_ball(&power, spec, h, bits);
        posref_ball_set_double(&rounded, slope);
        if (status == POSREF_OK)
            side = posref_ball_compare(&power, &rounded);
    }
    if (status != POSREF_OK)
        return status;
    uint64_t odd;
    slope = side < 0 ? nextafter(slope, 0) : slope;
    memcpy(&odd, &slope, sizeof odd);
    odd |= side != 0; /* a power of two is exact */
    memcpy(&slope, &odd, sizeof odd);
    posref_ball_set_double(out, posref_rounded(slope, POSREF_BF16));
    return POSREF_OK;
}

static enum posref_status slope_ball(struct posref_ball *out, const struct posref_spec *spec, int h,
                                     unsigned prec_bits)
{
    return spec->slopes == POSREF_SLOPES_PUBLISHED_BF16 ? bf16_ball(out, spec, h)
                                                        : power_ball(out, spec, h, prec_bits);
}

/* One pair of positions, and the first ones, which align=top_left puts on each other. */
struct bias_ctx {
    const struct posref_spec *spec;
    int h;
    double q, k, q_first, k_first;
};

/* The factor of m in the bias: exact. */
static void distance_ball(struct posref_ball *out, const struct bias_ctx *c)
{
    /* 53 + 32 bits hold any sum of two positions with the same last place; more for fractions. */
    const unsigned exact_bits = 2200;
    struct posref_ball other;
    posref_ball_set_double(out, c->k);
    if (c->spec->form == POSREF_ALIBI_ROW)
        return;
    posref_ball_set_double(&other, c->q);
    posref_ball_sub(out, out, &other, exact_bits);
    if (c->spec->align == POSREF_ALIGN_TOP_LEFT) {
        posref_ball_set_double(&other, c->q_first);
        posref_ball_add(out, out, &other, exact_bits);
        posref_ball_set_double(&other, c->k_first);
        posref_ball_sub(out, out, &other, exact_bits);
    }
    if (c->spec->form == POSREF_ALIBI_SYMMETRIC && out->sign > 0)
        posref_ball_neg(out, out);
}

static enum posref_status bias_ball(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct bias_ctx *c = ctx;
    struct posref_ball distance;
    distance_ball(&distance, c);
    enum posref_status status = slope_ball(out, c->spec, c->h, prec_bits);
    posref_ball_mul(out, out, &distance, prec_bits);
    return status;
}

static enum posref_status only_slope_ball(struct posref_ball *out, const void *ctx,
                                          unsigned prec_bits)
{
    const struct bias_ctx *c = ctx;
    return slope_ball(out, c->spec, c->h, prec_bits);
}

static enum posref_status slopes(struct posref_job *job)
{
    double *out;
    enum posref_status status = posref_job_output(&out, job, "slopes", 1,
                                                  (const int64_t[]){job->spec->num_heads});
    for (int h = 0; h < job->spec->num_heads && status == POSREF_OK; h++)
        status = posref_ball_decide(&out[h], only_slope_ball,
                                    &(const struct bias_ctx){.spec = job->spec, .h = h});
    return status;
}

static enum posref_status bias(struct posref_job *job, const struct posref_grid *grid)
{
    const int64_t n_q = grid->q.n, n_k = grid->k.n;
    double *out;
    struct posref_ball slope, value;
    enum posref_status status =
        posref_job_output(&out, job, "bias", 3, (const int64_t[]){job->spec->num_heads, n_q, n_k});
    for (int h = 0; h < job->spec->num_heads && status == POSREF_OK; h++) {
        status = slope_ball(&slope, job->spec, h, SLOPE_BITS);
        for (int64_t at = 0; at < n_q * n_k && status == POSREF_OK; at++, out++) {
            const struct bias_ctx ctx = {job->spec, h, grid->q.value[at / n_k],
                                         grid->k.value[at % n_k], grid->q.value[0],
                                         grid->k.value[0]};
            distance_ball(&value, &ctx);
            posref_ball_mul(&value, &value, &slope, SLOPE_BITS);
            if (!posref_ball_round(out, &value))
                status = posref_ball_decide(out, bias_ball, &ctx);
        }
    }
    return status;
}

struct row {
    const struct posref_spec *spec;
    const double *logits, *k;
    double q, q_first;
    int64_t n_k;
    int h;
    struct posref_ball *term; /* scratch [n_k] */
};

/* exp(logit + bias - largest) of every key, in row->term, and their sum. */
static enum posref_status softmax_terms(struct posref_ball *sum, const struct row *row,
                                        unsigned prec_bits)
{
    struct posref_ball slope, logit, largest;
    enum posref_status status = slope_ball(&slope, row->spec, row->h, prec_bits);
    for (int64_t j = 0; j < row->n_k && status == POSREF_OK; j++) {
        struct posref_ball *score = &row->term[j];
        distance_ball(score, &(const struct bias_ctx){row->spec, row->h, row->q, row->k[j],
                                                      row->q_first, row->k[0]});
        posref_ball_mul(score, score, &slope, prec_bits);
        posref_ball_set_double(&logit, row->logits[j]);
        posref_ball_add(score, score, &logit, prec_bits);
        if (j == 0 || posref_ball_compare(score, &largest) == 1)
            posref_ball_set(&largest, score);
    }
    posref_ball_set_int(sum, 0);
    for (int64_t j = 0; j < row->n_k && status == POSREF_OK; j++) {
        posref_ball_sub(&row->term[j], &row->term[j], &largest, prec_bits);
        posref_ball_exp(&row->term[j], &row->term[j], prec_bits);
        posref_ball_add(sum, sum, &row->term[j], prec_bits);
    }
    return status;
}

/* Rounds an enclosure of a positive number. The exponential of less than -2^50 is enclosed by 0 +-
 * a radius, which leaves the sign of a zero open: it is +0. */
static bool round_positive(double *out, const struct posref_ball *value)
{
    struct posref_ball limit; /* half the smallest double */
    if (posref_ball_round(out, value))
        return true;
    posref_ball_set_int(&limit, 1);
    posref_ball_scale2(&limit, &limit, -1075);
    if (posref_ball_compare(value, &limit) != -1)
        return false;
    *out = 0;
    return true;
}

/* The weights of one row at one precision; *decided: all of them are correctly rounded. A quotient
 * of sums of exponentials of distinct algebraic numbers is transcendental, and equal scores give a
 * quotient of small integers: no weight lies on a rounding boundary. */
static enum posref_status softmax_row(double *out, bool *decided, const struct row *row,
                                      unsigned prec_bits)
{
    struct posref_ball sum, weight;
    enum posref_status status = softmax_terms(&sum, row, prec_bits);
    *decided = true;
    for (int64_t j = 0; j < row->n_k && status == POSREF_OK && *decided; j++)
        *decided = posref_ball_div(&weight, &row->term[j], &sum, prec_bits) &&
                   round_positive(&out[j], &weight);
    return status;
}

static enum posref_status weights(struct posref_job *job, const struct posref_grid *grid)
{
    const int64_t n_q = grid->q.n, n_k = grid->k.n;
    const int64_t shape[] = {job->spec->num_heads, n_q, n_k};
    const double *logits;
    double *out;
    enum posref_status status = posref_job_input(&logits, job, "logits", 3, shape);
    if (status == POSREF_OK)
        status = posref_job_output(&out, job, "weights", 3, shape);
    if (status != POSREF_OK)
        return status;
    struct row row = {.spec = job->spec, .k = grid->k.value, .n_k = n_k,
                      .q_first = grid->q.value[0]};
    row.term = posref_job_alloc(job, (size_t)n_k, sizeof *row.term);
    if (!row.term)
        return POSREF_NO_MEMORY;
    for (int64_t at = 0; at < shape[0] * n_q && status == POSREF_OK; at++) {
        bool decided = false;
        row.h = (int)(at / n_q);
        row.q = grid->q.value[at % n_q];
        row.logits = logits + at * n_k;
        for (unsigned bits = 128; !decided && status == POSREF_OK; bits *= 2)
            status = bits > POSREF_BALL_MAX_BITS
                         ? POSREF_INTERNAL
                         : softmax_row(out + at * n_k, &decided, &row, bits);
    }
    return status;
}

/* Scores and attention: the bias of this head, its slope enclosed once for each precision. */
struct attention_state {
    int64_t head;
    unsigned prec_bits;
    struct posref_ball slope;
};

static enum posref_status attention_begin(struct posref_attention *a)
{
    struct attention_state *state = posref_job_alloc(a->job, 1, sizeof *state);
    if (!state)
        return POSREF_NO_MEMORY;
    state->head = -1;
    a->state = state;
    return POSREF_OK;
}

static enum posref_status attention_bias(struct posref_ball *out, const struct posref_attention *a,
                                         int64_t head, int64_t i, int64_t j, unsigned prec_bits)
{
    struct attention_state *state = a->state;
    if (state->head != head || state->prec_bits != prec_bits) {
        enum posref_status status = slope_ball(&state->slope, a->job->spec, (int)head, prec_bits);
        if (status != POSREF_OK)
            return status;
        state->head = head;
        state->prec_bits = prec_bits;
    }
    distance_ball(out, &(const struct bias_ctx){a->job->spec, (int)head, a->q_positions.value[i],
                                                a->k_positions.value[j], a->q_positions.value[0],
                                                a->k_positions.value[0]});
    posref_ball_mul(out, out, &state->slope, prec_bits);
    return POSREF_OK;
}

static const struct posref_attention_hook attention_hook = {
    .positions = POSREF_POSITIONS_REQUIRED,
    .begin = attention_begin,
    .bias = attention_bias,
    .estimate = posref_attention_alibi_estimate,
};

static enum posref_status eval(struct posref_job *job)
{
    const bool has_logits = posref_job_has(job, "logits");
    const bool wants_weights = posref_job_wants(job, POSREF_OP_WEIGHTS, has_logits);
    const bool wants_bias =
        posref_job_wants(job, POSREF_OP_BIAS, has_logits || posref_grid_given(job));
    struct posref_grid grid;
    enum posref_status status = POSREF_OK;
    if (posref_job_wants(job, POSREF_OP_FREQUENCIES, true))
        status = slopes(job);
    if (status == POSREF_OK && (wants_bias || wants_weights))
        status = posref_grid_read(&grid, job, 1);
    if (status == POSREF_OK && wants_bias)
        status = bias(job, &grid);
    if (status == POSREF_OK && wants_weights)
        status = weights(job, &grid);
    return status;
}

const struct posref_scheme_def posref_alibi = {
    .info = {.name = "alibi",
             .summary = "a bias linear in the distance, one slope per head, added to the scores",
             .formula = "bias = -m_h (i - j); m_h = 2^(-alibi_bias_max (h+1)/num_heads) for a "
                        "power of two of heads, and for any number with slopes=geometric",
             .source = "Press et al., Train Short, Test Long, arXiv 2108.12409",
             .learned = "none",
             .injected = "added to the scores of every layer",
             .relative = "exact: the bias depends on the distance alone",
             .beyond = "made for it: trained short, models still work on several times the length",
             .cost = "one addition a score, O(n^2) values a head, or none when fused",
             .users = "BLOOM, MPT, Falcon-RW, Baichuan-13B",
             .advice = "length extrapolation without training; recent tokens weigh most",
             .differs = "row-constant, distance or symmetric form (form); queries aligned with the "
                        "last keys or the first (align); libraries agree on the published slopes, "
                        "which Falcon rounds to bfloat16 (slopes). Falcon multiplies the bias by "
                        "1/sqrt(dim) as well: scale its scores and bias together"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_FREQUENCIES | 1U << POSREF_OP_BIAS | 1U << POSREF_OP_WEIGHTS,
    .eval = eval,
    .judge = posref_judge_units_alibi,
    .attention = &attention_hook,
};
