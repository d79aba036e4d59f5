/* SPDX-License-Identifier: Apache-2.0 */
/* Rope (arXiv 2104.09864): pair i of a head at position p is turned by the angle p w_i,
 *
 *   y1 = x1 c - x2 s,  y2 = x2 c + x1 s,  c = af cos(p w_i),  s = af sin(p w_i)
 *
 * direction inverse: s is negated. pairing, inside the R rotated channels:
 *   half                 reads and writes channels i, i + R/2
 *   interleaved          reads and writes channels 2i, 2i + 1
 *   interleaved_to_half  reads 2i, 2i + 1 and writes i, i + R/2 (DeepSeek-V3 in Hugging Face)
 *   mismatched           reads and writes 2i, 2i + 1; channel k takes c and s of pair k mod R/2
 *                        (V-JEPA 2: the table is tiled, the channels are interleaved)
 * The gradient of y with respect to x is the transpose of that linear map, dx = R^T dy:
 *   dx1 = dy1 c + dy2 s,  dx2 = dy2 c - dy1 s, read where y was written, written where x was read.
 * partial: the rotated channels are the first R (leading) or the last (trailing); proportional:
 * R = dim and the pairs from n_turning on stand still. Channels that nothing writes are copied.
 * attention_kind linear (section 3.3, eq. 19): phi = elu + 1 of q and k first; weights are products
 * of rotated phi(q) and phi(k), over the sum of products of phi(q) and phi(k) as they are.
 * xPos (arXiv 2212.10554, eq. 13 and its code): queries times zeta_i^((p - C)/B), keys times
 * zeta_i^(-(p - C)/B), zeta_i = (i/(R/2) + 0.4) / 1.4.
 * For p != 0 and w != 0 the angle is not 0 and c, s are not rational, so no output ties; at p = 0
 * everything is exact and Arb's radius is 0. */
#include "rope_axes.h"
#include "rope_heads.h"
#include "rope_table.h"

#include <math.h>
#include <stdlib.h>

struct rope {
    struct oracle_tally *tally;
    struct oracle_case *c;
    struct rope_frequencies f;
    int64_t dim, n_positions, n_heads;
    bool reads_half, writes_half, mismatched, inverse, xpos, xpos_key;
    double xpos_base, xpos_center;
    int64_t first; /* rotated channel */
    bool *written; /* [dim] of y */
    bool *reached; /* [dim] of dx */
    struct oracle_tensor *positions, *x, *inv_freq, *factor, *y, *dy, *dx;
    struct rope_table table;
    int64_t position, pair; /* the unit at hand */
    arb_t c_arb, s_arb, one, two;
};

static bool frequency_unit(void *ctx, slong prec)
{
    struct rope *r = ctx;
    rope_frequency(r->one, &r->f, r->pair, prec);
    return oracle_judge(r->tally, r->c, r->inv_freq, r->pair, r->one, prec);
}

static bool factor_unit(void *ctx, slong prec)
{
    struct rope *r = ctx;
    rope_attention_factor(r->one, &r->f, prec);
    return oracle_judge(r->tally, r->c, r->factor, 0, r->one, prec);
}

/* 1, -1, or 0: not known yet. sin 0 counts as +0. */
static int sign_of(const arb_t x)
{
    return arb_is_nonnegative(x) ? 1 : arb_is_negative(x) ? -1 : 0;
}

/* a cos +- b sin = 0 exactly: -0 iff both terms are -0 by the signs of their factors. */
static bool judge_zero(struct rope *r, struct oracle_tensor *y, int64_t at, double a, double b,
                       bool minus)
{
    int c = sign_of(r->c_arb), s = sign_of(r->s_arb);
    if (c == 0 || s == 0)
        return false;
    bool first = (signbit(a) != 0) != (c < 0), second = (signbit(b) != 0) != (s < 0);
    oracle_judge_zero(r->tally, r->c, y, at, first && second != minus);
    return true;
}

/* One of the two outputs of a pair: a cos +- b sin. */
static bool judge_channel(struct rope *r, struct oracle_tensor *y, int64_t at, double a, double b,
                          bool minus, slong prec)
{
    arb_set_d(r->one, a);
    arb_mul(r->one, r->one, r->c_arb, prec);
    arb_set_d(r->two, b);
    arb_mul(r->two, r->two, r->s_arb, prec);
    if (minus)
        arb_sub(r->one, r->one, r->two, prec);
    else
        arb_add(r->one, r->one, r->two, prec);
    if (arb_is_zero(r->one))
        return judge_zero(r, y, at, a, b, minus);
    return oracle_judge(r->tally, r->c, y, at, r->one, prec);
}

