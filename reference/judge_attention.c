/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention as judged units: docs/tolerance.md, "Scores and attention". */
#include "attention.h"
#include "judge_impl.h"
#include "plan.h"
#include "xpos.h"

#include <math.h>
#include <string.h>

/* What kernels put in place of -infinity is -10000 or less, and some add it to the score. Half of
 * it is no weight either, in any dtype. */
#define SEEN_AS_MASKED (-5e3)

struct judged {
    struct judge_case *c;
    struct posref_attention a;
    double *score;                               /* [heads, n_q, n_k] */
    struct posref_attention_estimate *estimate;  /* [n_k] of the row at hand */
    double *weight, *error, *value;              /* [n_k] */
    bool *is_seen;                               /* [n_k] */
    double scale;                                /* of the scores, temperature left out */
};

/* What xPos makes of a pair's products of that size, its error added to the angles'. */
static double xpos(struct posref_attention_estimate *out, const struct posref_attention *a,
                   int column, double size, int64_t i, int64_t j)
{
    const struct posref_spec *spec = a->job->spec;
    double q_error, k_error;
    double factor = posref_xpos_estimate(&q_error, spec, POSREF_XPOS_QUERY, column,
                                         a->q_positions.value[i]);
    factor *= posref_xpos_estimate(&k_error, spec, POSREF_XPOS_KEY, column,
                                   a->k_positions.value[j]);
    out->angle += size * factor * (q_error + k_error);
    return factor;
}

void posref_attention_rope_estimate(struct posref_attention_estimate *out,
                                    const struct posref_attention *a, int64_t head, int64_t i,
                                    int64_t j)
{
    const struct posref_plan *plan = posref_attention_rope_plan(a);
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    const double square = plan->attention_factor * plan->attention_factor;
    out->size = 0;
    for (int c = 0; c < plan->dim; c++)
        if (plan->copied[c])
            out->size += fabs(q[c] * k[c]);
    for (int n = 0; n < plan->n_pairs; n++) {
        const struct posref_plan_pair *pair = &plan->pair[n];
        double size = hypot(q[pair->in[0]], q[pair->in[1]]) *
                      hypot(k[pair->in[0]], k[pair->in[1]]) * square;
        if (posref_xpos_on(a->job->spec))
            size *= xpos(out, a, pair->column[0], size, i, j);
        out->size += size;
        for (int which = 0; which < 2; which++) {
            const int column = pair->column[which], axis = plan->column[column].axis;
            const struct judge_frequency *f = &a->frequency[column];
            double angle = f->theta * (fabs(a->q_positions.value[axis * a->n_q + i]) +
                                      fabs(a->k_positions.value[axis * a->n_k + j]));
            if (size == 0 || angle == 0)
                continue; /* k may be infinite */
            out->angle += 0.5 * size * f->k * angle;
            out->recurrence += 0.5 * size * f->recurrence * angle;
        }
    }
}

static double temperature_of(const struct judged *g, int64_t i)
{
    const struct posref_spec *spec = g->c->spec;
    struct posref_ball ball;
    double t = 1;
    if (!spec->given[POSREF_FIELD_TEMPERATURE] || spec->temperature == POSREF_TEMPERATURE_NONE)
        return 1;
    if (posref_temperature_ball(&ball, spec, g->a.q_positions.value[i], 128) != POSREF_OK ||
        !posref_ball_round(&t, &ball))
        return 1;
    return t;
}

static void estimate(struct posref_attention_estimate *out, const struct judged *g, int64_t head,
                     int64_t i, int64_t j)
{
    const struct posref_attention *a = &g->a;
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    *out = (struct posref_attention_estimate){.size = 0};
    for (int64_t c = 0; c < a->dim; c++)
        out->size += fabs(q[c] * k[c]);
    if (a->hook->estimate)
        a->hook->estimate(out, a, head, i, j);
    const double scale = g->scale * temperature_of(g, i);
    out->size *= scale;
    out->angle *= scale;
    out->recurrence *= scale;
    out->low *= scale;
}

/* Error of a score in u of float32: a sum of dim products in any order, scale and temperature, the
 * two rotated factors; the sum with the bias. */
static double error_float32(const struct judged *g, const struct posref_attention_estimate *e)
{
    return ((double)g->a.dim + 8) * e->size + e->angle + (e->bias_k + 1) * e->bias;
}

/* More where tables, rotated vectors, the score and the bias are held in a 16-bit dtype, in its
 * u. */
