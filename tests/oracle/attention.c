/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and attention of the oracle; see attention.h. */
#include "attention.h"

#include <math.h>
#include <string.h>

#define UNIT_OF_TERMS 0x1p-60 /* the bound of a compound value, in sums of |terms| */

bool oracle_attention_wanted(struct oracle_case *c)
{
    return oracle_output(c, "scores") || oracle_output(c, "attention");
}

const double *oracle_q(const struct oracle_attention *a, int64_t head, int64_t i)
{
    return a->q->data + (i * a->heads + head) * a->dim;
}

/* Queries in groups: consecutive query heads share a key head. */
const double *oracle_k(const struct oracle_attention *a, int64_t head, int64_t j)
{
    return a->k->data + (j * a->kv_heads + head / (a->heads / a->kv_heads)) * a->dim;
}

static double at_axis(const struct oracle_tensor *t, int64_t axis, int64_t n)
{
    return t->data[axis * t->shape[t->rank - 1] + n];
}

double oracle_q_position(const struct oracle_attention *a, int64_t axis, int64_t i)
{
    return at_axis(a->q_positions, axis, i);
}

double oracle_k_position(const struct oracle_attention *a, int64_t axis, int64_t j)
{
    return at_axis(a->k_positions, axis, j);
}

void oracle_dot(arb_t out, const double *x, const double *y, int64_t n, slong prec)
{
    arb_t a, b;
    arb_init(a);
    arb_init(b);
    arb_zero(out);
    for (int64_t c = 0; c < n; c++) {
        arb_set_d(a, x[c]);
        arb_set_d(b, y[c]);
        arb_addmul(out, a, b, prec + 64);
    }
    arb_clear(a);
    arb_clear(b);
}

/* ---- temperature ------------------------------------------------------------------------- */

/* floor((p + o) / L) as a fraction, exactly. */
static void floor_steps(fmpz_t out, double p, double o, double length)
{
    fmpq_t at, by;
    fmpq_init(at);
    fmpq_init(by);
    oracle_fmpq_set_double(at, p);
    oracle_fmpq_set_double(by, o);
    fmpq_add(at, at, by);
    oracle_fmpq_set_double(by, length);
    fmpq_div(at, at, by);
    fmpz_fdiv_q(out, fmpq_numref(at), fmpq_denref(at));
    fmpq_clear(at);
    fmpq_clear(by);
}

static void stepped(arb_t out, struct oracle_case *c, double p, double offset, slong prec)
{
    arb_t s;
    fmpz_t n;
    fmpz_init(n);
    arb_init(s);
    floor_steps(n, p, offset, oracle_real(c, "temperature_length"));
    fmpz_add_ui(n, n, 1);
    arb_log_fmpz(out, n, prec + 32);
    arb_set_d(s, oracle_real(c, "temperature_scale"));
    arb_mul(out, out, s, prec + 32);
    arb_add_ui(out, out, 1, prec + 32);
    arb_clear(s);
    fmpz_clear(n);
}

/* ln n / ln L for n = p + 1 > L; both powers of two: a quotient of whole numbers. */
static void logn(arb_t out, double n, double length, slong prec)
{
    int e, of_length;
    arb_t l;
    if (n <= length) {
        arb_one(out);
        return;
    }
    if (frexp(n, &e) == 0.5 && frexp(length, &of_length) == 0.5) {
        arb_set_si(out, e - 1);
        arb_div_si(out, out, of_length - 1, prec);
        return;
    }
    arb_init(l);
    arb_set_d(out, n);
    arb_log(out, out, prec + 32);
    arb_set_d(l, length);
    arb_log(l, l, prec + 32);
    arb_div(out, out, l, prec + 32);
    arb_clear(l);
}

static void temperature(arb_t out, struct oracle_attention *a, int64_t i, slong prec)
{
    struct oracle_case *c = a->c;
    arb_one(out);
    if (!oracle_has(c, "temperature") || oracle_is(c, "temperature", "none"))
        return;
    double p = oracle_q_position(a, 0, i);
    if (oracle_is(c, "temperature", "llama4"))
        stepped(out, c, p, 1, prec);
    else if (oracle_is(c, "temperature", "ministral"))
        stepped(out, c, p, 0, prec);
    else if (oracle_is(c, "temperature", "llama_cpp"))
        stepped(out, c, p, oracle_real(c, "temperature_offset"), prec);
    else if (oracle_is(c, "temperature", "logn") && p + 1 - 1 == p)
        logn(out, p + 1, oracle_real(c, "temperature_length"), prec);
    else
        oracle_fail(c, "temperature: the oracle has no formula for it");
}

