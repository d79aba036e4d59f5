/* SPDX-License-Identifier: Apache-2.0 */
/* One score: dot products, scale, temperature, bias; and when an enclosure may be rounded.
 *
 * Exact cases: sums of products of doubles are exact where they fit the precision. With a rational
 * root of dim the quotient is formed from it and is exact when it fits, so that ties decide
 * themselves; with an irrational one only the sum 0 gives a rational score. A zero by cancellation
 * of irrational parts has no exact form here: a value below half the smallest double is taken for
 * +0, to which it rounds. */
#include "attention.h"
#include "scaling.h"

#include <math.h>

/* Sum of doubles without error as long as each step is exact: then *exact stays true. Products of
 * such inputs as suites draw are; a general input falls back on balls. */
static bool dot_exact(double *out, const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t c = 0; c < n; c++) {
        double product = x[c] * y[c], next = sum + product, back = next - sum;
        /* fma and TwoSum: both errors must be zero, and nothing may have underflowed. */
        if (fma(x[c], y[c], -product) != 0 || !(fabs(next) < 0x1p1000) ||
            (product == 0 ? x[c] != 0 && y[c] != 0 : fabs(product) < 0x1p-900) ||
            (sum - (next - back)) + (product - back) != 0)
            return false;
        sum = next;
    }
    *out = sum;
    return true;
}

void posref_attention_dot(struct posref_ball *out, const double *x, const double *y, int64_t n,
                          unsigned prec_bits)
{
    double sum;
    struct posref_ball a, b;
    if (dot_exact(&sum, x, y, n)) {
        posref_ball_set_double(out, sum);
        return;
    }
    posref_ball_set_int(out, 0);
    for (int64_t c = 0; c < n; c++) {
        posref_ball_set_double(&a, x[c]);
        posref_ball_set_double(&b, y[c]);
        posref_ball_mul(&a, &a, &b, prec_bits);
        posref_ball_add(out, out, &a, prec_bits);
    }
}

void posref_attention_dot_ball(struct posref_ball *out, const double *x,
                               const struct posref_ball *y, int64_t n, unsigned prec_bits)
{
    struct posref_ball a;
    posref_ball_set_int(out, 0);
    for (int64_t c = 0; c < n; c++) {
        posref_ball_set_double(&a, x[c]);
        posref_ball_mul(&a, &a, &y[c], prec_bits);
        posref_ball_add(out, out, &a, prec_bits);
    }
}

void posref_attention_offset(struct posref_ball *out, const struct posref_attention *a, int axis,
                             int64_t i, int64_t j)
{
    const unsigned exact_bits = 2200; /* any two doubles below 2^31 */
    struct posref_ball q;
    posref_ball_set_double(&q, a->q_positions.value[axis * a->n_q + i]);
    posref_ball_set_double(out, a->k_positions.value[axis * a->n_k + j]);
    posref_ball_sub(out, out, &q, exact_bits);
}

/* DeepSeek's m = 1 + 0.1 s ln factor (1 for factor <= 1), squared. */
static enum posref_status mla_factor(struct posref_ball *out, const struct posref_spec *spec,
                                     unsigned prec_bits)
{
    const bool own = spec->softmax_scale_from == POSREF_SCALE_FROM_MLA_MSCALE;
    posref_ball_set_int(out, 1);
    if (spec->factor <= 1)
        return POSREF_OK;
    enum posref_status status = posref_scaling_log_magnitude(
        out, spec->factor, own ? spec->mscale : spec->mscale_all_dim, 10, prec_bits);
    posref_ball_mul(out, out, out, prec_bits);
    return status;
}

enum posref_status posref_attention_set_scale(struct posref_attention *a, unsigned prec_bits)
{
    const struct posref_spec *spec = a->job->spec;
    if (a->prec_bits == prec_bits)
        return POSREF_OK;
    posref_ball_set_int(&a->root, 1);
    posref_ball_set_int(&a->scale, 1);
    if (spec->given[POSREF_FIELD_SOFTMAX_SCALE]) {
        posref_ball_set_double(&a->scale, spec->softmax_scale);
    } else {
        posref_ball_set_int(&a->root, a->dim * a->scale_factor);
        if (!posref_ball_sqrt(&a->root, &a->root, prec_bits))
            return POSREF_INTERNAL;
        if (spec->softmax_scale_from != POSREF_SCALE_FROM_DIM &&
            mla_factor(&a->scale, spec, prec_bits) != POSREF_OK)
            return POSREF_INTERNAL;
    }
    a->prec_bits = prec_bits;
    return POSREF_OK;
}

