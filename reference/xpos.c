/* SPDX-License-Identifier: Apache-2.0 */
/* xPos (Sun et al., arXiv 2212.10554): rope whose pair i is scaled, too,
 *
 *     queries by zeta_i^((p - c) / B), keys by zeta_i^(-(p - c) / B),
 *     zeta_i = (2i / r + gamma) / (1 + gamma) = (10 i + 2 r) / (7 r),  gamma = 2/5,
 *
 * at position p, so that a score has zeta_i^((p_q - p_k) / B): distances are damped, the more the
 * higher the frequency, and the centre c drops out. B = xpos_scale_base, c = xpos_center.
 *
 * Exactness: zeta_i is rational and so is (p - c) / B, so the scale is algebraic. Where the pair
 * turns (p != 0) cos and sin are transcendental and nothing ties. At p = 0 the result is x times
 * the scale, which may be a double or half way between two: only where the scale is rational,
 * a^n / b^n in lowest terms after a root that both have. x a^n / b^n has 54 bits at most only if
 * b^n divides x's 53 and a^n fits 54, so n <= 54 unless a = 1, b = 2. A double-double of the scale
 * itself needs the same where it is dyadic with 107 bits at most: 3^n, n <= 68. Those powers are
 * formed exactly. */
#include "xpos.h"

#include "scaling.h"
#include "whole.h"

#include <math.h>

#define MAX_EXACT_POWER 70
#define EXACT_BITS 2200 /* any difference of two positions, any product above */
#define MAX_SCALES (1 << 19)
#define REACH 512       /* scale bases: (7/2)^512 is 4e278 */

bool posref_xpos_on(const struct posref_spec *spec)
{
    return spec->given[POSREF_FIELD_XPOS_SCALE_BASE];
}

enum posref_status posref_xpos_check(struct posref_spec *spec, struct posref_error *err)
{
    static const enum posref_field own[] = {POSREF_FIELD_XPOS_CENTER, POSREF_FIELD_XPOS_SIDE};
    for (size_t n = 0; n < sizeof own / sizeof *own; n++) {
        if (!posref_xpos_on(spec) && spec->given[own[n]])
            return posref_fail(err, POSREF_BAD_INPUT, posref_field_def(own[n])->name,
                               "needs xpos_scale_base");
        spec->given[own[n]] = posref_xpos_on(spec);
    }
    if (!posref_xpos_on(spec))
        return POSREF_OK;
    const char *other = posref_spec_axes(spec) > 1 ? "positions of several axes"
                        : posref_scaling_def(spec->scaling)->magnitude
                            ? "a scaling that has an attention factor"
                        : spec->pairing == POSREF_PAIRING_MISMATCHED ? "pairing=mismatched"
                        : spec->partial == POSREF_PARTIAL_PROPORTIONAL ? "partial=proportional"
                        : spec->attention_kind == POSREF_ATTENTION_LINEAR
                            ? "attention_kind=linear" : NULL;
    return other ? posref_fail(err, POSREF_BAD_INPUT, "xpos_scale_base",
                               "xPos is not defined with %s", other) : POSREF_OK;
}

enum posref_status posref_xpos_reach(const struct posref_spec *spec, const char *name,
                                     const double *positions, int64_t n, double from,
                                     struct posref_error *err)
{
    for (int64_t k = 0; posref_xpos_on(spec) && k < n; k++)
        if (fabs(positions[k] - from) > REACH * spec->xpos_scale_base)
            return posref_fail(err, POSREF_BAD_INPUT, name,
                               "%.15g is more than %d xpos_scale_base from %.15g: the scale may "
                               "leave the doubles", positions[k], REACH, from);
    return POSREF_OK;
}

enum posref_status posref_xpos_count(const struct posref_spec *spec, const char *name,
                                     int64_t count, struct posref_error *err)
{
    if (!posref_xpos_on(spec) || count <= MAX_SCALES)
        return POSREF_OK;
    return posref_fail(err, POSREF_BAD_INPUT, name, "xPos takes at most %d scales of pairs in one "
                       "call, got %lld", MAX_SCALES, (long long)count);
}

/* zeta_i = num / den in lowest terms; num <= den < 2^18. */
static void zeta(int64_t *num, int64_t *den, const struct posref_spec *spec, int i)
{
    const int64_t a = 10 * (int64_t)i + 2 * (int64_t)spec->rotary_dim;
    const int64_t b = 7 * (int64_t)spec->rotary_dim, common = posref_whole_gcd(a, b);
    *num = a / common;
    *den = b / common;
}

static void times_power(struct posref_ball *x, int64_t base, int64_t n)
{
    struct posref_ball factor;
    posref_ball_set_int(&factor, base);
    for (int64_t k = 0; k < n; k++)
        posref_ball_mul(x, x, &factor, EXACT_BITS);
}

/* exponent = whole, a small whole number, exactly. */
static bool is_whole(int64_t *whole, const struct posref_ball *exponent)
{
    struct posref_ball back;
    if (!posref_ball_floor(whole, exponent))
        return false;
    posref_ball_set_int(&back, *whole);
    return posref_ball_compare(&back, exponent) == 0;
}

/* x (num / den)^(offset / base) where that is rational and may tie; false: it is not, or cannot.
 * `near` is the exponent as a double: most are told from whole ones by it. */
