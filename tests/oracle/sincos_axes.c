/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal tables of several position axes, as MAE, diffusers and DETR build them.
 *
 * Each axis a has D_a channels, the sines and cosines of c_a w_j, j < D_a / 2:
 *     w_j = m (b/m)^(-2j/D_a), or m (b/m)^(-j/(D_a/2 - 1)) (half_minus_one)
 *     c_a = (p_a + offset) / (L_a + eps) times 1, 2 pi (turn) or pi / 2 (quarter_turn);
 * sin, cos, sin, ... or all of one and then the other inside the block; blocks in the order of the
 * axes, or with the last two exchanged, or from the last axis to the first. */
#include "sincos_axes.h"

#include <string.h>

#define MAX_AXES 8

struct sincos {
    struct oracle_tally *tally;
    struct oracle_case *c;
    struct oracle_tensor *positions, *mask, *x, *table, *y;
    int64_t dim, n, n_heads, n_axes;
    int64_t width[MAX_AXES], first[MAX_AXES]; /* by axis */
    fmpq length[MAX_AXES];                    /* L + eps, or 1 */
    double base, smallest, table_scale, offset;
    bool half, interleaved, flipped, root;
    int unit; /* 0 radian, 1 turn, 2 quarter turn */
    int64_t row, axis, j;
};

static bool judge_channel(struct sincos *s, int64_t channel, const arb_t value, slong prec)
{
    bool done = true;
    arb_t sum, root;
    if (s->table)
        done &= oracle_judge(s->tally, s->c, s->table, s->row * s->dim + channel, value, prec);
    arb_init(sum);
    arb_init(root);
    for (int64_t h = 0; s->y && h < s->n_heads; h++) {
        const int64_t at = (s->row * s->n_heads + h) * s->dim + channel;
        arb_set_d(sum, s->x->data[at]);
        if (s->root) {
            arb_sqrt_ui(root, (ulong)s->dim, prec + 64);
            arb_mul(sum, sum, root, prec + 64);
        }
        arb_add(sum, sum, value, prec + 2200);
        done &= oracle_judge(s->tally, s->c, s->y, at, sum, prec);
    }
    arb_clear(sum);
    arb_clear(root);
    return done;
}

/* (p + offset) / (L + eps), a fraction. */
static void coordinate(fmpq_t out, const struct sincos *s)
{
    fmpq_t offset;
    fmpq_init(offset);
    oracle_fmpq_set_double(out, s->positions->data[s->axis * s->n + s->row]);
    oracle_fmpq_set_double(offset, s->offset);
    fmpq_add(out, out, offset);
    fmpq_div(out, out, s->length + s->axis);
    fmpq_clear(offset);
}

/* The power of w_j: its numerator and denominator. */
static void exponent(int64_t *num, int64_t *den, const struct sincos *s)
{
    const int64_t width = s->width[s->axis];
    *num = s->half ? s->j : 2 * s->j;
    *den = s->half ? width / 2 - 1 : width;
}

static void in_radians(arb_t sine, arb_t cosine, const struct sincos *s, const fmpq_t c, slong prec)
{
    int64_t num, den;
    arb_t w, part;
    fmpq_t e;
    exponent(&num, &den, s);
    arb_init(w);
    arb_init(part);
    fmpq_init(e);
    fmpq_set_si(e, -num, (ulong)den);
    oracle_pow(w, s->base, e, prec + 64);
    if (s->smallest != 1) { /* m (b/m)^-e = b^-e m^e m */
        fmpq_neg(e, e);
        oracle_pow(part, s->smallest, e, prec + 64);
        arb_mul(w, w, part, prec + 64);
        arb_set_d(part, s->smallest);
        arb_mul(w, w, part, prec + 64);
    }
    oracle_arb_set_fmpq(part, c, prec + 64);
    arb_mul(w, w, part, prec + 64);
    arb_sin_cos(sine, cosine, w, prec + 64);
    arb_clear(w);
    arb_clear(part);
    fmpq_clear(e);
}

