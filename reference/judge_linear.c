/* SPDX-License-Identifier: Apache-2.0 */
/* Linear attention as judged units: docs/tolerance.md, "Scores and attention". */
#include "attention.h"
#include "judge_impl.h"

#include <math.h>
#include <string.h>

struct linear {
    struct judge_case *c;
    const struct posref_attention *a;
    struct posref_attention held; /* q and k: max(phi, 1) */
};

/* What the error of phi is relative to: elu(x) + 1 ends in a sum whose terms are near 1 however
 * small it is itself. */
static const double *held_rows(struct posref_job *job, const double *x, int64_t n)
{
    double *out = posref_job_alloc(job, (size_t)n, sizeof *out);
    for (int64_t at = 0; out && at < n; at++)
        out[at] = fmax(x[at] + 1, 1);
    return out;
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t c = 0; c < n; c++)
        sum += x[c] * y[c];
    return sum;
}

static double phi(double x)
{
    return x > 0 ? x + 1 : exp(x);
}

static double dot_phi(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t c = 0; c < n; c++)
        sum += phi(x[c]) * phi(y[c]);
    return sum;
}

/* Errors of a row, relative to its denominator: of every numerator times its value, and of the
 * denominator times the quotient. */
struct row {
    double size, turned, recurrence; /* sums over keys of |numerator|, ... times |v| */
    double held, sum;                /* denominators: of max(phi, 1), and itself */
};

static void add_key(struct row *row, const struct linear *g, int64_t head, int64_t i, int64_t j,
                    double v)
{
    const struct posref_attention *a = g->a;
    struct posref_attention_estimate e = {.size = 0};
    posref_attention_rope_estimate(&e, &g->held, head, i, j);
    row->size += e.size * fabs(v);
    row->turned += e.angle * fabs(v);
    row->recurrence += (e.recurrence + (e.angle > 0 ? 16 * e.size : 0)) * fabs(v);
    row->held += dot(posref_attention_q(&g->held, head, i), posref_attention_k(&g->held, head, j),
                     a->dim);
    row->sum += dot_phi(posref_attention_q(a, head, i), posref_attention_k(a, head, j), a->dim);
}

/* A sum of dim products, two phi and two rotated factors; the sums over keys; the quotient. In a
 * 16-bit dtype phi, tables, rotated vectors and the weight are held in it. */
static void unit_of(struct judge_unit *unit, const struct linear *g, int64_t head, int64_t i,
                    int64_t c)
{
    const struct posref_attention *a = g->a;
    const int64_t v_head = head * a->v_heads / a->heads;
    struct row row = {.size = 0};
    for (int64_t j = 0; j < a->n_k; j++)
        if (posref_attention_sees(a, i, j))
            add_key(&row, g, head, i, j, a->v[(j * a->v_heads + v_head) * a->dim_v + c]);
    const double below = row.held * fabs(unit->want[0]);
    unit->scale = (row.size + below) / row.sum;
    unit->floor = 0x1p-120;
    if (unit->scale == 0)
        return;
    const double sizes = unit->scale * row.sum, n = (double)(a->dim + a->n_k);
    unit->k = n + 16 + row.turned / sizes;
    unit->recurrence = row.recurrence / sizes;
    unit->low = 9 * posref_unit(g->c->dtype);
}

static void add_unit(struct linear *g, int64_t head, int64_t i, int64_t channel)
{
    const struct posref_attention *a = g->a;
    struct judge_case *c = g->c;
    struct judge_unit *unit = &c->unit[c->n_units++];
    memset(unit, 0, sizeof *unit);
    unit->n = 1;
    unit->element[0] = (i * a->heads + head) * a->dim_v + channel;
    unit->want[0] = posref_tensor_value(&c->golden->item[0], unit->element[0]);
    unit->got[0] = posref_tensor_value(&c->actual->item[0], unit->element[0]);
    unit->out_scale[0] = fabs(unit->want[0]);
    unit->angle = 1;
    unit->moves = true;
    unit->pair = (int)head;
    unit->position = a->q_positions.n_axes == 1 ? a->q_positions.value[i] : (double)NAN;
    unit_of(unit, g, head, i, channel);
}

enum posref_status posref_judge_units_linear(struct judge_case *c,
                                             const struct posref_attention *a)
{
    struct linear g = {.c = c, .a = a, .held = *a};
    g.held.q = held_rows(a->job, a->q, a->n_q * a->heads * a->dim);
    g.held.k = held_rows(a->job, a->k, a->n_k * a->kv_heads * a->dim);
    if (!g.held.q || !g.held.k)
        return POSREF_NO_MEMORY;
    enum posref_status status =
        posref_judge_allocate(c, (a->to_q - a->from_q) * (a->to_head - a->from_head) *
                                     (a->to_c - a->from_c));
    for (int64_t i = a->from_q; i < a->to_q && status == POSREF_OK; i++)
        for (int64_t head = a->from_head; head < a->to_head; head++)
            for (int64_t channel = a->from_c; channel < a->to_c; channel++)
                add_unit(&g, head, i, channel);
    return status;
}