static bool times_exactly(struct posref_ball *x, int64_t num, int64_t den,
                          const struct posref_ball *offset, double base, double near,
                          unsigned prec_bits)
{
    struct posref_ball exponent, divisor;
    posref_ball_set_double(&divisor, base);
    for (int t = 1; t <= 18; t++) {
        if (fabs(rint(t * near) - t * near) > 1e-6)
            continue;
        const int64_t a = posref_whole_root(num, t), b = posref_whole_root(den, t);
        struct posref_ball scaled, under;
        int64_t n;
        if (!a || !b)
            continue;
        posref_ball_set_int(&scaled, t);
        posref_ball_mul(&scaled, &scaled, offset, EXACT_BITS);
        if (!posref_ball_div(&exponent, &scaled, &divisor, EXACT_BITS) || !is_whole(&n, &exponent))
            continue;
        if (a == 1 && b == 2) {
            posref_ball_scale2(x, x, -n);
            return true;
        }
        if (n > MAX_EXACT_POWER || n < -MAX_EXACT_POWER)
            return false;
        times_power(x, n > 0 ? a : b, n > 0 ? n : -n);
        posref_ball_set_int(&under, 1);
        times_power(&under, n > 0 ? b : a, n > 0 ? n : -n);
        return posref_ball_div(x, x, &under, prec_bits > 1200 ? prec_bits : 1200);
    }
    return false;
}

/* x (num / den)^(offset / base) = x exp(offset / base ln(num / den)); |offset / base| <= 1024.
 * near: offset / base as a double where a rational result matters, else NaN. */
static enum posref_status times_scale(struct posref_ball *x, const struct posref_spec *spec, int i,
                                      const struct posref_ball *offset, double near,
                                      unsigned prec_bits)
{
    const unsigned bits = prec_bits + 32 > POSREF_BALL_MAX_BITS ? POSREF_BALL_MAX_BITS
                                                                : prec_bits + 32;
    struct posref_ball exponent, base, zero;
    int64_t num, den;
    posref_ball_set_int(&zero, 0);
    if (posref_ball_compare(offset, &zero) == 0)
        return POSREF_OK;
    zeta(&num, &den, spec, i);
    if (!isnan(near) &&
        times_exactly(x, num, den, offset, spec->xpos_scale_base, near, prec_bits))
        return POSREF_OK;
    posref_ball_set_double(&base, spec->xpos_scale_base);
    if (!posref_ball_div(&exponent, offset, &base, bits))
        return POSREF_INTERNAL;
    posref_ball_ratio(&base, num, den, bits);
    if (!posref_ball_log(&base, &base, bits))
        return POSREF_INTERNAL;
    posref_ball_mul(&exponent, &exponent, &base, bits);
    posref_ball_exp(&exponent, &exponent, bits);
    posref_ball_mul(x, x, &exponent, prec_bits);
    return POSREF_OK;
}

/* The signed distance that counts, exactly; returns it in scale bases, nearly. */
static double offset_from_center(struct posref_ball *out, const struct posref_spec *spec,
                                 double position)
{
    struct posref_ball center;
    posref_ball_set_double(out, position);
    posref_ball_set_double(&center, spec->xpos_center);
    posref_ball_sub(out, out, &center, EXACT_BITS);
    const double near = (position - spec->xpos_center) / spec->xpos_scale_base;
    if (spec->xpos_side != POSREF_XPOS_KEY)
        return near;
    posref_ball_neg(out, out);
    return -near;
}

enum posref_status posref_xpos_times(struct posref_ball *x, const struct posref_spec *spec, int i,
                                     double position, unsigned prec_bits)
{
    struct posref_ball offset;
    const double near = offset_from_center(&offset, spec, position);
    return times_scale(x, spec, i, &offset, position == 0 ? near : (double)NAN, prec_bits);
}

enum posref_status posref_xpos_score(struct posref_ball *x, const struct posref_spec *spec, int i,
                                     const struct posref_ball *offset, unsigned prec_bits)
{
    struct posref_ball back;
    posref_ball_neg(&back, offset);
    return times_scale(x, spec, i, &back, (double)NAN, prec_bits);
}

struct scale_ctx {
    const struct posref_spec *spec;
    int i;
    double position, minus; /* subtracted, for the low part of a double-double */
};

static enum posref_status scale_ball(struct posref_ball *out, const void *ctx, unsigned prec_bits)
{
    const struct scale_ctx *c = ctx;
    struct posref_ball minus, offset;
    const double near = offset_from_center(&offset, c->spec, c->position);
    posref_ball_set_int(out, 1);
    enum posref_status status = times_scale(out, c->spec, c->i, &offset, near, prec_bits);
    posref_ball_set_double(&minus, c->minus);
    posref_ball_sub(out, out, &minus, prec_bits);
    return status;
}

enum posref_status posref_xpos_magnitude(struct posref_magnitude *out,
                                         const struct posref_spec *spec, int i, double position)
{
    struct scale_ctx ctx = {spec, i, position, 0};
    struct posref_ball ball, rest;
    enum posref_status status = scale_ball(&ball, &ctx, 192);
    if (status == POSREF_OK && !posref_ball_round(&out->hi, &ball))
        status = posref_ball_decide(&out->hi, scale_ball, &ctx);
    if (status != POSREF_OK)
        return status;
    ctx.minus = out->hi;
    posref_ball_set_double(&rest, out->hi);
    posref_ball_sub(&rest, &ball, &rest, 192);
    if (!posref_ball_round(&out->lo, &rest))
        status = posref_ball_decide(&out->lo, scale_ball, &ctx);
    out->is_one = ball.rad_man == 0 && out->hi == 1 && out->lo == 0;
    out->is_exact = out->is_one;
    return status;
}
