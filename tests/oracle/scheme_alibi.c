/* SPDX-License-Identifier: Apache-2.0 */
/* ALiBi (arXiv 2108.12409) for n heads, B = alibi_bias_max, c = 2^floor(log2 n):
 *
 *   slope_h = 2^(-B (h + 1) / c) for h < c, else 2^(-B/2 (2 (h - c) + 1) / c)
 *   slopes=geometric: 2^(-B (h + 1) / n); published_bf16: the first, to 8 significant bits
 *   bias    = slope (k - q) (distance), slope k (row), -slope |k - q| (symmetric)
 *   align=top_left: q is counted from the first query, k from the first key
 *   weights = softmax over keys of logits + bias
 *
 * A slope is rational iff its exponent, a dyadic number, is an integer. A weight 1 / sum e^(z_j -
 * z_k) with algebraic z is rational iff all z of the row are equal (Lindemann-Weierstrass). */
#include "attention.h"

#include <math.h>

#define UNIT_OF_TERMS 0x1p-60 /* the bound of a compound value, in sums of |terms| */

enum form { FORM_DISTANCE, FORM_ROW, FORM_SYMMETRIC };

struct alibi {
    struct oracle_tally *tally;
    struct oracle_case *c;
    int64_t n_heads, n_q, n_k;
    double bias_max;
    enum form form;
    bool geometric, bf16, top_left;
    struct oracle_tensor *q, *k, *logits, *slopes, *bias, *weights;
    int64_t head, query, key;
    fmpq_t exponent;
    bool rational;
    arb_t slope, value, part;
    arb_ptr row;
};

/* The exponent of the slope of this head: an exact fraction. */
static void head_exponent(struct alibi *a, int64_t h)
{
    int64_t c = 1;
    while (2 * c <= a->n_heads)
        c *= 2;
    fmpq_t part;
    fmpq_init(part);
    oracle_fmpq_set_double(a->exponent, -a->bias_max);
    if (a->geometric)
        fmpq_set_si(part, h + 1, (ulong)a->n_heads);
    else if (h < c)
        fmpq_set_si(part, h + 1, (ulong)c);
    else
        fmpq_set_si(part, 2 * (h - c) + 1, (ulong)(2 * c));
    fmpq_mul(a->exponent, a->exponent, part);
    a->rational = fmpz_is_one(fmpq_denref(a->exponent));
    fmpq_clear(part);
}

static void slope(struct alibi *a, slong prec)
{
    arb_set_ui(a->slope, 2);
    if (a->rational) { /* a power of two, exact at any size */
        arb_set_ui(a->slope, 1);
        arb_mul_2exp_fmpz(a->slope, a->slope, fmpq_numref(a->exponent));
    } else {
        arb_log(a->slope, a->slope, prec + 64);
        arb_set_fmpq(a->part, a->exponent, prec + 64);
        arb_mul(a->slope, a->slope, a->part, prec + 64);
        arb_exp(a->slope, a->slope, prec + 32);
    }
    if (a->bf16) { /* Arb rounds the midpoint to 8 bits: right unless 160 bits were a tie */
        mag_zero(arb_radref(a->slope));
        arf_set_round(arb_midref(a->slope), arb_midref(a->slope), 8, ARF_RND_NEAR);
    }
}

static bool slope_unit(void *ctx, slong prec)
{
    struct alibi *a = ctx;
    slope(a, prec);
    return oracle_judge(a->tally, a->c, a->slopes, a->head, a->slope, prec);
}

/* What the slope is multiplied by; exact. */
static void distance(arb_t out, const struct alibi *a, int64_t i, int64_t j)
{
    arb_set_d(out, a->k->data[j]);
    if (a->form == FORM_ROW)
        return;
    arf_t q;
    arf_init(q);
    arf_set_d(q, a->q->data[i]);
    arf_sub(arb_midref(out), arb_midref(out), q, ARF_PREC_EXACT, ARF_RND_DOWN);
    if (a->top_left) {
        arf_set_d(q, a->q->data[0]);
        arf_add(arb_midref(out), arb_midref(out), q, ARF_PREC_EXACT, ARF_RND_DOWN);
        arf_set_d(q, a->k->data[0]);
        arf_sub(arb_midref(out), arb_midref(out), q, ARF_PREC_EXACT, ARF_RND_DOWN);
    }
    arf_clear(q);
    if (a->form == FORM_SYMMETRIC) {
        arb_abs(out, out);
        arb_neg(out, out);
    }
}

