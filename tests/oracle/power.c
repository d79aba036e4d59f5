/* SPDX-License-Identifier: Apache-2.0 */
/* Powers of a double with a rational exponent, by Arb; exactly where the result is rational.
 *
 * base = m * 2^e with m odd. With p/q in lowest terms base^(p/q) is rational iff base is the q-th
 * power of a rational, which is iff q divides e and m is the q-th power of an integer. */
#include "oracle.h"

#include <math.h>

void oracle_fmpq_set_double(fmpq_t out, double x)
{
    arf_t a;
    arf_init(a);
    arf_set_d(a, x);
    arf_get_fmpq(out, a);
    arf_clear(a);
}

void oracle_arb_set_fmpq(arb_t out, const fmpq_t x, slong prec)
{
    arb_set_fmpq(out, x, prec); /* a dyadic fraction that fits is exact: radius 0 */
}

/* base^(p/q), p and q > 0, as a fraction; false when it is irrational. */
static bool rational_power(fmpq_t out, double base, const fmpq_t exponent)
{
    fmpq_t x;
    fmpz_t root, back;
    fmpq_init(x);
    fmpz_init(root);
    fmpz_init(back);
    oracle_fmpq_set_double(x, base);
    bool ok = fmpz_fits_si(fmpq_numref(exponent)) && fmpz_fits_si(fmpq_denref(exponent)) &&
              fmpz_cmp_si(fmpq_denref(exponent), 1100) <= 0;
    fmpz *part[2] = {fmpq_numref(x), fmpq_denref(x)};
    for (int i = 0; ok && i < 2; i++) {
        slong q = fmpz_get_si(fmpq_denref(exponent));
        fmpz_root(root, part[i], q);
        fmpz_pow_ui(back, root, (ulong)q);
        ok = fmpz_equal(back, part[i]);
        fmpz_set(part[i], root);
    }
    /* 4096 bits: beyond that only the ball is wanted, and no double is half way that far down. */
    ok = ok && fabs(log2(base) * fmpq_get_d(exponent)) < 4096;
    if (ok)
        fmpq_pow_si(out, x, fmpz_get_si(fmpq_numref(exponent)));
    fmpq_clear(x);
    fmpz_clear(root);
    fmpz_clear(back);
    return ok;
}

void oracle_power_init(struct oracle_power *p, double base, int64_t num, int64_t den)
{
    p->base = base;
    fmpq_init(p->exponent);
    fmpq_init(p->value);
    fmpq_set_si(p->exponent, -num, (ulong)den);
    p->rational = rational_power(p->value, base, p->exponent);
}

void oracle_power_clear(struct oracle_power *p)
{
    fmpq_clear(p->exponent);
    fmpq_clear(p->value);
}

void oracle_pow(arb_t out, double base, const fmpq_t exponent, slong prec)
{
    fmpq_t value;
    fmpq_init(value);
    if (rational_power(value, base, exponent)) {
        arb_set_fmpq(out, value, prec);
    } else {
        arb_t e;
        arb_init(e);
        arb_set_d(out, base);
        arb_log(out, out, prec + 32);
        arb_set_fmpq(e, exponent, prec + 32);
        arb_mul(out, out, e, prec + 32);
        arb_exp(out, out, prec);
        arb_clear(e);
    }
    fmpq_clear(value);
}

void oracle_power_arb(arb_t out, const struct oracle_power *p, slong prec)
{
    if (p->rational)
        arb_set_fmpq(out, p->value, prec);
    else
        oracle_pow(out, p->base, p->exponent, prec);
}
