/* SPDX-License-Identifier: Apache-2.0 */
/* Frequencies, cosines and sines of a rope over several axes. */
#include "rope_axes.h"

#include <math.h>

/* x = 2^e: e, else false. */
static bool exponent_of_two(int *e, double x)
{
    bool power = frexp(x, e) == 0.5;
    --*e;
    return power;
}

/* In the ladder's unit. Odd parts of base, factor and divisor all stand in the denominator, so a
 * product of powers can tie only when both are powers of two: then it is one power, exactly. */
static void in_unit(arb_t out, const struct axes *a, int64_t k, slong prec)
{
    const struct axes_column *column = &a->column[k];
    int of_base, of_extra;
    arb_t part;
    arb_init(part);
    if (column->extra_base == 1) {
        oracle_power_arb(out, &column->power, prec);
    } else if (exponent_of_two(&of_base, column->power.base) &&
               exponent_of_two(&of_extra, column->extra_base)) {
        fmpq_t e, other;
        fmpq_init(e);
        fmpq_init(other);
        fmpq_mul_si(e, column->power.exponent, of_base);
        fmpq_mul_si(other, column->extra, of_extra);
        fmpq_add(e, e, other);
        oracle_pow(out, 2, e, prec);
        fmpq_clear(e);
        fmpq_clear(other);
    } else {
        oracle_power_arb(out, &column->power, prec);
        oracle_pow(part, column->extra_base, column->extra, prec);
        arb_mul(out, out, part, prec);
    }
    if (column->divisor != 1) {
        arb_set_d(part, column->divisor);
        arb_div(out, out, part, prec);
    }
    arb_clear(part);
}

void axes_frequency(arb_t out, const struct axes *a, int64_t column, slong prec)
{
    arb_t pi;
    if (a->scaled) {
        rope_frequency(out, &a->f, a->column[column].shared, prec);
        return;
    }
    in_unit(out, a, column, prec + 64);
    if (a->unit == AXES_RADIAN)
        return;
    arb_init(pi);
    arb_const_pi(pi, prec + 64);
    arb_mul_2exp_si(pi, pi, a->unit == AXES_TURN ? 1 : -1);
    arb_mul(out, out, pi, prec + 64);
    arb_clear(pi);
}

/* Counted in turns: cos and sin of pi (2 p w), w rational. */
static void rational_turns(arb_t cosine, arb_t sine, int *part, const struct axes *a,
                           const struct axes_column *column, double position, slong prec)
{
    fmpq_t x;
    fmpq_init(x);
    oracle_fmpq_set_double(x, position);
    fmpq_mul(x, x, column->power.value);
    if (a->unit == AXES_QUARTER)
        fmpq_div_2exp(x, x, 2);
    if (fmpz_cmp_si(fmpq_denref(x), 24) <= 0)
        *part = (int)fmpz_get_si(fmpq_denref(x));
    fmpq_mul_2exp(x, x, 1);
    arb_sin_cos_pi_fmpq(sine, cosine, x, prec);
    fmpq_clear(x);
}

void axes_cos_sin(arb_t cosine, arb_t sine, int *part, const struct axes *a, int64_t column,
                  double position, slong prec)
{
    const struct axes_column *at = &a->column[column];
    arb_t angle, p;
    *part = 0;
    if (a->unit != AXES_RADIAN && at->power.rational) {
        rational_turns(cosine, sine, part, a, at, position, prec);
        return;
    }
    arb_init(angle);
    arb_init(p);
    arb_set_d(p, position);
    if (a->unit == AXES_RADIAN) {
        axes_frequency(angle, a, column, prec);
        arb_mul(angle, angle, p, prec + 64);
        arb_sin_cos(sine, cosine, angle, prec);
    } else {
        in_unit(angle, a, column, prec + 64);
        arb_mul(angle, angle, p, prec + 64);
        arb_mul_2exp_si(angle, angle, a->unit == AXES_TURN ? 1 : -1);
        arb_sin_cos_pi(sine, cosine, angle, prec);
    }
    arb_clear(angle);
    arb_clear(p);
}