/* sin and cos of pi times 2 c w, or c w / 2: exact where w is a fraction and the value is one. */
static void in_turns(arb_t sine, arb_t cosine, const struct sincos *s, const fmpq_t c, slong prec)
{
    int64_t num, den;
    struct oracle_power w;
    fmpq_t halves;
    arb_t angle, part;
    exponent(&num, &den, s);
    oracle_power_init(&w, s->base, num, den);
    fmpq_init(halves);
    arb_init(angle);
    arb_init(part);
    if (s->unit == 1)
        fmpq_mul_2exp(halves, c, 1);
    else
        fmpq_div_2exp(halves, c, 1);
    if (w.rational) {
        fmpq_mul(halves, halves, w.value);
        arb_sin_cos_pi_fmpq(sine, cosine, halves, prec + 64);
    } else {
        oracle_power_arb(angle, &w, prec + 96);
        oracle_arb_set_fmpq(part, halves, prec + 96);
        arb_mul(angle, angle, part, prec + 96);
        arb_sin_cos_pi(sine, cosine, angle, prec + 64);
    }
    arb_clear(angle);
    arb_clear(part);
    fmpq_clear(halves);
    oracle_power_clear(&w);
}

static bool wave(void *ctx, slong prec)
{
    struct sincos *s = ctx;
    arb_t sine, cosine, scale;
    fmpq_t c;
    arb_init(sine);
    arb_init(cosine);
    arb_init(scale);
    fmpq_init(c);
    coordinate(c, s);
    if (s->unit)
        in_turns(sine, cosine, s, c, prec);
    else
        in_radians(sine, cosine, s, c, prec);
    arb_set_d(scale, s->table_scale);
    arb_mul(sine, sine, scale, prec + 64);
    arb_mul(cosine, cosine, scale, prec + 64);
    const int64_t first = s->first[s->axis], half = s->width[s->axis] / 2, j = s->j;
    bool done = judge_channel(s, first + (s->interleaved ? 2 * j : s->flipped ? half + j : j), sine,
                              prec);
    done &= judge_channel(s, first + (s->interleaved ? 2 * j + 1 : s->flipped ? j : half + j),
                          cosine, prec);
    arb_clear(sine);
    arb_clear(cosine);
    arb_clear(scale);
    fmpq_clear(c);
    return done;
}

static bool nothing(void *ctx, slong prec)
{
    struct sincos *s = ctx;
    arb_t zero;
    arb_init(zero);
    bool done = judge_channel(s, s->j, zero, prec);
    arb_clear(zero);
    return done;
}

/* Numbers of a list as the spec prints it, [4, 4] or 4,4; returns how many, -1: too many. */
static int64_t read_list(double *out, const char *text)
{
    int64_t n = 0;
    while (text && *text) {
        char *end;
        double x = strtod(text, &end);
        if (end == text) {
            text++;
            continue;
        }
        if (n == MAX_AXES)
            return -1;
        out[n++] = x;
        text = end;
    }
    return n;
}

static bool read_axes(struct sincos *s)
{
    struct oracle_case *c = s->c;
    double dims[MAX_AXES] = {0}, lengths[MAX_AXES] = {0};
    const bool divides = oracle_has(c, "axes_lengths");
    const bool exchanged = oracle_is(c, "axes_channels", "column_first");
    const bool reversed = oracle_is(c, "axes_channels", "reversed");
    s->n_axes = read_list(dims, oracle_text(c, "axes_dims"));
    if (s->n_axes < 1 ||
        (divides && read_list(lengths, oracle_text(c, "axes_lengths")) != s->n_axes))
        return oracle_fail(c, "axes_dims or axes_lengths: not as many as axes");
    if (!exchanged && !reversed && !oracle_is(c, "axes_channels", "in_order"))
        return oracle_fail(c, "axes_channels: the oracle has no formula for it");
    int64_t at = 0;
    for (int64_t b = 0; b < s->n_axes; b++) {
        int64_t axis = reversed ? s->n_axes - 1 - b : b;
        if (exchanged && b == s->n_axes - 2)
            axis = b + 1;
        if (exchanged && b == s->n_axes - 1)
            axis = b - 1;
        s->width[axis] = (int64_t)dims[axis];
        s->first[axis] = at;
        at += s->width[axis];
        if (s->width[axis] % 2 || (s->half && s->width[axis] < 4))
            return oracle_fail(c, "axes_dims: odd, or too narrow");
    }
    for (int64_t axis = 0; axis < s->n_axes; axis++) {
        fmpq_t eps;
        fmpq_init(eps);
        fmpq_set_si(s->length + axis, 1, 1);
        if (divides) {
            oracle_fmpq_set_double(s->length + axis, lengths[axis]);
            oracle_fmpq_set_double(eps, oracle_real(c, "length_eps"));
            fmpq_add(s->length + axis, s->length + axis, eps);
        }
        fmpq_clear(eps);
    }
    return at == s->dim || oracle_fail(c, "axes_dims: another sum than dim");
}

