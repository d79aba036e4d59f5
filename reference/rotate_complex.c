/* SPDX-License-Identifier: Apache-2.0 */
/* Rope as complex multiplication: (x1 + i x2) * A * (e^{i theta})^p. See plan.h. */
#include "plan.h"

struct complex_ball {
    struct posref_ball re, im;
};

static void multiply(struct complex_ball *out, const struct complex_ball *a,
                     const struct complex_ball *b, unsigned prec_bits)
{
    struct posref_ball rr, ii, ri, ir;
    posref_ball_mul(&rr, &a->re, &b->re, prec_bits);
    posref_ball_mul(&ii, &a->im, &b->im, prec_bits);
    posref_ball_mul(&ri, &a->re, &b->im, prec_bits);
    posref_ball_mul(&ir, &a->im, &b->re, prec_bits);
    posref_ball_sub(&out->re, &rr, &ii, prec_bits);
    posref_ball_add(&out->im, &ri, &ir, prec_bits);
}

/* base^exponent by repeated squaring, exponent >= 0. */
static void power(struct complex_ball *out, struct complex_ball *base, uint64_t exponent,
                  unsigned prec_bits)
{
    posref_ball_set_int(&out->re, 1);
    posref_ball_set_int(&out->im, 0);
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            multiply(out, out, base, prec_bits);
        multiply(base, base, base, prec_bits);
    }
}

struct product_ctx {
    const struct posref_frequencies *of;
    int frequency;
    double position, x1, x2;
    bool imaginary;
};

static enum posref_status product_ball(struct posref_ball *out, const void *ctx,
                                       unsigned prec_bits)
{
    const struct product_ctx *c = ctx;
    struct complex_ball unit, turned, z;
    struct posref_ball magnitude;
    /* The power doubles the error with each of up to 31 squarings. */
    const unsigned work_bits = prec_bits + 64;
    enum posref_status status = posref_frequencies_cos_sin_ball(&unit.re, &unit.im, c->of,
                                                                c->frequency, 1, work_bits);
    if (status == POSREF_OK)
        status = posref_frequencies_magnitude_ball(&magnitude, c->of, work_bits);
    /* e^{i theta} carries the magnitude once already: divide it out before the power. */
    if (status != POSREF_OK || !posref_ball_div(&unit.re, &unit.re, &magnitude, work_bits) ||
        !posref_ball_div(&unit.im, &unit.im, &magnitude, work_bits))
        return status != POSREF_OK ? status : POSREF_INTERNAL;
    if (c->position < 0)
        posref_ball_neg(&unit.im, &unit.im); /* e^{-i theta} is the conjugate */
    power(&turned, &unit, (uint64_t)(c->position < 0 ? -c->position : c->position), work_bits);
    posref_ball_mul(&turned.re, &turned.re, &magnitude, work_bits);
    posref_ball_mul(&turned.im, &turned.im, &magnitude, work_bits);
    posref_ball_set_double(&z.re, c->x1);
    posref_ball_set_double(&z.im, c->x2);
    multiply(&z, &z, &turned, work_bits);
    posref_ball_set(out, c->imaginary ? &z.im : &z.re);
    return POSREF_OK;
}

enum posref_status posref_rotate_complex(double *y1, double *y2,
                                         const struct posref_frequencies *of, int frequency,
                                         double position, double x1, double x2)
{
    struct product_ctx ctx = {of, frequency, position, x1, x2, false};
    double real;
    enum posref_status status = posref_ball_decide(&real, product_ball, &ctx);
    if (status != POSREF_OK)
        return status;
    ctx.imaginary = true;
    status = posref_ball_decide(y2, product_ball, &ctx);
    if (status == POSREF_OK)
        *y1 = real;
    return status;
}