static bool bias_unit(void *ctx, slong prec)
{
    struct alibi *a = ctx;
    int64_t at = (a->head * a->n_q + a->query) * a->n_k + a->key;
    slope(a, prec);
    distance(a->part, a, a->query, a->key);
    arb_mul(a->value, a->slope, a->part, prec);
    return oracle_judge(a->tally, a->c, a->bias, at, a->value, prec);
}

/* Whether logits + bias are the same number for all keys. An irrational slope keeps the two parts
 * apart; with a rational one the sums are exact. */
static bool row_is_flat(struct alibi *a, const double *logits)
{
    bool flat = true;
    arb_t d0, d, z0, z;
    arb_init(d0);
    arb_init(d);
    arb_init(z0);
    arb_init(z);
    distance(d0, a, a->query, 0);
    for (int64_t j = 1; flat && j < a->n_k; j++) {
        distance(d, a, a->query, j);
        if (a->rational || a->bf16) {
            arb_sub(z, d, d0, ARF_PREC_EXACT);
            arb_mul(z, z, a->slope, ARF_PREC_EXACT);
            arb_set_d(z0, logits[0]);
            arb_add(z, z, z0, ARF_PREC_EXACT);
            arb_set_d(z0, logits[j]);
            flat = arb_equal(z, z0);
        } else {
            flat = logits[j] == logits[0] && arb_equal(d, d0);
        }
    }
    arb_clear(d0);
    arb_clear(d);
    arb_clear(z0);
    arb_clear(z);
    return flat;
}

static bool judge_weight(struct alibi *a, int64_t at, slong prec)
{
    double size = arf_get_d(arb_midref(a->value), ARF_RND_DOWN);
    return oracle_judge_within(a->tally, a->c, a->weights, at, a->value,
                               fabs(size) * UNIT_OF_TERMS, prec);
}

/* row[j] = e^(z_j - z_m) and part = their sum, z_m the largest z. */
static void exponentials(struct alibi *a, const double *logits, slong prec)
{
    int64_t m = 0;
    for (int64_t j = 0; j < a->n_k; j++) {
        distance(a->value, a, a->query, j);
        arb_mul(a->value, a->value, a->slope, prec + 64);
        arb_set_d(a->row + j, logits[j]);
        arb_add(a->row + j, a->row + j, a->value, prec + 64);
        if (arf_cmp(arb_midref(a->row + j), arb_midref(a->row + m)) > 0)
            m = j;
    }
    arb_set(a->value, a->row + m);
    arb_zero(a->part);
    for (int64_t j = 0; j < a->n_k; j++) {
        arb_sub(a->row + j, a->row + j, a->value, prec + 64);
        if (j == m)
            arb_one(a->row + j);
        else
            arb_exp(a->row + j, a->row + j, prec);
        arb_add(a->part, a->part, a->row + j, prec);
    }
}

static bool weights_unit(void *ctx, slong prec)
{
    struct alibi *a = ctx;
    int64_t row = (a->head * a->n_q + a->query) * a->n_k;
    const double *logits = a->logits->data + row;
    bool done = true;
    slope(a, prec);
    bool flat = row_is_flat(a, logits);
    if (!flat)
        exponentials(a, logits, prec);
    for (int64_t j = 0; j < a->n_k; j++) {
        if (flat) {
            arb_set_si(a->part, a->n_k);
            arb_one(a->row + j);
        }
        arb_div(a->value, a->row + j, a->part, prec);
        done &= judge_weight(a, row + j, prec);
    }
    return done;
}

