/* SPDX-License-Identifier: Apache-2.0 */
/* The rotation of a pair in double-double, and the rounding test. The products are error-free:
 * by fused multiply-add where the target has it, by Dekker's splitting elsewhere; both give the
 * exact error term, so every build computes the same bits. */
#include "turn_impl.h"

#include <math.h>

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
static inline double product_error(double a, double b, double p)
{
    return __builtin_fma(a, b, -p);
}
#else
static inline double product_error(double a, double b, double p)
{
    double ca = a * 134217729.0; /* 2^27 + 1 */
    double cb = b * 134217729.0;
    double ah = ca - (ca - a);
    double bh = cb - (cb - b);
    double al = a - ah;
    double bl = b - bh;
    return al * bl - (((p - ah * bh) - al * bh) - ah * bl);
}
#endif

/* Zero, or large enough that the error of a product is no subnormal and small enough that the
 * splitting does not overflow. */
static inline bool splittable(double x)
{
    double a = fabs(x);
    return a == 0 || (a >= 0x1p-700 && a <= 0x1p700);
}

static inline bool factor_fits(const struct posref_dd *f)
{
    double a = fabs(f->hi);
    return a == 0 ? f->lo == 0 : a >= 0x1p-200 && a <= 0x1p200;
}

/* a f + b g, f and g with their errors. */
static struct posref_dd sum_of_products(double a, const struct posref_dd *f, double b,
                                        const struct posref_dd *g)
{
    double p = a * f->hi;
    double q = b * g->hi;
    double h = p + q; /* h + t = p + q */
    double v = h - p;
    double t = (p - (h - v)) + (q - v);
    double low = (product_error(a, f->hi, p) + product_error(b, g->hi, q)) +
                 (a * f->lo + b * g->lo);
    low += t;
    struct posref_dd out;
    out.hi = h + low;
    v = out.hi - h;
    out.lo = (h - (out.hi - v)) + (low - v);
    if (low == 0)
        out.hi = h; /* keeps -0 + -0 */
    /* One exact product alone, or nothing at all, is exact. */
    bool exact = f->err == 0 && g->err == 0 && f->lo == 0 && g->lo == 0 && (p == 0 || q == 0);
    double bound = TURN_ROTATE_ERROR * (fabs(p) + fabs(q)) + fabs(a) * f->err + fabs(b) * g->err;
    out.err = exact ? 0 : bound * (1 + 0x1p-50);
    return out;
}

void posref_dd_rotate(struct posref_dd *y1, struct posref_dd *y2, const struct posref_dd *c,
                      const struct posref_dd *s, double x1, double x2)
{
    const struct posref_dd unknown = {0, 0, HUGE_VAL};
    if (!splittable(x1) || !splittable(x2) || !factor_fits(c) || !factor_fits(s)) {
        *y1 = unknown;
        *y2 = unknown;
        return;
    }
    struct posref_dd minus_s = {-s->hi, -s->lo, s->err};
    struct posref_dd first = sum_of_products(x1, c, x2, &minus_s);
    *y2 = sum_of_products(x2, c, x1, s);
    *y1 = first;
}

bool posref_dd_round(double *out, const struct posref_dd *value)
{
    if (value->err == 0) {
        *out = value->lo == 0 ? value->hi : value->hi + value->lo;
        return true;
    }
    double size = fabs(value->hi);
    if (!(size >= 0x1p-960 && size <= 0x1p1020 && value->err <= size))
        return false;
    /* lo +- err is itself rounded, by at most 2^-53 (|lo| + err) <= 2^-105 |hi| + 2^-53 err. */
    double err = value->err * (1 + 0x1p-50) + size * 0x1p-105;
    double low = value->hi + (value->lo - err);
    double high = value->hi + (value->lo + err);
    if (low != high)
        return false;
    *out = low;
    return true;
}
