/* SPDX-License-Identifier: Apache-2.0 */
/* Rope fused with an RMS norm (arXiv 1910.07467, eq. 4) of each head's vector, in its three places:
 *
 *   @norm            y = R_p z, z_c = x_c w_c / rms, rms = sqrt(mean over the head of x_c^2 + eps)
 *   @norm-plus-one   the same with 1 + w_c in the place of w_c (Gemma)
 *   @norm-after      y_c = w_c (R_p x)_c / rms of R_p x
 *
 * R_p as scheme_rope.c has it, channels that do not turn left as they are. Where the turned vector
 * is known exactly the square of y is a fraction, and a root of two squares is one too.
 *
 *   norms < LINES      vectors as JSON, a line each; exit 1 when a value is not the rounding */
#include "rope_frequency.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct norms {
    struct oracle_tally *tally;
    struct oracle_case *c;
    struct rope_frequencies f;
    struct oracle_tensor *positions, *x, *weight, *eps, *y;
    bool plus_one, after, reads_half, writes_half, inverse;
    int64_t dim, heads, first;
    int64_t row; /* of n positions times heads */
    arb_ptr v;   /* [dim] of the row */
    arb_t one, two, cosine, sine, factor, square;
};

static void set_weight(arb_t out, const struct norms *n, int64_t channel)
{
    arb_set_d(out, n->weight->data[channel]);
    if (n->plus_one)
        arb_add_si(out, out, 1, ARF_PREC_EXACT);
}

static int64_t channel(const struct norms *n, bool half, int64_t pair, int which)
{
    return n->first + (half ? pair + which * n->f.n_pairs : 2 * pair + which);
}

/* v = the row, times its weights where the norm is before. */
static void read_row(struct norms *n, slong prec)
{
    for (int64_t k = 0; k < n->dim; k++) {
        arb_set_d(n->v + k, n->x->data[n->row * n->dim + k]);
        set_weight(n->one, n, k);
        if (!n->after)
            arb_mul(n->v + k, n->v + k, n->one, prec);
    }
}

static void turn_row(struct norms *n, slong prec)
{
    const double position = n->positions->data[n->row / n->heads];
    arb_ptr out = _arb_vec_init(n->dim);
    for (int64_t k = 0; k < n->dim; k++)
        arb_set(out + k, n->v + k);
    rope_attention_factor(n->factor, &n->f, prec + 64);
    for (int64_t i = 0; i < n->f.n_pairs; i++) {
        const arb_ptr a = n->v + channel(n, n->reads_half, i, 0);
        const arb_ptr b = n->v + channel(n, n->reads_half, i, 1);
        rope_frequency(n->one, &n->f, i, prec + 64);
        arb_set_d(n->two, n->inverse ? -position : position);
        arb_mul(n->one, n->one, n->two, prec + 128);
        arb_sin_cos(n->sine, n->cosine, n->one, prec + 64);
        arb_mul(n->cosine, n->cosine, n->factor, prec + 64);
        arb_mul(n->sine, n->sine, n->factor, prec + 64);
        const arb_ptr y1 = out + channel(n, n->writes_half, i, 0);
        const arb_ptr y2 = out + channel(n, n->writes_half, i, 1);
        arb_mul(y1, a, n->cosine, prec + 64);
        arb_submul(y1, b, n->sine, prec + 64);
        arb_mul(y2, b, n->cosine, prec + 64);
        arb_addmul(y2, a, n->sine, prec + 64);
    }
    _arb_vec_swap(n->v, out, n->dim);
    _arb_vec_clear(out, n->dim);
}

/* square = (sum over the row of what is normed, squared) + dim eps: dim times the mean and eps. */
static void sum_squares(struct norms *n, slong prec)
{
    arb_set_d(n->square, *n->eps->data);
    arb_mul_si(n->square, n->square, n->dim, prec);
    for (int64_t k = 0; k < n->dim; k++) {
        if (n->after)
            arb_set(n->one, n->v + k);
        else
            arb_set_d(n->one, n->x->data[n->row * n->dim + k]);
        arb_addmul(n->square, n->one, n->one, prec);
    }
}

static void set_fraction(fmpq_t out, const arb_t exact)
{
    arf_get_fmpq(out, arb_midref(exact));
}

/* value / sqrt(square / dim), where both are exact and the root is a fraction. */
static bool exact_quotient(arb_t out, const arb_t value, const arb_t square, int64_t dim,
                           slong prec)
{
    fmpq_t s, v, d;
    if (!arb_is_exact(value) || !arb_is_exact(square))
        return false;
    fmpq_init(s);
    fmpq_init(v);
    fmpq_init(d);
    set_fraction(s, square);
    set_fraction(v, value);
    fmpq_set_si(d, dim, 1);
    fmpq_div(s, s, d);
    const bool whole = fmpz_is_square(fmpq_numref(s)) && fmpz_is_square(fmpq_denref(s));
    if (whole) {
        fmpz_sqrt(fmpq_numref(s), fmpq_numref(s));
        fmpz_sqrt(fmpq_denref(s), fmpq_denref(s));
        fmpq_div(v, v, s);
        oracle_arb_set_fmpq(out, v, prec);
    }
    fmpq_clear(s);
    fmpq_clear(v);
    fmpq_clear(d);
    return whole;
}

