/* SPDX-License-Identifier: Apache-2.0 */
/* YaRN's ramp (arXiv 2309.00071 as released: linear in the pair index between two correction
 * dimensions):
 *
 *   cd(beta) = R ln(L / (2 pi beta)) / (2 ln b)
 *   low = max(cd(beta_fast), 0), high = min(cd(beta_slow), R - 1); truncate: floor and ceil first
 *   t_i = clamp((i - low) / (high - low), 0, 1); high += 0.001 where low = high
 *
 * range_rule: half has R/2 - 1 for R - 1; unclamped neither max nor min; at_least (ggml's kernel)
 * divides by max(high - low, 0.001).
 *
 * cd is never rational, because pi is transcendental and everything else in it is rational: so
 * comparing it with an integer always ends. */
#include "rope_frequency.h"

#include <string.h>

static void correction_dim(arb_t out, const struct rope_frequencies *f, double beta, slong prec)
{
    arb_t x;
    arb_init(x);
    arb_set_d(out, f->original_length);
    arb_const_pi(x, prec);
    arb_mul_2exp_si(x, x, 1);
    arb_div(out, out, x, prec);
    arb_set_d(x, beta);
    arb_div(out, out, x, prec);
    arb_log(out, out, prec);
    arb_mul_si(out, out, f->r, prec);
    arb_set_d(x, f->base);
    arb_log(x, x, prec);
    arb_mul_2exp_si(x, x, 1);
    arb_div(out, out, x, prec);
    arb_clear(x);
}

static void end_arb(arb_t out, const struct rope_frequencies *f, const struct rope_end *end,
                    slong prec)
{
    if (end->rational)
        arb_set_fmpq(out, end->value, prec);
    else
        correction_dim(out, f, end->beta, prec);
}

/* The largest end that range_rule allows; -1: any. */
static bool read_last(int64_t *last, const struct rope_frequencies *f, struct oracle_case *c)
{
    *last = f->r - 1;
    if (oracle_is(c, "range_rule", "half"))
        *last = f->r / 2 - 1;
    else if (oracle_is(c, "range_rule", "unclamped"))
        *last = -1;
    else if (oracle_has(c, "range_rule") && !oracle_is(c, "range_rule", "clamped") &&
             !oracle_is(c, "range_rule", "at_least"))
        return oracle_fail(c, "range_rule: the oracle has no formula for it");
    return true;
}

/* Floor (or ceil) of cd(beta) when truncating, then the clamp to [0, ..] or [.., last]. */
static bool settle_end(struct rope_end *end, const struct rope_frequencies *f, bool truncate,
                       bool is_low, int64_t last)
{
    arb_t cd;
    fmpz_t whole;
    arb_init(cd);
    fmpz_init(whole);
    bool done = false;
    for (slong prec = 128; !done && prec <= ORACLE_LAST_PREC; prec *= 2) {
        correction_dim(cd, f, end->beta, prec);
        if (is_low)
            arb_floor(cd, cd, prec);
        else
            arb_ceil(cd, cd, prec);
        done = arb_get_unique_fmpz(whole, cd);
    }
    /* cd < 0 iff floor(cd) <= -1; cd > last iff ceil(cd) > last. */
    end->rational = truncate;
    if (last >= 0 && is_low && fmpz_sgn(whole) < 0) {
        end->rational = true;
        fmpz_zero(whole);
    } else if (last >= 0 && !is_low && fmpz_cmp_si(whole, last) > 0) {
        end->rational = true;
        fmpz_set_si(whole, last);
    }
    fmpq_set_fmpz(end->value, whole);
    arb_clear(cd);
    fmpz_clear(whole);
    return done;
}

/* high - low < 0.001? Two ends of which one is irrational are never exactly that far apart:
 * docs/certify.md. */
static bool is_narrow(const struct rope_frequencies *f)
{
    arb_t width, low;
    arb_init(width);
    arb_init(low);
    bool narrow = false, done = false;
    for (slong prec = 128; !done && prec <= ORACLE_LAST_PREC; prec *= 2) {
        end_arb(width, f, &f->high, prec);
        end_arb(low, f, &f->low, prec);
        arb_sub(width, width, low, prec);
        arb_mul_ui(width, width, 1000, prec);
        arb_sub_ui(width, width, 1, prec);
        narrow = arb_is_negative(width);
        done = narrow || arb_is_positive(width);
    }
    arb_clear(width);
    arb_clear(low);
    return narrow;
}

