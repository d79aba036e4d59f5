/* SPDX-License-Identifier: Apache-2.0 */
/* Slopes, biases and softmax weights as judged units: docs/tolerance.md, "ALiBi". */
#include "attention.h"
#include "judge_impl.h"
#include "layout.h"

#include <math.h>
#include <string.h>

/* Relative float32 error of slope h, in u: 2^-e with e formed in up to two roundings, or as power
 * h + 1 of a rounded first slope. */
static double slope_k(double slope, int h)
{
    return 4 + 2 * fabs(log(slope)) + h;
}

static struct judge_unit *add_one(struct judge_case *c, int64_t element, int head)
{
    return posref_judge_add_one(c, 0, element, head);
}

/* The slopes, to about 1e-15. */
static double slope_of(const struct posref_spec *spec, int h)
{
    int num, den;
    posref_layout_slope(&num, &den, spec, h);
    const double slope = exp2(-spec->alibi_bias_max * num / den);
    return spec->slopes == POSREF_SLOPES_PUBLISHED_BF16 ? posref_rounded(slope, POSREF_BF16)
                                                        : slope;
}

static double bias_of(const struct posref_spec *spec, double slope, double q, double k)
{
    switch (spec->form) {
    case POSREF_ALIBI_ROW: return slope * k;
    case POSREF_ALIBI_SYMMETRIC: return -slope * fabs(q - k);
    default: return -slope * (q - k);
    }
}

/* What makes one row of weights. */
struct row {
    const struct posref_spec *spec;
    const double *logits, *k, *weight; /* weight: golden */
    double q, slope, k_slope, largest;
    int64_t n;
};

static double score_of(const struct row *row, int64_t j)
{
    return row->logits[j] + bias_of(row->spec, row->slope, row->q, row->k[j]);
}

/* How far score j may be off, in u of float32; forms that equal the spec's after softmax may be
 * larger by a constant of the row. */
static double error_float32(const struct row *row, int64_t j)
{
    double bias = bias_of(row->spec, row->slope, row->q, row->k[j]);
    double size = fabs(bias) + row->slope * fmax(fabs(row->q), fabs(row->k[j]));
    return fabs(row->logits[j] + bias) + 2 * fabs(row->logits[j]) + (row->k_slope + 2) * size;
}

/* The same in u of a 16-bit dtype that holds slope, bias, score and its distance to the largest. */
static double error_low(const struct row *row, int64_t j)
{
    double bias = bias_of(row->spec, row->slope, row->q, row->k[j]), score = score_of(row, j);
    return 2 * fabs(bias) + fabs(score) + (row->largest - score);
}

typedef double error_function(const struct row *row, int64_t j);

/* The sums of weight * exp(-error) and of weight * exp(error) that bound the row's sum. Errors
 * beyond 300 leave nothing to judge. */
static void sum_bounds(double bound[2], const struct row *row, error_function *error, double u)
{
    bound[0] = bound[1] = 0;
    for (int64_t j = 0; j < row->n; j++) {
        double e = fmin(error(row, j) * u, 300);
        bound[0] += row->weight[j] * exp(-e);
        bound[1] += row->weight[j] * exp(e);
    }
}

/* The relative error of weight j whose score is off by e. */
static double weight_error(const double bound[2], double e)
{
    e = fmin(e, 300);
    return fmax(exp(e) / bound[0] - 1, 1 - exp(-e) / bound[1]);
}

/* One row of weights: the exponential's argument s_j - max adds |s_j - max|, the sum n terms. */
static void row_units(struct judge_case *c, const struct row *row, int head, int64_t first)
{
    const double u = posref_unit(POSREF_F32), u_low = posref_unit(c->dtype);
    double wide[2], low[2];
    sum_bounds(wide, row, error_float32, u);
    sum_bounds(low, row, error_low, u_low);
    for (int64_t j = 0; j < row->n; j++) {
        struct judge_unit *unit = add_one(c, first + j, head);
        unit->k = weight_error(wide, error_float32(row, j) * u) / u +
                  2 * (row->largest - score_of(row, j)) + 4 + (double)row->n;
        unit->low = weight_error(low, error_low(row, j) * u_low);
        /* Exponentials below the smallest normal float32 may be flushed to zero. */
        unit->floor = 0x1p-120;
        unit->moves = true;
        unit->position = row->q;
    }
}

static enum posref_status weights_units(struct judge_case *c)
{
    int64_t n_q, n_k;
    const double *q = posref_judge_grid(c, "q_positions", &n_q);
    const double *k = posref_judge_grid(c, "k_positions", &n_k);
    const double shift = c->spec->align == POSREF_ALIGN_TOP_LEFT ? k[0] - q[0] : 0;
    const double *logits = posref_tensors_find(c->inputs, "logits")->data;
    enum posref_status status = posref_judge_allocate(c, c->spec->num_heads * n_q * n_k);
    const double *golden = c->golden->item[0].data;
    for (int64_t r = 0; r < c->spec->num_heads * n_q && status == POSREF_OK; r++) {
        const int head = (int)(r / n_q);
        struct row row = {.spec = c->spec, .logits = logits + r * n_k, .k = k, .n = n_k,
                          .weight = golden + r * n_k, .q = q[r % n_q] + shift,
                          .slope = slope_of(c->spec, head), .largest = -HUGE_VAL};
        row.k_slope = slope_k(row.slope, head);
        for (int64_t j = 0; j < n_k; j++)
            row.largest = fmax(row.largest, score_of(&row, j));
        row_units(c, &row, head, r * n_k);
    }
    return status;
}

enum posref_status posref_judge_units_alibi(struct judge_case *c)
{
    if (c->op == POSREF_OP_WEIGHTS)
        return weights_units(c);
    const int64_t count = posref_tensor_count(&c->golden->item[0]);
    const int64_t per_head = count / c->spec->num_heads;
    enum posref_status status = posref_judge_allocate(c, count);
    for (int64_t k = 0; k < count && status == POSREF_OK; k++) {
        int head = (int)(k / per_head);
        struct judge_unit *unit = add_one(c, k, head);
        unit->k = slope_k(slope_of(c->spec, head), head);
        unit->recurrence = head;
    }
    return status;
}

void posref_attention_alibi_estimate(struct posref_attention_estimate *out,
                                     const struct posref_attention *a, int64_t head, int64_t i,
                                     int64_t j)
{
    const double slope = slope_of(a->job->spec, (int)head);
    const bool top_left = a->job->spec->align == POSREF_ALIGN_TOP_LEFT;
    const double shift = top_left ? a->k_positions.value[0] - a->q_positions.value[0] : 0;
    const double q = a->q_positions.value[i] + shift, k = a->k_positions.value[j];
    out->bias = fabs(bias_of(a->job->spec, slope, q, k));
    out->bias_k = slope_k(slope, (int)head) + 1;
}
