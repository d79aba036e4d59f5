/* SPDX-License-Identifier: Apache-2.0 */
/* FIRE: functional interpolation (Li et al., arXiv 2310.04418). With psi(x) = ln(c x + 1),
 * c = log_scale, L = threshold (the paper's learned c and L):
 *     bias = f(psi(|q - k|) / (psi(max(L, q)) + epsilon))
 * f a network of one hidden layer of mlp_width ReLUs, shared by the heads but for its last layer.
 * The paper's formula has epsilon = 0 and keys up to the query; the code in its appendix has
 * epsilon = 1e-6 and |q - k|, by which keys after the query are defined here as well.
 *
 * A compound value: see posref_bias_output. */
#include "bias.h"
#include "judge_impl.h"
#include "mlp.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_LOG_SCALE, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_THRESHOLD, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_EPSILON, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_MLP_WIDTH, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"positions", ""}, {"q_positions", ""}, {"k_positions", ""}, {"w1", "mlp_width,1"},
    {"b1", "mlp_width"}, {"w2", "num_heads,mlp_width"}, {"b2", "num_heads"}, {NULL, NULL}};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    (void)err;
    if (!spec->given[POSREF_FIELD_MLP_WIDTH])
        spec->mlp_width = 32;
    spec->given[POSREF_FIELD_MLP_WIDTH] = true;
    return POSREF_OK;
}

struct fire {
    const struct posref_spec *spec;
    struct posref_grid grid;
    struct posref_mlp mlp;
    int64_t i, j; /* of the hidden layer that mlp holds, and its precision */
    unsigned prec_bits;
};

/* ln(c x + 1) for x >= 0. */
static bool psi(struct posref_ball *out, double c, const struct posref_ball *x, unsigned prec_bits)
{
    struct posref_ball factor;
    posref_ball_set_double(&factor, c);
    posref_ball_mul(out, x, &factor, POSREF_BALL_MAX_BITS);
    posref_ball_set_int(&factor, 1);
    posref_ball_add(out, out, &factor, POSREF_BALL_MAX_BITS);
    return posref_ball_log(out, out, prec_bits);
}

/* psi(|q - k|) / (psi(max(L, q)) + epsilon) */
static enum posref_status interpolated(struct posref_ball *out, const struct posref_spec *spec,
                                       double q, double k, unsigned prec_bits)
{
    const unsigned exact_bits = 2200;
    struct posref_ball a, b;
    posref_ball_set_double(&a, q);
    posref_ball_set_double(&b, k);
    posref_ball_sub(&a, &a, &b, exact_bits);
    if (a.sign < 0)
        posref_ball_neg(&a, &a);
    if (a.sign == 0) {
        posref_ball_set_int(out, 0);
        return POSREF_OK;
    }
    bool ok = psi(out, spec->log_scale, &a, prec_bits);
    posref_ball_set_double(&a, q > spec->threshold ? q : spec->threshold);
    ok = ok && psi(&b, spec->log_scale, &a, prec_bits);
    posref_ball_set_double(&a, spec->epsilon);
    posref_ball_add(&b, &b, &a, prec_bits);
    ok = ok && posref_ball_div(out, out, &b, prec_bits);
    return ok ? POSREF_OK : POSREF_INTERNAL;
}

static enum posref_status at(struct posref_ball *out, const struct posref_bias *bias, int h,
                             int64_t i, int64_t j, unsigned prec_bits)
{
    struct fire *c = bias->ctx;
    if (c->i != i || c->j != j || c->prec_bits != prec_bits) {
        struct posref_ball x;
        enum posref_status status =
            interpolated(&x, c->spec, c->grid.q.value[i], c->grid.k.value[j], prec_bits);
        if (status != POSREF_OK)
            return status;
        posref_mlp_hidden(&c->mlp, &x, prec_bits);
        c->i = i;
        c->j = j;
        c->prec_bits = prec_bits;
    }
    posref_mlp_head(out, &c->mlp, h, prec_bits);
    return POSREF_OK;
}

static enum posref_status eval(struct posref_job *job)
{
    const bool ready = posref_grid_given(job) && posref_job_has(job, "w1") &&
                       posref_job_has(job, "b1") && posref_job_has(job, "w2") &&
                       posref_job_has(job, "b2");
    struct fire c = {.spec = job->spec};
    if (!posref_job_wants(job, POSREF_OP_BIAS, ready))
        return POSREF_OK;
    enum posref_status status = posref_grid_read(&c.grid, job, 1);
    if (status == POSREF_OK)
        status = posref_mlp_read(&c.mlp, job, 1, true);
    if (status != POSREF_OK)
        return status;
    return posref_bias_output(job, &(struct posref_bias){.heads = c.spec->num_heads,
                                                         .n_q = c.grid.q.n, .n_k = c.grid.k.n,
                                                         .compound = true, .at = at, .ctx = &c});
}

const struct posref_scheme_def posref_fire = {
    .info = {.name = "fire",
             .summary = "a small network of the distance relative to the query's position, added "
                        "to the scores",
             .formula = "bias = f(psi(|q - k|) / (psi(max(threshold, q)) + epsilon)), psi(x) = "
                        "ln(log_scale x + 1), f(x) = b2 + w2 relu(w1 x + b1)",
             .source = "Li et al., FIRE, arXiv 2310.04418",
             .learned = "the network (mlp_width), log_scale and threshold",
             .injected = "added to the scores of every layer",
             .relative = "no: normalised by the query's position beyond threshold",
             .beyond = "made for it: distances are interpolated into the range seen in training",
             .cost = "the network for each pair of positions",
             .users = "research models",
             .advice = "lengths that change between training and use",
             .differs = "epsilon (0 in the formula, 1e-6 in the paper's code); a query and key "
                        "after it take the absolute distance"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_BIAS,
    .check = check,
    .eval = eval,
    .judge = posref_judge_units_network,
};
