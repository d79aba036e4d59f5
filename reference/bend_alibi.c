/* SPDX-License-Identifier: Apache-2.0 */
/* ALiBi with faults. */
#include "bend_impl.h"
#include "layout.h"

#include <math.h>

static double slope_of(const struct posref_bend *bend, int h)
{
    const struct posref_spec *spec = bend->spec;
    int num, den;
    posref_layout_slope(&num, &den, spec, posref_bend_has(bend, POSREF_BEND_SLOPE_FIRST) ? 0 : h);
    double exponent = (double)num / den;
    if (posref_bend_has(bend, POSREF_BEND_SLOPE_GEOMETRIC))
        exponent = (h + 1.0) / spec->num_heads;
    if (posref_bend_has(bend, POSREF_BEND_SLOPE_EARLY)) {
        posref_layout_slope(&num, &den, spec, 0);
        exponent -= (double)num / den;
    }
    double slope = exp2(-spec->alibi_bias_max * exponent);
    return spec->slopes == POSREF_SLOPES_PUBLISHED_BF16 ||
                   posref_bend_has(bend, POSREF_BEND_SLOPE_BF16)
               ? posref_rounded(slope, POSREF_BF16) : slope;
}

static double bias_of(const struct posref_bend *bend, double slope, double q, double k)
{
    double bias = bend->spec->form == POSREF_ALIBI_ROW         ? slope * k
                  : bend->spec->form == POSREF_ALIBI_SYMMETRIC ? -slope * fabs(q - k)
                                                              : -slope * (q - k);
    if (posref_bend_has(bend, POSREF_BEND_BIAS_SIGN))
        bias = -bias;
    for (int k_step = 0; k_step < bend->n_steps; k_step++)
        if (bend->step[k_step].kind == POSREF_BEND_MAGNITUDE)
            bias *= bend->step[k_step].value;
    return posref_bend_has(bend, POSREF_BEND_BIAS_BF16) ? posref_rounded(bias, POSREF_BF16) : bias;
}

static enum posref_status slopes(struct bend_job *job)
{
    const int64_t n = job->bend->spec->num_heads;
    double *value, *limit, *scale;
    enum posref_status status = posref_bend_output(&value, &limit, &scale, job, "slopes", 1, &n);
    for (int h = 0; h < n && status == POSREF_OK; h++) {
        value[h] = slope_of(job->bend, h);
        scale[h] = fabs(value[h]);
        limit[h] = scale[h] * (4 + 2 * fabs(log(scale[h])) + h) * 0x1p-24 +
                   posref_bend_rounding(job, scale[h]);
        if (!posref_bend_done(job, 0, h))
            break;
    }
    return status;
}

/* Softmax of one row in place; limits are those of its scores. */
static void soften(struct bend_job *job, double *value, double *limit, double *scale, int64_t n)
{
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t k = 0; k < n; k++)
        largest = fmax(largest, value[k]);
    for (int64_t k = 0; k < n; k++) {
        limit[k] += fabs(value[k] - largest) * posref_bend_rounding(job, 1);
        sum += value[k] = exp(value[k] - largest);
    }
    double mean = 0;
    for (int64_t k = 0; k < n; k++)
        mean += (value[k] /= sum) * limit[k];
    for (int64_t k = 0; k < n; k++) {
        scale[k] = value[k];
        limit[k] = value[k] * (expm1(fmin(limit[k] + mean, 50)) + (double)n * 0x1p-24) +
                   posref_bend_rounding(job, value[k]) + 0x1p-120;
    }
}

static const struct posref_tensor *grid(const struct bend_job *job, const char *name)
{
    const struct posref_tensor *tensor = posref_tensors_find(job->in, name);
    return tensor ? tensor : posref_tensors_find(job->in, "positions");
}

/* Biases of [heads, queries, keys], or weights. */
struct biases {
    const struct posref_tensor *q, *k; /* positions */
    const double *logits;              /* of weights, or NULL */
    double *value, *limit, *scale;
    double first; /* the position that queries count from, beside that of the keys */
};

