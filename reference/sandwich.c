/* SPDX-License-Identifier: Apache-2.0 */
/* Sandwich: the inner product of two sinusoidal embeddings as a bias (Chi et al., arXiv
 * 2212.10356; NVIDIA/NeMo: sandwich_relative_position_embedding.py). Head h = 0 ... H - 1:
 *     bias = (sum_{i=1}^{dim/2} cos((q - k) base^(-2i/dim)) - dim/2) / (8 (h + 1) / H)
 * The frequencies start at i = 1; -dim/2 makes the bias of distance 0 exactly 0 and vanishes in a
 * softmax.
 *
 * No tie: a sum of cosines of algebraic numbers other than 0 is transcendental (Lindemann and
 * Weierstrass), and distance 0 is exact. */
#include "bias.h"
#include "frequencies.h"
#include "judge_impl.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_BASE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_REQUIRED},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"positions", ""}, {"q_positions", ""}, {"k_positions", ""}, {NULL, NULL}};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->dim % 2 != 0)
        return posref_fail(err, POSREF_BAD_INPUT, "dim", "must be even, got %d", spec->dim);
    return POSREF_OK;
}

struct sandwich {
    const struct posref_spec *spec;
    struct posref_grid grid;
    struct posref_ball sum; /* of pair (i, j): sum of cosines - dim/2, at its precision */
    int64_t i, j;
    unsigned prec_bits;
    struct posref_ball *turns; /* [dim / 2] per token, at their own precision; 0: none yet */
    unsigned turns_bits;
};

/* base^(-2i/dim) / 2 pi for i = 1 ... dim/2. */
static enum posref_status fill_turns(struct sandwich *c, unsigned prec_bits)
{
    struct posref_ball two_pi;
    posref_ball_pi(&two_pi, prec_bits);
    posref_ball_scale2(&two_pi, &two_pi, 1);
    c->turns_bits = prec_bits;
    for (int i = 1; i <= c->spec->dim / 2; i++) {
        struct posref_ball *turns = &c->turns[i - 1];
        posref_ball_set_double(turns, c->spec->base);
        if (!posref_ball_pow_ratio(turns, turns, -2 * (int64_t)i, c->spec->dim, prec_bits) ||
            !posref_ball_div(turns, turns, &two_pi, prec_bits))
            return POSREF_INTERNAL;
    }
    return POSREF_OK;
}

/* sum over i of cos(distance base^(-2i/dim)) - 1. Its terms cancel nothing: all have one sign. */
static enum posref_status cosines(struct posref_ball *out, struct sandwich *c,
                                  const struct posref_ball *distance, unsigned prec_bits)
{
    struct posref_ball angle, cosine, sine, one;
    posref_ball_set_int(&one, 1);
    posref_ball_set_int(out, 0);
    enum posref_status status =
        c->turns_bits == prec_bits ? POSREF_OK : fill_turns(c, prec_bits);
    for (int i = 0; i < c->spec->dim / 2 && status == POSREF_OK; i++) {
        posref_ball_mul(&angle, &c->turns[i], distance, prec_bits);
        posref_ball_cos_sin_turns(&cosine, &sine, &angle, prec_bits);
        posref_ball_sub(&cosine, &cosine, &one, prec_bits);
        posref_ball_add(out, out, &cosine, prec_bits);
    }
    return status;
}

static enum posref_status at(struct posref_ball *out, const struct posref_bias *bias, int h,
                             int64_t i, int64_t j, unsigned prec_bits)
{
    struct sandwich *c = bias->ctx;
    const unsigned exact_bits = 2200;
    if (c->i != i || c->j != j || c->prec_bits != prec_bits) {
        struct posref_ball distance, k;
        posref_ball_set_double(&distance, c->grid.q.value[i]);
        posref_ball_set_double(&k, c->grid.k.value[j]);
        posref_ball_sub(&distance, &distance, &k, exact_bits);
        posref_ball_set_int(&c->sum, 0);
        enum posref_status status = POSREF_OK;
        if (distance.sign != 0)
            status = cosines(&c->sum, c, &distance, prec_bits);
        if (status != POSREF_OK)
            return status;
        c->i = i;
        c->j = j;
        c->prec_bits = prec_bits;
    }
    struct posref_ball factor;
    posref_ball_ratio(&factor, c->spec->num_heads, 8 * ((int64_t)h + 1), prec_bits);
    posref_ball_mul(out, &c->sum, &factor, prec_bits);
    return POSREF_OK;
}

static enum posref_status eval(struct posref_job *job)
{
    struct sandwich c = {.spec = job->spec, .i = -1};
    if (!posref_job_wants(job, POSREF_OP_BIAS, posref_grid_given(job)))
        return POSREF_OK;
    enum posref_status status = posref_grid_read(&c.grid, job, 1);
    if (status != POSREF_OK)
        return status;
    c.turns = posref_job_alloc(job, (size_t)c.spec->dim / 2, sizeof *c.turns);
    if (!c.turns)
        return POSREF_NO_MEMORY;
    return posref_bias_output(job, &(struct posref_bias){.heads = c.spec->num_heads,
                                                         .n_q = c.grid.q.n, .n_k = c.grid.k.n,
                                                         .at = at, .ctx = &c});
}

const struct posref_scheme_def posref_sandwich = {
    .info = {.name = "sandwich",
             .summary = "the inner product of the sinusoidal embeddings of query and key, divided "
                        "by a ratio of each head, added to the scores",
             .formula = "bias = (sum_{i=1}^{dim/2} cos((q - k) base^(-2i/dim)) - dim/2) num_heads "
                        "/ (8 (h + 1))",
             .source = "Chi et al., Sandwich, arXiv 2212.10356",
             .learned = "none",
             .injected = "added to the scores of every layer",
             .relative = "exact: the bias depends on the distance alone",
             .beyond = "made for it: falls about as the logarithm of the distance",
             .cost = "dim/2 cosines a distance",
             .users = "research models; NVIDIA NeMo",
             .advice = "length extrapolation without parameters",
             .differs = "frequencies from i = 1; -dim/2 is constant, and vanishes in a softmax"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_BIAS,
    .check = check,
    .eval = eval,
    .judge = posref_judge_units_sandwich,
};