/* Member `which` of pair i: the channel. */
static int64_t member(const struct rope *r, bool half, int64_t i, int which)
{
    return r->first + (half ? i + which * r->f.n_pairs : 2 * i + which);
}

/* Output `which` of pair i, turned by c_arb and s_arb. */
static bool judge_output(struct rope *r, int64_t i, int which, slong prec)
{
    bool done = true;
    int64_t out = member(r, r->writes_half, i, which);
    r->written[out] = true;
    for (int64_t h = 0; h < r->n_heads; h++) {
        int64_t row = (r->position * r->n_heads + h) * r->dim;
        double x1 = r->x->data[row + member(r, r->reads_half, i, 0)];
        double x2 = r->x->data[row + member(r, r->reads_half, i, 1)];
        done &= which ? judge_channel(r, r->y, row + out, x2, x1, r->inverse, prec)
                      : judge_channel(r, r->y, row + out, x1, x2, !r->inverse, prec);
    }
    return done;
}

/* Both elements of dx that pair i contributes to. */
static bool judge_gradient(struct rope *r, int64_t i, slong prec)
{
    bool done = true;
    int64_t to1 = member(r, r->reads_half, i, 0), to2 = member(r, r->reads_half, i, 1);
    r->reached[to1] = r->reached[to2] = true;
    for (int64_t h = 0; h < r->n_heads; h++) {
        int64_t row = (r->position * r->n_heads + h) * r->dim;
        double g1 = r->dy->data[row + member(r, r->writes_half, i, 0)];
        double g2 = r->dy->data[row + member(r, r->writes_half, i, 1)];
        done &= judge_channel(r, r->dx, row + to1, g1, g2, r->inverse, prec);
        done &= judge_channel(r, r->dx, row + to2, g2, g1, !r->inverse, prec);
    }
    return done;
}

/* The outputs that turn by the angle of r->pair. */
static bool judge_turned(struct rope *r, slong prec)
{
    bool done = true;
    if (r->pair >= r->f.n_turning)
        return true;
    for (int which = 0; which < 2 && !r->mismatched; which++)
        done &= judge_output(r, r->pair, which, prec);
    if (!r->mismatched)
        return done;
    for (int64_t k = r->pair; k < r->f.r; k += r->f.n_pairs)
        done &= judge_output(r, k / 2, (int)(k % 2), prec);
    return done;
}

/* zeta_i^(sign (p - C)/B), sign -1 for keys: exactly where the exponent is whole. */
static void xpos_scale(arb_t out, const struct rope *r, int64_t i, double position, bool key,
                       slong prec)
{
    fmpq_t zeta, e, part;
    fmpq_init(zeta);
    fmpq_init(e);
    fmpq_init(part);
    fmpq_set_si(zeta, 10 * i + 2 * r->f.r, (ulong)(7 * r->f.r));
    oracle_fmpq_set_double(e, position);
    oracle_fmpq_set_double(part, r->xpos_center);
    fmpq_sub(e, e, part);
    oracle_fmpq_set_double(part, r->xpos_base);
    fmpq_div(e, e, part);
    if (key)
        fmpq_neg(e, e);
    if (fmpz_is_one(fmpq_denref(e)) &&
        fmpz_cmp_si(fmpq_numref(e), 200) < 0 && fmpz_cmp_si(fmpq_numref(e), -200) > 0) {
        fmpq_pow_si(zeta, zeta, fmpz_get_si(fmpq_numref(e)));
        arb_set_fmpq(out, zeta, prec);
    } else {
        arb_t base, power;
        arb_init(base);
        arb_init(power);
        arb_set_fmpq(base, zeta, prec + 32);
        arb_set_fmpq(power, e, prec + 32);
        arb_pow(out, base, power, prec + 32);
        arb_clear(base);
        arb_clear(power);
    }
    fmpq_clear(zeta);
    fmpq_clear(e);
    fmpq_clear(part);
}

