/* SPDX-License-Identifier: Apache-2.0 */
/* KERPLE: kernels of the distance with two learned numbers a head (Chi et al., arXiv 2205.09921;
 * chijames/KERPLE: megatron/mpu/layers.py). n = |q - k|, r1 > 0, r2 > 0:
 *     kernel=log     -r1 ln(1 + r2 n)
 *     kernel=power   -r1 n^r2, r2 <= 2
 *
 * No tie: ln of a rational other than 1 is transcendental. n^r2 with r2 = a / 2^b in lowest terms
 * is a dyadic number only if n is a 2^b-th power, which posref_ball_pow_ratio recognises, or else
 * irrational. */
#include "bias.h"
#include "judge_impl.h"

#include <math.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_NUM_HEADS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_KERNEL, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const struct posref_input_use inputs[] = {
    {"positions", ""}, {"q_positions", ""}, {"k_positions", ""}, {"r1", "num_heads"},
    {"r2", "num_heads"}, {NULL, NULL}};

struct kerple {
    const struct posref_spec *spec;
    struct posref_grid grid;
    const double *r1, *r2;
};

/* Exact: positions are multiples of 2^-1074 below 2^31. */
static void distance(struct posref_ball *out, double q, double k)
{
    const unsigned exact_bits = 2200;
    struct posref_ball other;
    posref_ball_set_double(out, q);
    posref_ball_set_double(&other, k);
    posref_ball_sub(out, out, &other, exact_bits);
    if (out->sign < 0)
        posref_ball_neg(out, out);
}

/* n^r2 for n > 0. A denominator beyond 2^31 leaves only n = 1 a dyadic power. */
static bool power(struct posref_ball *out, const struct posref_ball *n, double r2,
                  unsigned prec_bits)
{
    struct posref_ball exponent;
    int e;
    double m = frexp(r2, &e) * 0x1p53; /* r2 = m 2^(e - 53) */
    for (e -= 53; e < 0 && fmod(m, 2) == 0; e++)
        m /= 2;
    if (e >= 0)
        return posref_ball_pow_ratio(out, n, (int64_t)r2, 1, prec_bits);
    if (e >= -31)
        return posref_ball_pow_ratio(out, n, (int64_t)m, INT64_C(1) << -e, prec_bits);
    posref_ball_set_int(&exponent, 1);
    if (posref_ball_compare(n, &exponent) == 0) {
        posref_ball_set_int(out, 1);
        return true;
    }
    posref_ball_set_double(&exponent, r2);
    if (!posref_ball_log(out, n, prec_bits))
        return false;
    posref_ball_mul(out, out, &exponent, prec_bits);
    posref_ball_exp(out, out, prec_bits);
    return true;
}

/* ln(1 + r2 n) for n > 0; the argument is kept exact. */
static bool logarithm(struct posref_ball *out, const struct posref_ball *n, double r2,
                      unsigned prec_bits)
{
    struct posref_ball factor, one;
    posref_ball_set_double(&factor, r2);
    posref_ball_mul(&factor, &factor, n, POSREF_BALL_MAX_BITS);
    posref_ball_set_int(&one, 1);
    posref_ball_add(&factor, &factor, &one, POSREF_BALL_MAX_BITS);
    return posref_ball_log(out, &factor, prec_bits);
}

static enum posref_status at(struct posref_ball *out, const struct posref_bias *bias, int h,
                             int64_t i, int64_t j, unsigned prec_bits)
{
    const struct kerple *c = bias->ctx;
    struct posref_ball n, factor;
    distance(&n, c->grid.q.value[i], c->grid.k.value[j]);
    if (n.sign == 0) {
        posref_ball_set_int(out, 0);
        return POSREF_OK;
    }
    bool ok = c->spec->kernel == POSREF_KERNEL_LOG ? logarithm(out, &n, c->r2[h], prec_bits)
                                                   : power(out, &n, c->r2[h], prec_bits);
    posref_ball_set_double(&factor, -c->r1[h]);
    posref_ball_mul(out, out, &factor, prec_bits);
    return ok ? POSREF_OK : POSREF_INTERNAL;
}

static enum posref_status read_parameters(const double **out, struct posref_job *job,
                                          const char *name, double largest)
{
    enum posref_status status =
        posref_job_input(out, job, name, 1, (const int64_t[]){job->spec->num_heads});
    for (int h = 0; h < job->spec->num_heads && status == POSREF_OK; h++)
        if (!((*out)[h] > 0 && (*out)[h] <= largest))
            return posref_fail(job->err, POSREF_BAD_INPUT, name,
                               "element %d is %.17g; must lie in (0, %.6g]", h, (*out)[h],
                               largest);
    return status;
}

static enum posref_status eval(struct posref_job *job)
{
    const bool ready = posref_grid_given(job) && posref_job_has(job, "r1") &&
                       posref_job_has(job, "r2");
    struct kerple c = {.spec = job->spec};
    if (!posref_job_wants(job, POSREF_OP_BIAS, ready))
        return POSREF_OK;
    enum posref_status status = posref_grid_read(&c.grid, job, 1);
    if (status == POSREF_OK)
        status = read_parameters(&c.r1, job, "r1", 1e30);
    if (status == POSREF_OK)
        status = read_parameters(&c.r2, job, "r2",
                                 c.spec->kernel == POSREF_KERNEL_LOG ? 1e30 : 2);
    if (status != POSREF_OK)
        return status;
    return posref_bias_output(job, &(struct posref_bias){.heads = c.spec->num_heads,
                                                         .n_q = c.grid.q.n, .n_k = c.grid.k.n,
                                                         .at = at, .ctx = &c});
}

const struct posref_scheme_def posref_kerple = {
    .info = {.name = "kerple",
             .summary = "a bias that falls with the logarithm or a power of the distance, two "
                        "learned numbers a head",
             .formula = "bias = -r1 ln(1 + r2 |q - k|) (log) or -r1 |q - k|^r2 (power)",
             .source = "Chi et al., KERPLE, arXiv 2205.09921",
             .learned = "r1 and r2 of each head",
             .injected = "added to the scores of every layer",
             .relative = "exact: the bias depends on the distance alone",
             .beyond = "made for it: the logarithm grows slowly, the power r2 bounds how fast",
             .cost = "one logarithm or power a distance and head",
             .users = "research models; NVIDIA NeMo",
             .advice = "length extrapolation with a learned decay",
             .differs = "logarithm or power (kernel); implementations clamp r1 and r2 at 0.01"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_BIAS,
    .eval = eval,
    .judge = posref_judge_units_kerple,
};