static bool row_unit(void *ctx, slong prec)
{
    struct norms *n = ctx;
    bool done = true;
    read_row(n, prec + 64);
    turn_row(n, prec);
    sum_squares(n, prec + 64);
    for (int64_t k = 0; k < n->dim; k++) {
        arb_set(n->one, n->v + k);
        if (n->after) {
            set_weight(n->two, n, k);
            arb_mul(n->one, n->one, n->two, prec + 64);
        }
        if (!exact_quotient(n->two, n->one, n->square, n->dim, prec)) {
            arb_div_si(n->two, n->square, n->dim, prec + 64);
            arb_sqrt(n->two, n->two, prec + 64);
            arb_div(n->two, n->one, n->two, prec + 64);
        }
        done &= oracle_judge(n->tally, n->c, n->y, n->row * n->dim + k, n->two, prec);
    }
    return done;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

static bool read_case(struct norms *n)
{
    struct oracle_case *c = n->c;
    const bool trailing = oracle_is(c, "partial", "trailing");
    n->dim = oracle_int(c, "dim");
    n->plus_one = ends_in(c->id, "@norm-plus-one");
    n->after = ends_in(c->id, "@norm-after");
    n->reads_half = oracle_is(c, "pairing", "half");
    n->writes_half = n->reads_half || oracle_is(c, "pairing", "interleaved_to_half");
    n->inverse = oracle_is(c, "direction", "inverse");
    n->first = trailing ? n->dim - n->f.r : 0;
    n->positions = oracle_input(c, "positions");
    n->x = oracle_input(c, "x");
    n->weight = oracle_input(c, n->after ? "post_norm_weight" : "norm_weight");
    n->eps = oracle_input(c, "eps");
    n->y = oracle_output(c, "y");
    if (!n->plus_one && !n->after && !ends_in(c->id, "@norm"))
        return oracle_fail(c, "the id names no norm");
    if ((!trailing && !oracle_is(c, "partial", "leading")) || oracle_has(c, "xpos_scale_base") ||
        (!n->writes_half && !oracle_is(c, "pairing", "interleaved")))
        return oracle_fail(c, "partial or pairing: no formula for it");
    if (!n->positions || n->positions->rank != 1 || !n->x || n->x->rank != 3 || !n->weight ||
        !n->eps || !n->y)
        return oracle_fail(c, "a tensor is missing or has another rank");
    n->heads = n->x->shape[1];
    const int64_t shape[] = {n->positions->count, n->heads, n->dim};
    n->v = _arb_vec_init(n->dim);
    return oracle_shaped(c, n->x, 3, shape) && oracle_shaped(c, n->y, 3, shape) &&
           oracle_shaped(c, n->weight, 1, &n->dim) && oracle_shaped(c, n->eps, 0, NULL);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct norms n = {.tally = t, .c = c};
    arb_struct *const used[] = {n.one, n.two, n.cosine, n.sine, n.factor, n.square};
    for (int k = 0; k < 6; k++)
        arb_init(used[k]);
    t->n_cases++;
    if (rope_frequencies_init(&n.f, c) && read_case(&n))
        for (; n.row < n.positions->count * n.heads; n.row++)
            oracle_raise(row_unit, &n);
    if (c->error[0])
        oracle_tally_mismatch(t, "%s: %s", c->id, c->error);
    t->n_values += n.y ? n.y->count : 0;
    for (int64_t k = 0; n.y && k < n.y->count; k++)
        if (n.y->state[k] == ORACLE_PENDING)
            oracle_tally_mismatch(t, "%s: y[%lld] was not judged", c->id, (long long)k);
    rope_frequencies_clear(&n.f);
    if (n.v)
        _arb_vec_clear(n.v, n.dim);
    for (int k = 0; k < 6; k++)
        arb_clear(used[k]);
}

int main(void)
{
    struct oracle_tally tally;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    oracle_tally_init(&tally);
    while ((length = getline(&line, &room, stdin)) > 0) {
        struct oracle_case c;
        oracle_case_init(&c, "line");
        if (oracle_read_json(&c, line, (size_t)length))
            judge(&tally, &c);
        else
            oracle_tally_mismatch(&tally, "%s", c.error);
        oracle_case_clear(&c);
    }
    free(line);
    flint_cleanup();
    for (int64_t k = 0; k < tally.n_mismatches && k < ORACLE_MAX_SHOWN; k++)
        printf("MISMATCH %s\n", tally.shown[k]);
    printf("norms: %lld cases, %lld values, %lld exact, %lld ties, nearest boundary %.3g ulp, "
           "%lld mismatches\n", (long long)tally.n_cases, (long long)tally.n_values,
           (long long)tally.n_exact, (long long)tally.n_ties, tally.nearest_ulp,
           (long long)tally.n_mismatches);
    return tally.n_mismatches || tally.n_cases == 0 ? 1 : 0;
}