static bool read_spec(struct sincos *s)
{
    struct oracle_case *c = s->c;
    s->dim = oracle_int(c, "dim");
    s->base = oracle_real(c, "base");
    s->smallest = oracle_real(c, "min_timescale");
    s->table_scale = oracle_real(c, "table_scale");
    s->offset = oracle_real(c, "offset");
    s->root = oracle_is(c, "x_scale", "sqrt_dim");
    s->half = oracle_is(c, "exponent", "half_minus_one");
    s->interleaved = oracle_is(c, "order", "interleaved");
    s->flipped = oracle_is(c, "order", "flipped");
    s->unit = oracle_is(c, "angle_unit", "turn") ? 1 : 0;
    if (oracle_is(c, "angle_unit", "quarter_turn"))
        s->unit = 2;
    if (c->error[0])
        return false;
    if ((!s->interleaved && !s->flipped && !oracle_is(c, "order", "concat")) ||
        (!s->half && !oracle_is(c, "exponent", "d")) ||
        (!s->root && !oracle_is(c, "x_scale", "one")) ||
        (!s->unit && !oracle_is(c, "angle_unit", "radian")))
        return oracle_fail(c, "order, exponent, x_scale or angle_unit: no formula for it");
    if (oracle_has(c, "padding_idx") || (s->unit && s->smallest != 1))
        return oracle_fail(c, "padding_idx or min_timescale: no formula for it with axes");
    return read_axes(s);
}

static bool read_tensors(struct sincos *s)
{
    struct oracle_case *c = s->c;
    s->positions = oracle_input(c, "positions");
    s->mask = oracle_input(c, "mask");
    s->x = oracle_input(c, "x");
    s->table = oracle_output(c, "table");
    s->y = oracle_output(c, "y");
    if (!s->positions || s->positions->rank != (s->n_axes > 1 ? 2 : 1) ||
        s->positions->count % s->n_axes != 0 ||
        (s->n_axes > 1 && s->positions->shape[0] != s->n_axes) || (s->y && !s->x))
        return oracle_fail(c, "positions of n_axes rows, or x, missing");
    s->n = s->positions->count / s->n_axes;
    if (s->mask && s->mask->count != s->n)
        return oracle_fail(c, "mask: another shape than [n]");
    const int rank = s->x && s->x->rank == 3 ? 3 : 2;
    s->n_heads = rank == 3 ? s->x->shape[1] : 1;
    const int64_t x2[2] = {s->n, s->dim}, x3[3] = {s->n, s->n_heads, s->dim};
    const int64_t *shape = rank == 3 ? x3 : x2;
    return (!s->table || oracle_shaped(c, s->table, 2, x2)) &&
           (!s->y || (oracle_shaped(c, s->x, rank, shape) && oracle_shaped(c, s->y, rank, shape)));
}

static void judge_row(struct sincos *s)
{
    if (s->mask && s->mask->data[s->row] == 0) {
        for (s->j = 0; s->j < s->dim; s->j++)
            oracle_raise(nothing, s);
        return;
    }
    for (s->axis = 0; s->axis < s->n_axes; s->axis++)
        for (s->j = 0; s->j < s->width[s->axis] / 2; s->j++)
            oracle_raise(wave, s);
}

void sincos_axes_judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct sincos s;
    memset(&s, 0, sizeof s);
    s.tally = t;
    s.c = c;
    for (int axis = 0; axis < MAX_AXES; axis++)
        fmpq_init(s.length + axis);
    if (read_spec(&s) && read_tensors(&s))
        for (s.row = 0; s.row < s.n; s.row++)
            judge_row(&s);
    for (int axis = 0; axis < MAX_AXES; axis++)
        fmpq_clear(s.length + axis);
}