static void fill_one(struct bend_job *job, const struct biases *b, int64_t e, double slope,
                     double at_q)
{
    const int64_t n_q = b->q->shape[0], n_k = b->k->shape[0], j = e % n_k;
    const int h = (int)(e / n_k / n_q);
    const double k_slope = 6 + 2 * fabs(log(slope)) + h;
    const double at_k = posref_bend_position(job->bend, ((double *)b->k->data)[j], j, h);
    const double bias = bias_of(job->bend, slope, at_q, at_k);
    const double logit = b->logits ? b->logits[e] : 0;
    b->value[e] = bias + logit;
    b->scale[e] = fabs(bias);
    b->limit[e] = (k_slope * fabs(bias) + 3 * fabs(logit)) * 0x1p-24 +
                  (b->logits ? 0 : posref_bend_rounding(job, bias));
    if (b->logits && job->dtype != POSREF_F64 && job->dtype != POSREF_F32)
        b->limit[e] += 2 * posref_bend_rounding(job, fabs(bias) + fabs(logit));
}

/* The keys of one query and head, from `first` on; false: the rest is not wanted. */
static bool fill_row(struct bend_job *job, const struct biases *b, int64_t row, int64_t first)
{
    const int64_t n_q = b->q->shape[0], n_k = b->k->shape[0], n = row % n_q;
    const int h = (int)(row / n_q);
    const double slope = slope_of(job->bend, h);
    const double at_q = posref_bend_position(job->bend, ((double *)b->q->data)[n], n, h) -
                        b->first;
    for (int64_t k = 0; k < n_k; k++) {
        const int64_t e = row * n_k + (first + k) % n_k;
        fill_one(job, b, e, slope, at_q);
        if (!b->logits && !posref_bend_done(job, 0, e))
            return false;
    }
    if (!b->logits)
        return true;
    soften(job, b->value + row * n_k, b->limit + row * n_k, b->scale + row * n_k, n_k);
    for (int64_t k = 0; k < n_k; k++)
        if (!posref_bend_done(job, 0, row * n_k + (first + k) % n_k))
            return false;
    return true;
}

enum posref_status posref_bend_alibi(struct bend_job *job)
{
    const struct posref_bend *bend = job->bend;
    if (job->op == POSREF_OP_FREQUENCIES)
        return slopes(job);
    const bool weights = job->op == POSREF_OP_WEIGHTS;
    const struct posref_tensor *q = grid(job, "q_positions"), *k = grid(job, "k_positions");
    const struct posref_tensor *logits = posref_tensors_find(job->in, "logits");
    if (!q || !k || q->rank != 1 || k->rank != 1 || (weights && !logits) ||
        (!weights && job->op != POSREF_OP_BIAS))
        return posref_fail(job->err, POSREF_BAD_INPUT, "op", "has no bent form");
    const int64_t n_q = q->shape[0], n_k = k->shape[0];
    const int64_t shape[] = {bend->spec->num_heads, n_q, n_k}, n_rows = shape[0] * n_q;
    struct biases b = {.q = q, .k = k, .logits = weights ? logits->data : NULL};
    enum posref_status status = posref_bend_output(&b.value, &b.limit, &b.scale, job,
                                                   weights ? "weights" : "bias", 3, shape);
    /* top_left: the first query stands on the first key */
    if (bend->spec->align == POSREF_ALIGN_TOP_LEFT && n_q > 0 && n_k > 0)
        b.first = posref_bend_position(bend, ((double *)q->data)[0], 0, 0) -
                  posref_bend_position(bend, ((double *)k->data)[0], 0, 0);
    const int64_t first = posref_bend_first(job, n_rows * n_k);
    for (int64_t n = 0; n < n_rows && n_k > 0 && status == POSREF_OK; n++)
        if (!fill_row(job, &b, (first / n_k + n) % n_rows, first % n_k))
            break;
    return status;
}