/* ---- scores ------------------------------------------------------------------------------ */

void oracle_times_scale(arb_t x, struct oracle_attention *a, int64_t i, slong prec)
{
    struct oracle_case *c = a->c;
    arb_t s;
    arb_init(s);
    if (oracle_has(c, "softmax_scale")) {
        arb_set_d(s, oracle_real(c, "softmax_scale"));
        arb_mul(x, x, s, prec + 32);
    } else {
        arb_sqrt_ui(s, (ulong)(a->dim * (a->scale_factor ? a->scale_factor : 1)), prec + 32);
        arb_div(x, x, s, prec + 32);
    }
    const bool own = oracle_is(c, "softmax_scale_from", "mla_mscale");
    if ((own || oracle_is(c, "softmax_scale_from", "mla")) && oracle_real(c, "factor") > 1) {
        /* m = 1 + s ln(factor) / 10, s = mscale_all_dim or mscale; else m = 1 */
        arb_t m;
        arb_init(m);
        arb_set_d(m, oracle_real(c, "factor"));
        arb_log(m, m, prec + 32);
        arb_set_d(s, oracle_real(c, own ? "mscale" : "mscale_all_dim"));
        arb_mul(m, m, s, prec + 32);
        arb_div_ui(m, m, 10, prec + 32);
        arb_add_ui(m, m, 1, prec + 32);
        arb_sqr(m, m, prec + 32);
        arb_mul(x, x, m, prec + 32);
        arb_clear(m);
    }
    temperature(s, a, i, prec);
    arb_mul(x, x, s, prec + 32);
    arb_clear(s);
}

/* term [n_terms] scaled, and their sum with the bias. */
static void score(arb_t out, arb_ptr term, struct oracle_attention *a, int64_t j, slong prec)
{
    arb_t sum;
    arb_init(sum);
    if (a->term)
        a->term(term, a, a->head, a->i, j, prec);
    else
        oracle_dot(term, oracle_q(a, a->head, a->i), oracle_k(a, a->head, j), a->dim, prec);
    const int n_scaled = a->n_terms - a->n_unscaled;
    for (int n = 0; n < n_scaled; n++)
        arb_add(sum, sum, term + n, prec + 64); /* before scaling: exact zeros stay */
    oracle_times_scale(sum, a, a->i, prec);
    for (int n = 0; n < n_scaled; n++)
        oracle_times_scale(term + n, a, a->i, prec);
    arb_zero(out);
    if (a->bias)
        a->bias(out, a, a->head, a->i, j, prec);
    for (int n = n_scaled; n < a->n_terms; n++)
        arb_add(out, out, term + n, prec + 64);
    arb_add(out, out, sum, prec + 32);
    arb_clear(sum);
}

bool oracle_sees(const struct oracle_attention *a, int64_t i, int64_t j)
{
    const struct oracle_case *c = a->c;
    if (a->mask && a->mask->data[i * a->n_k + j] == 0)
        return false;
    if (!oracle_is(c, "causal", "true"))
        return true;
    if (oracle_is(c, "causal_align", "position"))
        return oracle_k_position(a, 0, j) <= oracle_q_position(a, 0, i);
    if (oracle_is(c, "causal_align", "top_left"))
        return j <= i;
    return j - (a->n_k - a->n_q) <= i;
}

static double size_of(const struct oracle_attention *a)
{
    const double *q = oracle_q(a, a->head, a->i), *k = oracle_k(a, a->head, a->j);
    double size = 0;
    for (int64_t n = 0; n < a->dim; n++)
        size += fabs(q[n] * k[n]);
    return size / sqrt((double)a->dim);
}