static enum posref_status temperature(struct posref_ball *out, const struct posref_attention *a,
                                      int64_t i, unsigned prec_bits)
{
    const struct posref_spec *spec = a->job->spec;
    if (spec->given[POSREF_FIELD_TEMPERATURE] && spec->temperature != POSREF_TEMPERATURE_NONE)
        return posref_temperature_ball(out, spec, a->q_positions.value[i], prec_bits);
    posref_ball_set_int(out, 1);
    return POSREF_OK;
}

bool posref_attention_times_scale(struct posref_ball *x, const struct posref_attention *a,
                                  const struct posref_ball *t, unsigned prec_bits)
{
    posref_ball_mul(x, x, &a->scale, prec_bits);
    if (t)
        posref_ball_mul(x, x, t, prec_bits);
    return posref_ball_div(x, x, &a->root, prec_bits);
}

enum posref_status posref_attention_score(struct posref_attention_score *out,
                                          struct posref_attention *a, int64_t head, int64_t i,
                                          int64_t j, unsigned prec_bits)
{
    struct posref_ball t;
    enum posref_status status = posref_attention_set_scale(a, prec_bits);
    if (status == POSREF_OK)
        status = temperature(&t, a, i, prec_bits);
    if (status == POSREF_OK && a->hook->score)
        status = a->hook->score(out->term, a, head, i, j, prec_bits);
    else if (status == POSREF_OK)
        posref_attention_dot(&out->term[0], posref_attention_q(a, head, i),
                             posref_attention_k(a, head, j), a->dim, prec_bits);
    if (status != POSREF_OK)
        return status;
    const int n_scaled = a->n_terms - a->n_unscaled;
    posref_ball_set(&out->sum, &out->term[0]);
    for (int n = 1; n < n_scaled; n++)
        posref_ball_add(&out->sum, &out->sum, &out->term[n], prec_bits);
    for (int n = 0; n < n_scaled; n++)
        if (!posref_attention_times_scale(&out->term[n], a, &t, prec_bits))
            return POSREF_INTERNAL;
    posref_ball_set(&out->value, &out->sum);
    if (!posref_attention_times_scale(&out->value, a, &t, prec_bits))
        return POSREF_INTERNAL;
    posref_ball_set_int(&out->bias, 0);
    if (a->hook->bias)
        status = a->hook->bias(&out->bias, a, head, i, j, prec_bits);
    for (int n = n_scaled; n < a->n_terms; n++)
        posref_ball_add(&out->bias, &out->bias, &out->term[n], prec_bits);
    if (a->mask && a->job->spec->slips & POSREF_SLIP_MASK_ADDED) {
        posref_ball_set_double(&t, a->mask[i * a->n_k + j]);
        posref_ball_add(&out->bias, &out->bias, &t, prec_bits);
    }
    posref_ball_add(&out->value, &out->value, &out->bias, prec_bits);
    return status;
}

bool posref_attention_round(double *out, const struct posref_ball *value, unsigned prec_bits)
{
    struct posref_ball limit, below; /* half the smallest double, of either sign */
    if (posref_ball_round(out, value))
        return true;
    posref_ball_set_int(&limit, 1);
    posref_ball_scale2(&limit, &limit, -1075);
    posref_ball_neg(&below, &limit);
    if (posref_ball_compare(value, &limit) == -1 && posref_ball_compare(value, &below) == 1) {
        *out = 0;
        return true;
    }
    if (prec_bits < POSREF_ATTENTION_LAST_BITS)
        return false;
    struct posref_ball middle;
    posref_ball_set(&middle, value);
    middle.rad_man = 0;
    middle.rad_exponent = 0;
    return posref_ball_round(out, &middle);
}