static bool table_unit(void *ctx, slong prec)
{
    struct rope *r = ctx;
    bool done;
    rope_frequency(r->one, &r->f, r->pair, prec);
    arb_set_d(r->two, r->positions->data[r->position]);
    arb_mul(r->one, r->one, r->two, prec + 64);
    done = rope_table_angle(&r->table, r->tally, r->c, r->position, r->pair, r->one, prec);
    arb_sin_cos(r->s_arb, r->c_arb, r->one, prec);
    rope_attention_factor(r->one, &r->f, prec);
    if (r->xpos)
        xpos_scale(r->one, r, r->pair, r->positions->data[r->position], r->xpos_key, prec + 64);
    arb_mul(r->c_arb, r->c_arb, r->one, prec);
    arb_mul(r->s_arb, r->s_arb, r->one, prec);
    done &= rope_table_judge(&r->table, r->tally, r->c, r->position, r->pair, r->c_arb, r->s_arb,
                             prec);
    if (r->y)
        done &= judge_turned(r, prec);
    if (r->dx && r->pair < r->f.n_turning)
        done &= judge_gradient(r, r->pair, prec);
    return done;
}

static void judge_copied(struct rope *r, struct oracle_tensor *y, const struct oracle_tensor *x,
                         const bool *written)
{
    for (int64_t row = 0; y && row < r->n_positions * r->n_heads; row++)
        for (int64_t k = 0; k < r->dim; k++)
            if (!written[k])
                oracle_judge_copy(r->tally, r->c, y, row * r->dim + k, x->data[row * r->dim + k]);
}

/* c_arb and s_arb of a position and a frequency, the attention factor included. */
static void turned_by(struct rope *r, int64_t frequency, double position, const arb_t factor,
                      slong prec)
{
    rope_frequency(r->one, &r->f, frequency, prec);
    arb_set_d(r->two, r->inverse ? -position : position);
    arb_mul(r->one, r->one, r->two, prec + 128);
    arb_sin_cos(r->s_arb, r->c_arb, r->one, prec + 64);
    arb_mul(r->c_arb, r->c_arb, factor, prec + 64);
    arb_mul(r->s_arb, r->s_arb, factor, prec + 64);
}

/* One head's vector: pairs turn, the rest stays. */
static void rotate(arb_ptr y, void *ctx, arb_srcptr x, const double *position, bool key,
                   slong prec)
{
    struct rope *r = ctx;
    arb_t factor;
    arb_init(factor);
    rope_attention_factor(factor, &r->f, prec + 64);
    for (int64_t i = 0; i < r->f.n_turning; i++)
        for (int which = 0; which < 2; which++) {
            if (which == 0 && r->xpos)
                xpos_scale(factor, r, i, *position, key, prec + 128);
            if (which == 0 || r->mismatched)
                turned_by(r, r->mismatched ? (2 * i + which) % r->f.n_pairs : i, *position, factor,
                          prec);
            arb_ptr out = y + member(r, r->writes_half, i, which);
            arb_set(r->one, x + member(r, r->reads_half, i, which));
            arb_set(r->two, x + member(r, r->reads_half, i, 1 - which));
            arb_mul(out, r->one, r->c_arb, prec + 64);
            if (which)
                arb_addmul(out, r->two, r->s_arb, prec + 64);
            else
                arb_submul(out, r->two, r->s_arb, prec + 64);
        }
    arb_clear(factor);
}

static void judge_attention(struct rope *r)
{
    struct rope_heads heads = {.tally = r->tally, .c = r->c, .dim = r->dim, .n_axes = 1, .ctx = r,
                               .rotate = rotate};
    rope_heads_judge(&heads);
}

static bool check_shapes(struct rope *r)
{
    struct oracle_case *c = r->c;
    const struct oracle_tensor *rows = r->x ? r->x : r->dy;
    r->n_heads = rows && rows->rank == 3 ? rows->shape[1] : 1;
    int64_t x2[2] = {r->n_positions, r->dim}, x3[3] = {r->n_positions, r->n_heads, r->dim};
    int rank = rows && rows->rank == 3 ? 3 : 2;
    const int64_t *shape = rank == 3 ? x3 : x2;
    if ((rope_table_any(&r->table) || r->y || r->dx) && !(r->positions && r->positions->rank == 1))
        return oracle_fail(c, "no positions of rank 1");
    if ((r->y && !r->x) || (r->dx && !r->dy))
        return oracle_fail(c, "y without x, or dx without dy");
    if (r->dx && r->mismatched)
        return oracle_fail(c, "the gradient of mismatched tables is not offered");
    return (!r->inv_freq || oracle_shaped(c, r->inv_freq, 1, &r->f.n_pairs)) &&
           (!r->factor || oracle_shaped(c, r->factor, 0, NULL)) &&
           rope_table_shaped(&r->table, c, r->n_positions, r->f.n_pairs) &&
           (!r->dx || (oracle_shaped(c, r->dy, rank, shape) &&
                       oracle_shaped(c, r->dx, rank, shape))) &&
           (!r->y || (oracle_shaped(c, r->x, rank, shape) && oracle_shaped(c, r->y, rank, shape)));
}

