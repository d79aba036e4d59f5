/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a learned table that is added to the content, in four terms (as additive.c has them for
 * sinusoids): q and k are content rows, p_i the table's row of query i and r_j that of key j,
 *
 *     (q + p_i) . (k + r_j) = q . k + q . r_j + p_i . k + p_i . r_j
 *
 * times the scale. A row is table_scale times a sum of taps over one denominator (learned.c): rows
 * are kept as exact numerators, and each term is divided once. */
#include "attention.h"
#include "judge_impl.h"
#include "learned.h"

#include <math.h>

#define MAX_BALLS (1 << 16) /* rows times dim */

struct row {
    struct posref_learned_entry entry;
    struct posref_ball *numerator, denominator; /* [dim] */
};

struct learned {
    const double *weights; /* [n_rows, dim] */
    int64_t n_rows;
    struct row *q, *k; /* [n_q], [n_k] */
};

static enum posref_status read_weights(struct learned *x, const struct posref_attention *a)
{
    const struct posref_tensor *weights = posref_tensors_find(a->job->in, "weights");
    const int64_t want = posref_learned_rows(a->job->spec);
    x->n_rows = want ? want : weights && weights->rank == 2 ? weights->shape[0] : 1;
    return posref_job_input(&x->weights, a->job, "weights", 2,
                            (const int64_t[]){x->n_rows, a->dim});
}

static void fill_row(struct row *row, const struct learned *x, const struct posref_attention *a)
{
    struct posref_ball scale, part;
    posref_ball_set_double(&scale, a->job->spec->table_scale);
    for (int64_t c = 0; c < a->dim; c++) {
        posref_learned_taps(&row->numerator[c], &row->entry, x->weights + c, a->dim);
        posref_ball_mul(&row->numerator[c], &row->numerator[c], &scale, POSREF_BALL_MAX_BITS);
    }
    posref_ball_set_int(&row->denominator, row->entry.y.denominator);
    posref_ball_set_int(&part, row->entry.x.denominator);
    posref_ball_mul(&row->denominator, &row->denominator, &part, POSREF_BALL_MAX_BITS);
}

/* The rows of one side, in memory for n rows of balls. */
static enum posref_status fill_side(struct row **out, const struct learned *x,
                                    struct posref_attention *a,
                                    const struct posref_positions *positions, const char *name)
{
    const struct posref_spec *spec = a->job->spec;
    const int64_t n = positions->n;
    struct row *row = posref_job_alloc(a->job, (size_t)n, sizeof *row);
    struct posref_ball *balls = posref_job_alloc(a->job, (size_t)(n * a->dim), sizeof *balls);
    if (!row || !balls)
        return POSREF_NO_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        const double position = positions->value[i];
        row[i].numerator = balls + i * a->dim;
        if (position != floor(position) ||
            !posref_learned_entry(&row[i].entry, spec, x->n_rows, position + spec->offset))
            return posref_fail(a->job->err, POSREF_BAD_INPUT, name,
                               "element %lld is %.17g: the table has no such row", (long long)i,
                               position);
        fill_row(&row[i], x, a);
    }
    *out = row;
    return POSREF_OK;
}

static enum posref_status begin(struct posref_attention *a)
{
    struct learned *x = posref_job_alloc(a->job, 1, sizeof *x);
    if (!x)
        return POSREF_NO_MEMORY;
    a->state = x;
    enum posref_status status = posref_attention_check_added(a);
    if (status == POSREF_OK && (a->n_q + a->n_k) * a->dim > MAX_BALLS)
        status = posref_fail(a->job->err, POSREF_BAD_INPUT, "k",
                             "queries and keys times dim must be at most %d", MAX_BALLS);
    if (status == POSREF_OK)
        status = read_weights(x, a);
    if (status == POSREF_OK)
        status = posref_attention_read_positions(a, POSREF_POSITIONS_REQUIRED, 1);
    if (status == POSREF_OK)
        status = fill_side(&x->q, x, a, &a->q_positions, "q_positions");
    return status == POSREF_OK ? fill_side(&x->k, x, a, &a->k_positions, "k_positions") : status;
}

static bool quotient(struct posref_ball *x, const struct row *row, unsigned prec_bits)
{
    return posref_ball_div(x, x, &row->denominator, prec_bits);
}

static enum posref_status score(struct posref_ball *term, const struct posref_attention *a,
                                int64_t head, int64_t i, int64_t j, unsigned prec_bits)
{
    const struct learned *x = a->state;
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    const struct row *p = &x->q[i], *r = &x->k[j];
    const bool own = (a->job->spec->slips & POSREF_SLIP_OWN_POSITIONS) != 0;
    const struct row *of_q = own ? p : r, *of_k = own ? r : p;
    struct posref_ball part;
    posref_attention_dot(&term[0], q, k, a->dim, prec_bits);
    posref_attention_dot_ball(&term[1], q, of_q->numerator, a->dim, prec_bits);
    posref_attention_dot_ball(&term[2], k, of_k->numerator, a->dim, prec_bits);
    posref_ball_set_int(&term[3], 0);
    for (int64_t c = 0; c < a->dim; c++) {
        posref_ball_mul(&part, &p->numerator[c], &r->numerator[c], prec_bits);
        posref_ball_add(&term[3], &term[3], &part, prec_bits);
    }
    if (!quotient(&term[1], of_q, prec_bits) || !quotient(&term[2], of_k, prec_bits) ||
        !quotient(&term[3], r, prec_bits) || !quotient(&term[3], p, prec_bits))
        return POSREF_INTERNAL;
    posref_attention_drop_added(term, a->job->spec);
    return POSREF_OK;
}

/* Size of channel c of a row, and its error in u. */
static void size_of(double *size, double *error, const struct row *row,
                    const struct posref_attention *a, int64_t c)
{
    const struct learned *x = a->state;
    const double scale = a->job->spec->table_scale;
    struct posref_learned_size taps;
    posref_learned_size(&taps, &row->entry, x->weights + c, a->dim);
    *size = scale * taps.sum;
    *error = *size;
    if (!taps.copy) {
        *size += scale * taps.largest;
        *error = posref_learned_resample_k(a->job->spec) * *size;
    }
}

static void estimate(struct posref_attention_estimate *out, const struct posref_attention *a,
                     int64_t head, int64_t i, int64_t j)
{
    const struct learned *x = a->state;
    const double *q = posref_attention_q(a, head, i), *k = posref_attention_k(a, head, j);
    for (int64_t c = 0; c < a->dim; c++) {
        double p, r, p_error, r_error;
        size_of(&p, &p_error, &x->q[i], a, c);
        size_of(&r, &r_error, &x->k[j], a, c);
        out->size += fabs(q[c]) * r + fabs(k[c]) * p + p * r;
        out->angle += (fabs(q[c]) + p) * r_error + (fabs(k[c]) + r) * p_error;
    }
}

static const char *const inputs[] = {"weights", NULL};

const struct posref_attention_hook posref_attention_learned = {
    .inputs = inputs,
    .terms = posref_attention_added_terms,
    .begin = begin,
    .score = score,
    .estimate = estimate,
};