static bool check_shapes(struct alibi *a)
{
    struct oracle_case *c = a->c;
    struct oracle_tensor *both = oracle_input(c, "positions");
    a->q = oracle_input(c, "q_positions");
    a->k = oracle_input(c, "k_positions");
    a->q = a->q ? a->q : both;
    a->k = a->k ? a->k : both;
    a->logits = oracle_input(c, "logits");
    a->slopes = oracle_output(c, "slopes");
    a->bias = oracle_output(c, "bias");
    a->weights = oracle_output(c, "weights");
    if ((a->bias || a->weights) && (!a->q || !a->k || a->q->rank != 1 || a->k->rank != 1))
        return oracle_fail(c, "no positions of rank 1");
    a->n_q = a->q ? a->q->count : 0;
    a->n_k = a->k ? a->k->count : 0;
    int64_t shape[3] = {a->n_heads, a->n_q, a->n_k};
    if (a->weights && !a->logits)
        return oracle_fail(c, "weights without logits");
    return (!a->slopes || oracle_shaped(c, a->slopes, 1, shape)) &&
           (!a->bias || oracle_shaped(c, a->bias, 3, shape)) &&
           (!a->weights || (oracle_shaped(c, a->weights, 3, shape) &&
                            oracle_shaped(c, a->logits, 3, shape)));
}

static bool read_case(struct alibi *a)
{
    struct oracle_case *c = a->c;
    static const char *const forms[] = {"distance", "row", "symmetric"};
    a->n_heads = oracle_int(c, "num_heads");
    a->bias_max = oracle_real(c, "alibi_bias_max");
    int form = 0;
    while (form < 3 && !oracle_is(c, "form", forms[form]))
        form++;
    a->form = (enum form)form;
    a->geometric = oracle_is(c, "slopes", "geometric");
    a->bf16 = oracle_is(c, "slopes", "published_bf16");
    a->top_left = oracle_is(c, "align", "top_left");
    if ((!a->geometric && !a->bf16 && !oracle_is(c, "slopes", "published")) ||
        (!a->top_left && !oracle_is(c, "align", "bottom_right")))
        return oracle_fail(c, "slopes or align: the oracle has no formula for it");
    if (form == 3)
        return oracle_fail(c, "form: the oracle has no formula for it");
    if (c->error[0] || a->n_heads < 1 || a->n_heads > 1 << 20 || !isfinite(a->bias_max))
        return oracle_fail(c, "num_heads or alibi_bias_max out of range");
    return check_shapes(a);
}

/* The bias of scores and attention, for attention.c: slope times distance. */
static void score_bias(arb_t out, struct oracle_attention *at, int64_t head, int64_t i, int64_t j,
                       slong prec)
{
    struct alibi *a = at->ctx;
    head_exponent(a, head);
    slope(a, prec);
    distance(a->part, a, i, j);
    arb_mul(out, a->slope, a->part, prec + 32);
}

static void judge_attention(struct alibi *a)
{
    struct oracle_attention at = {.tally = a->tally, .c = a->c, .ctx = a, .bias = score_bias};
    if (oracle_attention_wanted(a->c) && !a->c->error[0]) {
        if (!a->q || !a->k || a->q->rank != 1 || a->k->rank != 1)
            oracle_fail(a->c, "no positions of rank 1");
        else
            oracle_attention_judge(&at);
    }
}

static void judge_head(struct alibi *a)
{
    head_exponent(a, a->head);
    if (a->slopes)
        oracle_raise(slope_unit, a);
    for (a->query = 0; a->query < a->n_q; a->query++) {
        for (a->key = 0; a->bias && a->key < a->n_k; a->key++)
            oracle_raise(bias_unit, a);
        if (a->weights && a->n_k > 0)
            oracle_raise(weights_unit, a);
    }
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct alibi a = {.tally = t, .c = c};
    fmpq_init(a.exponent);
    arb_init(a.slope);
    arb_init(a.value);
    arb_init(a.part);
    if (read_case(&a)) {
        a.row = _arb_vec_init(a.n_k);
        for (a.head = 0; a.head < a.n_heads; a.head++)
            judge_head(&a);
        judge_attention(&a);
        _arb_vec_clear(a.row, a.n_k);
    }
    fmpq_clear(a.exponent);
    arb_clear(a.slope);
    arb_clear(a.value);
    arb_clear(a.part);
}

const struct oracle_scheme oracle_alibi = {"alibi", judge};