static bool score_unit(void *ctx, slong prec)
{
    struct oracle_attention *a = ctx;
    const int64_t at = (a->head * a->n_q + a->i) * a->n_k + a->j;
    struct oracle_tensor *out = oracle_output(a->c, "scores");
    arb_ptr term = _arb_vec_init(ORACLE_TERMS);
    arb_t value;
    arb_init(value);
    score(value, term, a, a->j, prec);
    bool done = true;
    const double slack = size_of(a) * UNIT_OF_TERMS;
    if (oracle_sees(a, a->i, a->j))
        done = oracle_judge_within(a->tally, a->c, out, at, value, slack, prec);
    else
        oracle_judge_copy(a->tally, a->c, out, at, -HUGE_VAL);
    for (int n = 0; a->terms && n < a->n_terms; n++)
        done &= oracle_judge_within(a->tally, a->c, oracle_output(a->c, a->terms[n]), at, term + n,
                                    slack, prec);
    arb_clear(value);
    _arb_vec_clear(term, ORACLE_TERMS);
    return done;
}

/* row[j] = e^(s_j - s_m), 0 where not seen; part = their sum. */
static void numerators(arb_t sum, struct oracle_attention *a, slong prec)
{
    arb_ptr term = _arb_vec_init(ORACLE_TERMS);
    arb_t top;
    int64_t m = -1;
    arb_init(top);
    for (int64_t j = 0; j < a->n_k; j++) {
        if (!oracle_sees(a, a->i, j))
            continue;
        score(a->row + j, term, a, j, prec + 64);
        if (m < 0 || arf_cmp(arb_midref(a->row + j), arb_midref(a->row + m)) > 0)
            m = j;
    }
    if (m >= 0)
        arb_set(top, a->row + m);
    arb_zero(sum);
    for (int64_t j = 0; j < a->n_k; j++) {
        if (!oracle_sees(a, a->i, j)) {
            arb_zero(a->row + j);
            continue;
        }
        arb_sub(a->row + j, a->row + j, top, prec + 64);
        if (j == m)
            arb_one(a->row + j);
        else
            arb_exp(a->row + j, a->row + j, prec + 32);
        arb_add(sum, sum, a->row + j, prec + 32);
    }
    arb_clear(top);
    _arb_vec_clear(term, ORACLE_TERMS);
}

/* row[j] = term j, 0 where not seen; sum of the denominators. */
static void quotient_weights(arb_t sum, struct oracle_attention *a, slong prec)
{
    arb_t part;
    arb_init(part);
    arb_zero(sum);
    for (int64_t j = 0; j < a->n_k; j++) {
        arb_zero(a->row + j);
        if (!oracle_sees(a, a->i, j))
            continue;
        a->term(a->row + j, a, a->head, a->i, j, prec + 64);
        a->denominator(part, a, a->head, a->i, j, prec + 64);
        arb_add(sum, sum, part, prec + 32);
    }
    arb_clear(part);
}

/* Channel c of the row: sum of w_j v_j, and (for the slack) of |w_j v_j|. */
static double channel(arb_t out, struct oracle_attention *a, const arb_t sum, int64_t c, slong prec)
{
    const int64_t head = a->head / (a->heads / a->v_heads);
    double size = 0;
    arb_t value, more;
    arb_init(value);
    arb_init(more);
    arb_zero(out);
    for (int64_t j = 0; j < a->n_k; j++) {
        double v = a->v->data[(j * a->v_heads + head) * a->dim_v + c];
        arb_set_d(value, v);
        if (a->value) {
            a->value(more, a, a->head, a->i, j, c, prec);
            arb_add(value, value, more, prec + 32);
        }
        size += fabs(v * arf_get_d(arb_midref(a->row + j), ARF_RND_DOWN));
        arb_addmul(out, value, a->row + j, prec + 32);
    }
    arb_div(out, out, sum, prec);
    size /= arf_get_d(arb_midref(sum), ARF_RND_UP);
    arb_clear(value);
    arb_clear(more);
    return size;
}

static bool attention_unit(void *ctx, slong prec)
{
    struct oracle_attention *a = ctx;
    struct oracle_tensor *out = oracle_output(a->c, "attention");
    arb_t sum, value;
    arb_init(sum);
    arb_init(value);
    bool done = true;
    if (a->denominator)
        quotient_weights(sum, a, prec);
    else
        numerators(sum, a, prec);
    for (int64_t c = 0; c < a->dim_v; c++) {
        double size = channel(value, a, sum, c, prec);
        done &= oracle_judge_within(a->tally, a->c, out,
                                    (a->i * a->heads + a->head) * a->dim_v + c, value,
                                    size * UNIT_OF_TERMS, prec);
    }
    arb_clear(sum);
    arb_clear(value);
    return done;
}

