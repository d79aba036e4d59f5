/* SPDX-License-Identifier: Apache-2.0 */
/* Slopes, biases and softmax weights as judged units: docs/tolerance.md, "ALiBi". */
#include "judge_impl.h"

#include <math.h>
#include <string.h>

/* Relative float32 error of slope h, in u: 2^-e with e formed in up to two roundings, or as power
 * h + 1 of a rounded first slope. */
static double slope_k(const struct posref_spec *spec, double slope, int h)
{
    (void)spec;
    return 4 + 2 * fabs(log(slope)) + h;
}

static struct judge_unit *add_one(struct judge_case *c, int64_t element, int head)
{
    struct judge_unit *unit = &c->unit[c->n_units++];
    memset(unit, 0, sizeof *unit);
    unit->n = 1;
    unit->element[0] = element;
    unit->want[0] = posref_judge_value(&c->golden->item[0], element);
    unit->got[0] = posref_judge_value(&c->actual->item[0], element);
    unit->scale = unit->out_scale[0] = fabs(unit->want[0]);
    unit->angle = 1;
    unit->moves = unit->want[0] != 0;
    unit->pair = head;
    unit->position = (double)NAN;
    return unit;
}

/* The published slopes, to about 1e-15. */
static double slope_of(const struct posref_spec *spec, int h)
{
    int c = 1;
    while (c <= spec->num_heads / 2)
        c *= 2;
    double share = h < c ? (h + 1.0) / c : (2.0 * (h - c) + 1) / (2.0 * c);
    return exp2(-spec->alibi_bias_max * share);
}

static const double *grid(const struct judge_case *c, const char *name, int64_t *n)
{
    const struct posref_tensor *tensor = posref_tensors_find(c->inputs, name);
    if (!tensor)
        tensor = posref_tensors_find(c->inputs, "positions");
    *n = tensor->shape[tensor->rank - 1];
    return tensor->data;
}

static double bias_of(const struct posref_spec *spec, double slope, double q, double k)
{
    switch (spec->form) {
    case POSREF_ALIBI_ROW: return slope * k;
    case POSREF_ALIBI_SYMMETRIC: return -slope * fabs(q - k);
    default: return -slope * (q - k);
    }
}

/* One row of weights. With scores s_j = l_j + b_j in float32, each off by e_j u, the weights are
 * off by 2 max e_j relatively; the exponential's argument s_j - max adds |s_j - max|, and the sum
 * over n_k terms n_k. */
static void row_units(struct judge_case *c, int head, const double *logits, const double *k,
                      double q, int64_t n_k, int64_t first)
{
    const double slope = slope_of(c->spec, head), k_slope = slope_k(c->spec, slope, head);
    double largest = -HUGE_VAL, error = 0;
    for (int64_t j = 0; j < n_k; j++) {
        double bias = bias_of(c->spec, slope, q, k[j]), score = logits[j] + bias;
        largest = fmax(largest, score);
        /* Forms that equal this one after softmax may be larger by a constant of the row. */
        double size = fabs(bias) + slope * fmax(fabs(q), fabs(k[j]));
        error = fmax(error, fabs(score) + 2 * fabs(logits[j]) + (k_slope + 2) * size);
    }
    for (int64_t j = 0; j < n_k; j++) {
        struct judge_unit *unit = add_one(c, first + j, head);
        double score = logits[j] + bias_of(c->spec, slope, q, k[j]);
        unit->k = 2 * error + 2 * (largest - score) + 4 + (double)n_k;
        /* Exponentials below the smallest normal float32 may be flushed to zero. */
        unit->floor = 0x1p-120;
        unit->moves = true;
        unit->position = q;
    }
}

static enum posref_status weights_units(struct judge_case *c)
{
    int64_t n_q, n_k;
    const double *q = grid(c, "q_positions", &n_q), *k = grid(c, "k_positions", &n_k);
    const double *logits = posref_tensors_find(c->inputs, "logits")->data;
    enum posref_status status = posref_judge_allocate(c, c->spec->num_heads * n_q * n_k);
    for (int64_t row = 0; row < c->spec->num_heads * n_q && status == POSREF_OK; row++)
        row_units(c, (int)(row / n_q), logits + row * n_k, k, q[row % n_q], n_k, row * n_k);
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
        unit->k = slope_k(c->spec, slope_of(c->spec, head), head);
        unit->recurrence = head;
    }
    return status;
}