static bool read_layout(struct rope *r)
{
    struct oracle_case *c = r->c;
    bool to_half = oracle_is(c, "pairing", "interleaved_to_half");
    bool trailing = oracle_is(c, "partial", "trailing");
    bool proportional = oracle_is(c, "partial", "proportional");
    r->dim = oracle_int(c, "dim");
    r->reads_half = oracle_is(c, "pairing", "half");
    r->writes_half = r->reads_half || to_half;
    r->mismatched = oracle_is(c, "pairing", "mismatched");
    r->inverse = oracle_is(c, "direction", "inverse");
    if (!r->writes_half && !r->mismatched && !oracle_is(c, "pairing", "interleaved"))
        return oracle_fail(c, "pairing: the oracle has no formula for it");
    if (!r->inverse && !oracle_is(c, "direction", "forward"))
        return oracle_fail(c, "direction: the oracle has no formula for it");
    if (!trailing && !proportional && !oracle_is(c, "partial", "leading"))
        return oracle_fail(c, "partial: the oracle has no formula for it");
    r->xpos = oracle_has(c, "xpos_scale_base");
    r->xpos_base = r->xpos ? oracle_real(c, "xpos_scale_base") : 1;
    r->xpos_center = r->xpos ? oracle_real(c, "xpos_center") : 0;
    r->xpos_key = r->xpos && oracle_is(c, "xpos_side", "key");
    if (r->xpos && (proportional || r->mismatched || !(r->xpos_base > 0) ||
                    !(r->xpos_key || oracle_is(c, "xpos_side", "query"))))
        return oracle_fail(c, "xpos: side, base or pairing out of range");
    if (proportional && (to_half || r->mismatched))
        return oracle_fail(c, "proportional with this pairing is not defined");
    r->first = trailing ? r->dim - r->f.r : 0;
    if (r->dim < 2 || r->dim > 1 << 20 || r->first < 0 || r->f.r > r->dim)
        return oracle_fail(c, "dim or rotary_dim out of range");
    r->written = calloc((size_t)r->dim, sizeof *r->written);
    r->reached = calloc((size_t)r->dim, sizeof *r->reached);
    return (r->written && r->reached) || oracle_fail(c, "no memory");
}

static bool read_case(struct rope *r)
{
    struct oracle_case *c = r->c;
    if (!read_layout(r) || !rope_table_read(&r->table, c))
        return false;
    r->positions = oracle_input(c, "positions");
    r->x = oracle_input(c, "x");
    r->inv_freq = oracle_output(c, "inv_freq");
    r->factor = oracle_output(c, "attention_factor");
    r->y = oracle_output(c, "y");
    r->dy = oracle_input(c, "dy");
    r->dx = oracle_output(c, "dx");
    r->n_positions = r->positions ? r->positions->count : 0;
    return check_shapes(r);
}

static void judge(struct oracle_tally *t, struct oracle_case *c)
{
    struct rope r = {.tally = t, .c = c};
    if (axes_present(c)) {
        axes_judge(t, c);
        return;
    }
    arb_init(r.c_arb);
    arb_init(r.s_arb);
    arb_init(r.one);
    arb_init(r.two);
    if (rope_frequencies_init(&r.f, c) && read_case(&r)) {
        for (r.pair = 0; r.inv_freq && r.pair < r.f.n_pairs; r.pair++)
            oracle_raise(frequency_unit, &r);
        if (r.factor)
            oracle_raise(factor_unit, &r);
        const bool turns = rope_table_any(&r.table) || r.y || r.dx;
        for (r.position = 0; turns && r.position < r.n_positions; r.position++)
            for (r.pair = 0; r.pair < r.f.n_pairs; r.pair++)
                oracle_raise(table_unit, &r);
        judge_copied(&r, r.y, r.x, r.written);
        judge_copied(&r, r.dx, r.dy, r.reached);
        judge_attention(&r);
    }
    rope_frequencies_clear(&r.f);
    free(r.written);
    free(r.reached);
    arb_clear(r.c_arb);
    arb_clear(r.s_arb);
    arb_clear(r.one);
    arb_clear(r.two);
}

const struct oracle_scheme oracle_rope = {"rope", judge};