/* ---- the case ---------------------------------------------------------------------------- */

static bool read_rows(struct oracle_tensor *t, int64_t *n, int64_t *heads, int64_t *width)
{
    if (!t || (t->rank != 2 && t->rank != 3))
        return false;
    *n = t->shape[0];
    *heads = t->rank == 3 ? t->shape[1] : 1;
    *width = t->shape[t->rank - 1];
    return true;
}

bool oracle_attention_read(struct oracle_attention *a)
{
    struct oracle_case *c = a->c;
    int64_t dim = 0, n_v = 0;
    struct oracle_tensor *both = oracle_input(c, "positions");
    a->q = oracle_input(c, "q");
    a->k = oracle_input(c, "k");
    a->v = oracle_input(c, "v");
    a->mask = oracle_input(c, "mask");
    a->q_positions = oracle_input(c, "q_positions");
    a->k_positions = oracle_input(c, "k_positions");
    a->q_positions = a->q_positions ? a->q_positions : both;
    a->k_positions = a->k_positions ? a->k_positions : both;
    if (!read_rows(a->q, &a->n_q, &a->heads, &a->dim) ||
        !read_rows(a->k, &a->n_k, &a->kv_heads, &dim) || dim != a->dim)
        return oracle_fail(c, "q or k is missing, or of another shape");
    if (a->v && (!read_rows(a->v, &n_v, &a->v_heads, &a->dim_v) || n_v != a->n_k))
        return oracle_fail(c, "v: another shape than k");
    if (a->mask && a->mask->count != a->n_q * a->n_k)
        return oracle_fail(c, "mask: another shape than q and k imply");
    if (a->heads % a->kv_heads || (a->v && a->heads % a->v_heads))
        return oracle_fail(c, "heads of k or v do not divide those of q");
    if ((a->q_positions && a->q_positions->shape[a->q_positions->rank - 1] != a->n_q) ||
        (a->k_positions && a->k_positions->shape[a->k_positions->rank - 1] != a->n_k))
        return oracle_fail(c, "positions: another number than q or k has rows");
    return true;
}

static bool check_outputs(struct oracle_attention *a)
{
    struct oracle_case *c = a->c;
    const int64_t by_head[] = {a->heads, a->n_q, a->n_k}, out[] = {a->n_q, a->heads, a->dim_v};
    const int64_t flat_out[] = {a->n_q, a->dim_v};
    const bool heads = a->q->rank == 3;
    const int64_t *shape = heads ? by_head : by_head + 1;
    struct oracle_tensor *scores = oracle_output(c, "scores");
    struct oracle_tensor *attention = oracle_output(c, "attention");
    if (scores && !oracle_shaped(c, scores, heads ? 3 : 2, shape))
        return false;
    for (int n = 0; scores && a->terms && n < a->n_terms; n++) {
        struct oracle_tensor *term = oracle_output(c, a->terms[n]);
        if (!term)
            return oracle_fail(c, "%s is missing", a->terms[n]);
        if (!oracle_shaped(c, term, heads ? 3 : 2, shape))
            return false;
    }
    if (attention && !a->v)
        return oracle_fail(c, "attention without v");
    return !attention || oracle_shaped(c, attention, heads ? 3 : 2, heads ? out : flat_out);
}

void oracle_attention_judge(struct oracle_attention *a)
{
    a->n_terms = 0;
    while (a->terms && a->terms[a->n_terms])
        a->n_terms++;
    a->n_terms += a->n_terms == 0;
    if (!oracle_attention_read(a) || !check_outputs(a))
        return;
    a->row = _arb_vec_init(a->n_k);
    for (a->head = 0; a->head < a->heads; a->head++)
        for (a->i = 0; a->i < a->n_q; a->i++) {
            for (a->j = 0; oracle_output(a->c, "scores") && a->j < a->n_k; a->j++)
                oracle_raise(score_unit, a);
            if (oracle_output(a->c, "attention"))
                oracle_raise(attention_unit, a);
        }
    _arb_vec_clear(a->row, a->n_k);
}