static double error_low(const struct posref_attention_estimate *e)
{
    return 5 * e->size + 3 * e->bias + e->low + e->bias_low;
}

static double position_of(const struct posref_attention *a, int64_t i)
{
    return a->q_positions.value && a->q_positions.n_axes == 1 ? a->q_positions.value[i]
                                                              : (double)NAN;
}

static struct judge_unit *add_unit(struct judged *g, int tensor, int64_t element, int64_t head,
                                   int64_t i)
{
    struct judge_case *c = g->c;
    struct judge_unit *unit = &c->unit[c->n_units++];
    memset(unit, 0, sizeof *unit);
    unit->n = 1;
    unit->tensor[0] = tensor;
    unit->element[0] = element;
    unit->want[0] = posref_tensor_value(&c->golden->item[tensor], element);
    unit->got[0] = posref_tensor_value(&c->actual->item[tensor], element);
    unit->angle = 1;
    unit->moves = true;
    unit->pair = (int)head;
    unit->position = position_of(&g->a, i);
    return unit;
}

static void score_unit(struct judged *g, int tensor, int64_t head, int64_t i, int64_t j)
{
    struct posref_attention *a = &g->a;
    const int64_t at = (head * a->n_q + i) * a->n_k + j;
    struct judge_unit *unit = add_unit(g, tensor, at, head, i);
    struct posref_attention_estimate e;
    estimate(&e, g, head, i, j);
    if (isinf(unit->want[0]) && unit->want[0] < 0) {
        if (unit->got[0] <= SEEN_AS_MASKED)
            unit->got[0] = -HUGE_VAL;
        unit->moves = false;
        return;
    }
    unit->scale = e.size + e.bias;
    unit->out_scale[0] = fabs(unit->want[0]);
    if (unit->scale == 0)
        return;
    unit->k = error_float32(g, &e) / unit->scale;
    unit->recurrence = e.recurrence / unit->scale;
    unit->low = error_low(&e) / unit->scale * posref_unit(g->c->dtype);
}

static enum posref_status score_units(struct judged *g)
{
    const struct posref_attention *a = &g->a;
    const int64_t count = (a->to_head - a->from_head) * (a->to_q - a->from_q) *
                          (a->to_k - a->from_k);
    enum posref_status status = posref_judge_allocate(g->c, count * g->c->golden->n);
    for (int tensor = 0; tensor < g->c->golden->n && status == POSREF_OK; tensor++)
        for (int64_t head = a->from_head; head < a->to_head; head++)
            for (int64_t i = a->from_q; i < a->to_q; i++)
                for (int64_t j = a->from_k; j < a->to_k; j++)
                    score_unit(g, tensor, head, i, j);
    return status;
}

/* Relative error of the weight of a score that is off by e, where the row's sum may be anything
 * between bound[0] and bound[1] times itself. */
static double weight_error(const double bound[2], double e)
{
    e = fmin(e, 300);
    return fmax(exp(e) / bound[0] - 1, 1 - exp(-e) / bound[1]);
}

/* Sum over keys of weight * (its relative error) * |value - want|: to first order the errors of
 * the weights add up to nothing, so that only the distance of a value from the mean counts. */
static double spread(const struct judged *g, const double *error, double want)
{
    double bound[2] = {0, 0}, sum = 0;
    for (int64_t j = 0; j < g->a.n_k; j++) {
        bound[0] += g->weight[j] * exp(-fmin(error[j], 300));
        bound[1] += g->weight[j] * exp(fmin(error[j], 300));
    }
    for (int64_t j = 0; j < g->a.n_k; j++)
        if (g->weight[j] > 0)
            sum += g->weight[j] * weight_error(bound, error[j]) * fabs(g->value[j] - want);
    return sum;
}

static void weights(struct judged *g, int64_t head, int64_t i)
{
    const double *score = g->score + (head * g->a.n_q + i) * g->a.n_k;
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < g->a.n_k; j++) {
        largest = fmax(largest, score[j]);
        estimate(&g->estimate[j], g, head, i, j);
    }
    for (int64_t j = 0; j < g->a.n_k; j++) {
        sum += g->weight[j] = exp(score[j] - largest);
        g->is_seen[j] = !isinf(score[j]);
    }
    for (int64_t j = 0; j < g->a.n_k; j++)
        g->weight[j] /= sum;
}

enum how { HOW_FLOAT32, HOW_RECURRENCE, HOW_LOW };

