/* SPDX-License-Identifier: Apache-2.0 */
/* CoPE as judged units: docs/tolerance.md, "Scores and attention". A gate errs by its slope times
 * the error of its logit, a position by those of its gates and their sum, a logit by the slope of
 * the lines that the position may lie on. */
#include "cope.h"
#include "judge_impl.h"

#include <math.h>

/* A position and its errors: in u of float32, and in u of a 16-bit dtype that holds scores, gates
 * and positions. */
struct place {
    double position, error, low; /* not clamped */
};

static double dot_of(double *size, const double *x, const double *y, int64_t n)
{
    double sum = 0;
    *size = 0;
    for (int64_t c = 0; c < n; c++) {
        sum += x[c] * y[c];
        *size += fabs(x[c] * y[c]);
    }
    return sum;
}

/* Adds the gate of key k. */
static void add_gate(struct place *out, const struct posref_attention *a, int64_t head, int64_t i,
                     int64_t k, double scale)
{
    double size;
    const double z = scale * dot_of(&size, posref_attention_q(a, head, i),
                                    posref_attention_k(a, head, k), a->dim);
    const double gate = 1 / (1 + exp(-z)), slope = gate * (1 - gate);
    const double error = ((double)a->dim + 8) * scale * size, u = 0x1p-24;
    out->position += gate;
    /* The slope changes by at most e^error within the error. */
    out->error += fmin(slope * exp(fmin(error * u, 1)), 0.25) * error + 4 * gate;
    out->low += 5 * fmin(2 * slope, 0.25) * scale * size + 2 * gate;
}

/* Sums may be formed from either end of the row. */
static struct place place_of(const struct posref_attention *a, int64_t head, int64_t i, int64_t j)
{
    struct place from_j = {0}, whole = {0};
    const struct posref_spec *spec = a->job->spec;
    const bool scaled = spec->gate_logits == POSREF_GATE_LOGITS_SCALED;
    const double scale = scaled ? posref_attention_scale(a) : 1;
    for (int64_t n = 0; n < a->n_k; n++) {
        const int64_t k = posref_cope_key(spec, n, a->n_k);
        const struct place before = whole;
        if (posref_cope_counts(a, i, k))
            add_gate(&whole, a, head, i, k, scale);
        if (k == j)
            from_j = spec->slips & POSREF_SLIP_GATES_BEYOND ? before : whole;
    }
    from_j.error += (double)a->n_k * whole.position;
    from_j.low += 2 * from_j.position;
    return from_j;
}

static double clamped(const struct posref_attention *a, double position)
{
    return fmax(0, fmin(position, a->job->spec->npos_max - 1));
}

/* The largest |slope| and size of a logit on the lines within reach of a position. */
static void lines(double *slope, double *size, const struct posref_attention *a, int64_t head,
                  int64_t i, double position, double reach)
{
    const double *q = posref_attention_q(a, head, i);
    /* A row that is chosen by rounding may be the one on either side. */
    reach += a->job->spec->slips & POSREF_SLIP_ROW_NEAREST ? 0.5 : 0;
    const int64_t first = (int64_t)floor(clamped(a, position - reach));
    const int64_t last = (int64_t)ceil(clamped(a, position + reach));
    double before = 0;
    *slope = *size = 0;
    for (int64_t m = first; m <= last; m++) {
        double of_row;
        const double logit = dot_of(&of_row, q, posref_cope_weights(a, head, m), a->dim);
        *size = fmax(*size, of_row);
        if (m > first)
            *slope = fmax(*slope, fabs(logit - before));
        before = logit;
    }
}

void posref_cope_estimate(struct posref_attention_estimate *out, const struct posref_attention *a,
                          int64_t head, int64_t i, int64_t j)
{
    const struct place p = place_of(a, head, i, j);
    double slope, low_slope, size, low_size;
    lines(&slope, &size, a, head, i, p.position, p.error * 0x1p-24);
    lines(&low_slope, &low_size, a, head, i, p.position, p.low * 0x1p-8);
    if (a->n_unscaled == 0) {
        out->size += size;
        out->angle += slope * p.error;
        out->low += low_slope * p.low + 5 * (low_size - size);
        return;
    }
    out->bias += size;
    out->bias_k = size > 0 ? (double)a->dim + 8 + slope * p.error / size : 0;
    out->bias_low += low_slope * p.low + 5 * low_size;
}

enum posref_status posref_judge_units_cope(struct judge_case *c)
{
    struct posref_tensors none = {.n = 0};
    struct posref_job job = {.spec = c->spec, .op = c->op, .in = c->inputs, .out = &none,
                             .arena = c->arena, .err = c->err};
    struct posref_attention *a = posref_job_alloc(&job, 1, sizeof *a);
    if (!a)
        return POSREF_NO_MEMORY;
    enum posref_status status = posref_attention_open(a, &job);
    const int64_t count = posref_tensor_count(&c->golden->item[0]);
    if (status == POSREF_OK)
        status = posref_judge_allocate(c, count);
    for (int64_t at = 0; at < count && status == POSREF_OK; at++) {
        const int64_t j = at % a->n_k, i = at / a->n_k % a->n_q, head = at / a->n_k / a->n_q;
        struct judge_unit *unit = posref_judge_add_one(c, 0, at, (int)head);
        const struct place p = place_of(a, head, i, j);
        const double last = c->spec->slips & POSREF_SLIP_ROW_NONE_BEYOND
                                ? HUGE_VAL : c->spec->npos_max - 1;
        /* Beyond the clamp by more than the error: the last row's number, exactly. */
        unit->scale = unit->want[0];
        unit->k = unit->scale > 0 && p.position - p.error * 0x1p-24 < last
                      ? p.error / unit->scale : 0;
        unit->low = unit->scale > 0 && p.position - p.low * 0x1p-8 < last
                        ? p.low / unit->scale * posref_unit(c->dtype) : 0;
        unit->moves = true;
    }
    return status;
}