bool rope_yarn_init(struct rope_frequencies *f, struct oracle_case *c)
{
    int64_t last;
    bool truncate = oracle_is(c, "truncate", "true");
    if (!truncate && !oracle_is(c, "truncate", "false"))
        return oracle_fail(c, "truncate: neither true nor false");
    f->low.beta = oracle_real(c, "beta_fast");
    f->high.beta = oracle_real(c, "beta_slow");
    if (c->error[0])
        return false;
    if (!(f->low.beta > 0 && f->high.beta > 0 && f->original_length > 0))
        return oracle_fail(c, "yarn: beta and original length must be positive");
    if (!read_last(&last, f, c))
        return false;
    if (!settle_end(&f->low, f, truncate, true, last) ||
        !settle_end(&f->high, f, truncate, false, last))
        return oracle_fail(c, "yarn: the ends of the ramp are not decided");
    if (f->low.rational && f->high.rational)
        f->equal_ends = fmpq_equal(f->low.value, f->high.value);
    else /* two correction dimensions are equal iff their betas are */
        f->equal_ends = f->low.rational == f->high.rational && f->low.beta == f->high.beta;
    if (!f->equal_ends && oracle_is(c, "range_rule", "at_least"))
        f->equal_ends = is_narrow(f);
    return true;
}

void rope_yarn_ramp(arb_t out, const struct rope_frequencies *f, int64_t i, slong prec)
{
    arb_t low, width;
    arb_init(low);
    arb_init(width);
    end_arb(low, f, &f->low, prec);
    if (f->equal_ends) {
        arb_set_ui(width, 1);
        arb_div_ui(width, width, 1000, prec);
    } else {
        end_arb(width, f, &f->high, prec);
        arb_sub(width, width, low, prec);
    }
    arb_set_si(out, i);
    arb_sub(out, out, low, prec);
    arb_div(out, out, width, prec);
    arb_clear(low);
    arb_clear(width);
}

static void rational_place(fmpq_t out, const struct rope_frequencies *f, int64_t i)
{
    fmpq_t width;
    fmpq_init(width);
    fmpq_sub(width, f->high.value, f->low.value);
    if (f->equal_ends)
        fmpq_set_si(width, 1, 1000);
    fmpq_set_si(out, i, 1);
    fmpq_sub(out, out, f->low.value);
    fmpq_div(out, out, width);
    if (fmpq_sgn(out) < 0)
        fmpq_zero(out);
    else if (fmpq_cmp_ui(out, 1) > 0)
        fmpq_one(out);
    fmpq_clear(width);
}

static bool is_at(const struct rope_end *end, int64_t i)
{
    return end->rational && fmpq_cmp_si(end->value, i) == 0;
}

bool rope_yarn_place(fmpq_t out, bool *rational, const struct rope_frequencies *f, int64_t i)
{
    bool both = f->low.rational && f->high.rational, done = true;
    *rational = true;
    if (both) {
        rational_place(out, f, i);
    } else if (is_at(&f->low, i)) {
        fmpq_zero(out);
    } else if (!f->equal_ends && is_at(&f->high, i)) {
        fmpq_one(out);
    } else {
        arb_t t, rest;
        arb_init(t);
        arb_init(rest);
        done = false;
        for (slong prec = 128; !done && prec <= ORACLE_LAST_PREC; prec *= 2) {
            rope_yarn_ramp(t, f, i, prec);
            arb_sub_ui(rest, t, 1, prec);
            done = true;
            if (arb_is_negative(t))
                fmpq_zero(out);
            else if (arb_is_positive(rest))
                fmpq_one(out);
            else if (arb_is_positive(t) && arb_is_negative(rest))
                *rational = false;
            else
                done = false;
        }
        arb_clear(t);
        arb_clear(rest);
    }
    return done;
}