/* Errors of the row's scores, absolute; the exponential's argument adds score - largest. */
static const double *errors(struct judged *g, int64_t head, int64_t i, enum how how)
{
    const double u = posref_unit(POSREF_F32), u_low = posref_unit(g->c->dtype);
    const double *score = g->score + (head * g->a.n_q + i) * g->a.n_k;
    double largest = -HUGE_VAL;
    for (int64_t j = 0; j < g->a.n_k; j++)
        largest = fmax(largest, score[j]);
    for (int64_t j = 0; j < g->a.n_k; j++) {
        const struct posref_attention_estimate *e = &g->estimate[j];
        double below = isinf(score[j]) ? 0 : largest - score[j];
        g->error[j] = how == HOW_LOW ? u_low * (error_low(e) + below)
                                     : u * (error_float32(g, e) + 2 * below);
        /* Recurrences, and beside them hardware sines of 2^-20. */
        if (how == HOW_RECURRENCE && e->angle > 0)
            g->error[j] += u * (e->recurrence + 16 * e->size);
    }
    return g->error;
}

/* v, with what the hook adds. */
static enum posref_status values(struct judged *g, int64_t head, int64_t i, int64_t c)
{
    struct posref_attention *a = &g->a;
    const int64_t v_head = head * a->v_heads / a->heads;
    for (int64_t j = 0; j < a->n_k; j++) {
        struct posref_ball more;
        double value = 0;
        if (a->hook->value) {
            enum posref_status status = a->hook->value(&more, a, head, i, j, c, 128);
            if (status != POSREF_OK)
                return status;
            if (!posref_ball_round(&value, &more))
                value = 0;
        }
        g->value[j] = a->v[(j * a->v_heads + v_head) * a->dim_v + c] + value;
    }
    return POSREF_OK;
}

/* However wrong the weights are, the result is a mean of the values of keys that are seen: it is no
 * further from want than the furthest of them, but for the sums' own rounding, which is then of the
 * largest value and not of the mean size. Weights held in the dtype may not add up to 1. */
static double furthest(const struct judged *g, double want)
{
    const double rounding = (4 + (double)g->a.n_k) * posref_unit(POSREF_F32) +
                            3 * posref_unit(g->c->dtype);
    double distance = 0, largest = 0;
    for (int64_t j = 0; j < g->a.n_k; j++) {
        if (g->is_seen[j]) {
            distance = fmax(distance, fabs(g->value[j] - want));
            largest = fmax(largest, fabs(g->value[j]));
        }
    }
    return distance + rounding * largest;
}

/* The element itself from correctly rounded scores, and what may be wrong with it beside its
 * scale: each weight errs by that of its score and the largest one, the sums by their lengths; and
 * eight times that, as the limit goes by the element. */
static double estimate_attention(struct judged *g, int64_t element, int64_t head, int64_t i)
{
    const double *score = g->score + (head * g->a.n_q + i) * g->a.n_k;
    double *want = (double *)g->c->estimated->item[0].data + element, largest = 0;
    *want = 0;
    for (int64_t j = 0; j < g->a.n_k; j++) {
        *want += g->weight[j] * g->value[j];
        largest = fmax(largest, isfinite(score[j]) ? fabs(score[j]) : 0);
    }
    return (2 * largest + (double)g->a.n_k + 8) * 0x1p-49;
}

static enum posref_status attention_unit(struct judged *g, int64_t head, int64_t i, int64_t c)
{
    struct posref_attention *a = &g->a;
    const double u = posref_unit(POSREF_F32);
    const int64_t element = (i * a->heads + head) * a->dim_v + c;
    enum posref_status status = values(g, head, i, c);
    const double inexact = g->c->estimated ? estimate_attention(g, element, head, i) : 0;
    struct judge_unit *unit = add_unit(g, 0, element, head, i);
    for (int64_t j = 0; j < a->n_k; j++)
        unit->scale += g->weight[j] * fabs(g->value[j]);
    unit->out_scale[0] = fabs(unit->want[0]);
    /* Exponentials below the smallest normal float32 may be flushed to zero. */
    unit->floor = 0x1p-120 + inexact * unit->scale;
    if (status != POSREF_OK || unit->scale == 0)
        return status;
    const double want = unit->want[0], plain = spread(g, errors(g, head, i, HOW_FLOAT32), want);
    const double wide = spread(g, errors(g, head, i, HOW_RECURRENCE), want);
    unit->k = plain / unit->scale / u + 4 + (double)a->n_k;
    unit->recurrence = (wide - plain) / unit->scale / u;
    unit->low = spread(g, errors(g, head, i, HOW_LOW), want) / unit->scale;
    unit->cap = furthest(g, want) / unit->scale;
    return status;
}

