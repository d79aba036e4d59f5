/* SPDX-License-Identifier: Apache-2.0 */
/* RoFormer's linear attention (Su et al., arXiv 2104.09864, section 3.3, eq. 19): with phi(x) =
 * elu(x) + 1, that is x + 1 above 0 and e^x below,
 *
 *     attention_m = sum_n ((R_m phi(q_m)) . (R_n phi(k_n))) v_n / sum_n phi(q_m) . phi(k_n)
 *
 * over the visible keys n. The denominator is not rotated, so it is positive; the weights need be
 * neither positive nor add up to 1. Magnitudes of scalings belong to R. A row of one key at the
 * query's position is v itself, which an enclosure decides: v lies inside its rounding interval. */
#include "attention.h"
#include "plan.h"

/* e^x is enclosed relatively down to here; it is 0 in any format long before. */
#define LOWEST (-1e6)

static enum posref_status check_rows(const struct posref_attention *a, const char *name,
                                     const double *x, int64_t n)
{
    for (int64_t at = 0; at < n; at++)
        if (x[at] < LOWEST)
            return posref_fail(a->job->err, POSREF_BAD_INPUT, name,
                               "element %lld is %.17g; attention_kind=linear takes e^x of it and "
                               "needs at least %.0f", (long long)at, x[at], LOWEST);
    return POSREF_OK;
}

enum posref_status posref_attention_linear_open(struct posref_attention *a)
{
    enum posref_status status = check_rows(a, "q", a->q, a->n_q * a->heads * a->dim);
    if (status == POSREF_OK)
        status = check_rows(a, "k", a->k, a->n_k * a->kv_heads * a->dim);
    if (status != POSREF_OK)
        return status;
    a->phi = posref_job_alloc(a->job, 2 * (size_t)a->dim, sizeof *a->phi);
    return a->phi ? POSREF_OK : POSREF_NO_MEMORY;
}

static void fill_phi(struct posref_ball *out, const double *x, int64_t n, unsigned prec_bits)
{
    struct posref_ball one;
    posref_ball_set_int(&one, 1);
    for (int64_t c = 0; c < n; c++) {
        posref_ball_set_double(&out[c], x[c]);
        if (x[c] >= 0)
            posref_ball_add(&out[c], &out[c], &one, prec_bits);
        else
            posref_ball_exp(&out[c], &out[c], prec_bits);
    }
}

static void add_product(struct posref_ball *sum, const struct posref_ball *x,
                        const struct posref_ball *y, unsigned prec_bits)
{
    struct posref_ball part;
    posref_ball_mul(&part, x, y, prec_bits);
    posref_ball_add(sum, sum, &part, prec_bits);
}

/* (R q) . (R k) of rows after phi. */
static enum posref_status rotated_product(struct posref_ball *out,
                                          const struct posref_attention *a, int64_t i, int64_t j,
                                          unsigned prec_bits)
{
    const struct posref_plan *plan = posref_attention_rope_plan(a);
    const struct posref_ball *q = a->phi, *k = a->phi + a->dim;
    struct posref_ball along, across, part;
    enum posref_status status = POSREF_OK;
    posref_ball_set_int(out, 0);
    for (int n = 0; n < plan->n_pairs && status == POSREF_OK; n++) {
        const int *in = plan->pair[n].in;
        posref_ball_mul(&along, &q[in[0]], &k[in[0]], prec_bits);
        add_product(&along, &q[in[1]], &k[in[1]], prec_bits);
        posref_ball_mul(&across, &q[in[1]], &k[in[0]], prec_bits);
        posref_ball_mul(&part, &q[in[0]], &k[in[1]], prec_bits);
        posref_ball_sub(&across, &across, &part, prec_bits);
        status = posref_attention_rope_add(out, a, n, &along, &across, i, j, prec_bits);
    }
    if (status == POSREF_OK && !plan->magnitude.is_one) {
        status = posref_frequencies_magnitude_ball(&part, &plan->of[0], prec_bits);
        posref_ball_mul(out, out, &part, prec_bits);
        posref_ball_mul(out, out, &part, prec_bits);
    }
    for (int c = 0; c < plan->dim; c++)
        if (plan->copied[c])
            add_product(out, &q[c], &k[c], prec_bits);
    return status;
}

enum posref_status posref_attention_linear_weights(struct posref_ball *numerator,
                                                   struct posref_ball *sum,
                                                   const struct posref_attention *a, int64_t head,
                                                   int64_t i, const int64_t *key, int64_t n,
                                                   unsigned prec_bits)
{
    enum posref_status status = POSREF_OK;
    fill_phi(a->phi, posref_attention_q(a, head, i), a->dim, prec_bits);
    posref_ball_set_int(sum, 0);
    for (int64_t at = 0; at < n && status == POSREF_OK; at++) {
        fill_phi(a->phi + a->dim, posref_attention_k(a, head, key[at]), a->dim, prec_bits);
        for (int64_t c = 0; c < a->dim; c++)
            add_product(sum, &a->phi[c], &a->phi[a->dim + c], prec_bits);
        status = rotated_product(&numerator[at], a, i, key[at], prec_bits);
    }
    return status;
}