static enum posref_status attention_units(struct judged *g)
{
    struct posref_attention *a = &g->a;
    enum posref_status status =
        posref_judge_allocate(g->c, (a->to_q - a->from_q) * (a->to_head - a->from_head) *
                                        (a->to_c - a->from_c));
    if (status == POSREF_OK)
        status = posref_attention_scores(g->score, a);
    for (int64_t i = a->from_q; i < a->to_q; i++)
        for (int64_t head = a->from_head; head < a->to_head && status == POSREF_OK; head++) {
            weights(g, head, i);
            for (int64_t c = a->from_c; c < a->to_c && status == POSREF_OK; c++)
                status = attention_unit(g, head, i, c);
        }
    return status;
}

/* Golden's shape is what came back. */
static enum posref_status make_room(struct judge_case *c, const struct posref_attention *a)
{
    const struct posref_tensor *actual = &c->actual->item[0];
    const int64_t n = a->n_q * a->heads * a->dim_v;
    if (posref_tensor_count(actual) != n)
        return posref_fail(c->err, POSREF_BAD_INPUT, actual->name, "has another shape");
    c->estimated->n = 1;
    c->estimated->item[0] = *actual;
    c->estimated->item[0].dtype = POSREF_F64;
    c->estimated->item[0].data = c->arena->alloc(c->arena->ctx, (size_t)n * sizeof(double) + 1);
    return c->estimated->item[0].data ? POSREF_OK : POSREF_NO_MEMORY;
}

/* Rope's estimates ask for each frequency once for every query, key and head. */
static enum posref_status fill_frequencies(struct judge_case *c, struct posref_attention *a)
{
    struct judge_frequency *frequency;
    if (a->hook->estimate != posref_attention_rope_estimate)
        return POSREF_OK;
    enum posref_status status =
        posref_judge_frequencies(&frequency, c, posref_attention_rope_plan(a)->n_columns);
    a->frequency = status == POSREF_OK ? frequency : NULL;
    return status;
}

double posref_attention_scale(const struct posref_attention *a)
{
    const struct posref_spec *spec = a->job->spec;
    if (spec->given[POSREF_FIELD_SOFTMAX_SCALE])
        return spec->softmax_scale;
    double m = 1;
    if (spec->softmax_scale_from != POSREF_SCALE_FROM_DIM && spec->factor > 1)
        m = 1 + 0.1 * log(spec->factor) *
                    (spec->softmax_scale_from == POSREF_SCALE_FROM_MLA ? spec->mscale_all_dim
                                                                       : spec->mscale);
    return m * m / sqrt((double)(a->dim * a->scale_factor));
}

enum posref_status posref_judge_units_attention(struct judge_case *c)
{
    struct posref_tensors no_outputs = {.n = 0};
    struct posref_job job = {.spec = c->spec, .op = c->op, .glance = c->glance, .in = c->inputs,
                             .out = &no_outputs, .arena = c->arena, .err = c->err};
    struct judged *g = posref_job_alloc(&job, 1, sizeof *g);
    if (!g)
        return POSREF_NO_MEMORY;
    memset(g, 0, sizeof *g);
    g->c = c;
    enum posref_status status = posref_attention_open(&g->a, &job);
    if (status == POSREF_OK)
        status = fill_frequencies(c, &g->a);
    if (status == POSREF_OK && c->estimated)
        status = make_room(c, &g->a);
    if (status != POSREF_OK)
        return status;
    if (posref_attention_is_linear(c->spec))
        return posref_judge_units_linear(c, &g->a);
    const size_t n_k = (size_t)g->a.n_k;
    g->scale = posref_attention_scale(&g->a);
    if (c->op == POSREF_OP_SCORES)
        return score_units(g);
    g->score = posref_job_alloc(&job, (size_t)(g->a.heads * g->a.n_q) * n_k, sizeof *g->score);
    g->estimate = posref_job_alloc(&job, n_k, sizeof *g->estimate);
    g->weight = posref_job_alloc(&job, n_k, sizeof *g->weight);
    g->error = posref_job_alloc(&job, n_k, sizeof *g->error);
    g->value = posref_job_alloc(&job, n_k, sizeof *g->value);
    g->is_seen = posref_job_alloc(&job, n_k, sizeof *g->is_seen);
    if (!g->score || !g->estimate || !g->weight || !g->error || !g->value || !g->is_seen)
        return POSREF_NO_MEMORY;
    return attention_units(g);
}
