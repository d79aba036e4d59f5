/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a stored double is the rounding of an enclosed real number, and what was met on the way.
 * The test is on the boundaries: a double d is the rounding of x iff x lies between the midpoints
 * to d's two neighbours; a midpoint itself belongs to the neighbour with the even significand. */
#include "oracle.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct range {
    arf_t low, high; /* the reals that round to d; infinite at the ends of the format */
    bool closed;     /* low and high belong to d: its significand is even */
};

/* The midpoint of d and the next double up. Past the largest double IEEE 754 puts the boundary
 * where 2^1024 would be the next one. */
static void upper_boundary(arf_t out, double d)
{
    if (d == HUGE_VAL) {
        arf_pos_inf(out);
        return;
    }
    arf_t next;
    arf_init(next);
    double up = nextafter(d, HUGE_VAL);
    if (isinf(up))
        arf_set_si_2exp_si(next, 1, 1024);
    else
        arf_set_d(next, up);
    if (d == -HUGE_VAL)
        arf_set_si_2exp_si(out, -1, 1024);
    else
        arf_set_d(out, d);
    arf_add(out, out, next, ARF_PREC_EXACT, ARF_RND_DOWN);
    arf_mul_2exp_si(out, out, -1);
    arf_clear(next);
}

static void range_init(struct range *r, double d)
{
    arf_init(r->low);
    arf_init(r->high);
    upper_boundary(r->high, d);
    upper_boundary(r->low, -d);
    arf_neg(r->low, r->low);
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    r->closed = (bits & 1) == 0;
}

static void range_clear(struct range *r)
{
    arf_clear(r->low);
    arf_clear(r->high);
}

/* 1: every member of x rounds to d; 0: none does; -1: the enclosure does not say. */
static int rounds_to(const struct range *r, const arb_t x, const arf_t low, const arf_t high)
{
    if (!arb_is_finite(x))
        return -1;
    int to_low = arf_cmp(low, r->low), to_high = arf_cmp(high, r->high);
    if (r->closed ? to_low >= 0 && to_high <= 0 : to_low > 0 && to_high < 0)
        return 1;
    int below = arf_cmp(high, r->low), above = arf_cmp(low, r->high);
    if (r->closed ? below < 0 || above > 0 : below <= 0 || above >= 0)
        return 0;
    return -1;
}

/* Distance of x to the nearer boundary, in units of the spacing at d. */
static void note_distance(struct oracle_tally *t, const struct oracle_case *c,
                          const struct oracle_tensor *out, int64_t k, const struct range *r,
                          const arb_t x)
{
    if (arf_is_inf(r->low) || arf_is_inf(r->high))
        return;
    arf_t a, b, gap;
    arf_init(a);
    arf_init(b);
    arf_init(gap);
    arf_sub(gap, r->high, r->low, 64, ARF_RND_NEAR);
    arf_sub(a, arb_midref(x), r->low, 64, ARF_RND_NEAR);
    arf_sub(b, r->high, arb_midref(x), 64, ARF_RND_NEAR);
    arf_div(a, arf_cmp(a, b) < 0 ? a : b, gap, 64, ARF_RND_NEAR);
    double ulp = arf_get_d(a, ARF_RND_NEAR);
    if (arb_is_exact(x)) {
        arf_set_d(b, out->data[k]);
        t->n_ties += ulp == 0;
        t->n_exact += arf_equal(b, arb_midref(x)) != 0;
    } else if (ulp < t->nearest_ulp) {
        t->nearest_ulp = ulp;
        snprintf(t->nearest_at, sizeof t->nearest_at, "%s %s[%lld]", c->id, out->name,
                 (long long)k);
    }
    arf_clear(a);
    arf_clear(b);
    arf_clear(gap);
}

static void report_wrong(struct oracle_tally *t, const struct oracle_case *c,
                         const struct oracle_tensor *out, int64_t k, const arb_t exact)
{
    if (t->n_mismatches >= ORACLE_MAX_SHOWN) {
        t->n_mismatches++;
        return;
    }
    char *text = arb_get_str(exact, 40, 0);
    oracle_tally_mismatch(t, "%s %s[%lld]: stored %.17g (%a), exact %s", c->id, out->name,
                          (long long)k, out->data[k], out->data[k], text);
    flint_free(text);
}

/* Whether rounding some number within slack of the exact one gives d. */
static bool within(const struct range *r, const arf_t low, const arf_t high, double slack)
{
    arf_t side, limit;
    arf_init(side);
    arf_init(limit);
    arf_set_d(limit, slack);
    arf_add(side, r->high, limit, ARF_PREC_EXACT, ARF_RND_DOWN);
    bool ok = arf_cmp(high, side) <= 0;
    arf_sub(side, r->low, limit, ARF_PREC_EXACT, ARF_RND_DOWN);
    ok = ok && arf_cmp(low, side) >= 0;
    arf_clear(side);
    arf_clear(limit);
    return ok;
}

bool oracle_judge_within(struct oracle_tally *t, struct oracle_case *c, struct oracle_tensor *out,
                         int64_t k, const arb_t exact, double slack, slong prec)
{
    if (out->state[k] != ORACLE_PENDING)
        return true;
    if (arb_is_zero(exact)) {
        oracle_judge_zero(t, c, out, k, false);
        return true;
    }
    double stored = out->data[k];
    int verdict = 0;
    struct range r;
    arf_t low, high;
    arf_init(low);
    arf_init(high);
    range_init(&r, stored);
    if (!isnan(stored)) {
        arb_get_interval_arf(low, high, exact, 2 * prec + 256);
        verdict = rounds_to(&r, exact, low, high);
    }
    if (verdict == 1) {
        note_distance(t, c, out, k, &r, exact);
    } else if (verdict == 0 && slack > 0 && !isnan(stored) && within(&r, low, high, slack)) {
        t->n_within++;
        verdict = 1;
    } else if (verdict == 0) {
        report_wrong(t, c, out, k, exact);
    }
    range_clear(&r);
    arf_clear(low);
    arf_clear(high);
    if (verdict < 0)
        return false;
    out->state[k] = verdict ? ORACLE_RIGHT : ORACLE_WRONG;
    t->n_raised += prec > ORACLE_FIRST_PREC;
    if (prec > t->largest_prec)
        t->largest_prec = prec;
    return true;
}

bool oracle_judge(struct oracle_tally *t, struct oracle_case *c, struct oracle_tensor *out,
                  int64_t k, const arb_t exact, slong prec)
{
    return oracle_judge_within(t, c, out, k, exact, 0, prec);
}

void oracle_judge_copy(struct oracle_tally *t, struct oracle_case *c, struct oracle_tensor *out,
                       int64_t k, double copied)
{
    if (out->state[k] != ORACLE_PENDING)
        return;
    bool same = memcmp(&out->data[k], &copied, sizeof copied) == 0;
    out->state[k] = same ? ORACLE_RIGHT : ORACLE_WRONG;
    t->n_exact += same;
    if (!same)
        oracle_tally_mismatch(t, "%s %s[%lld]: stored %.17g (%a), must be the exact bits of %a",
                              c->id, out->name, (long long)k, out->data[k], out->data[k], copied);
}

void oracle_judge_zero(struct oracle_tally *t, struct oracle_case *c, struct oracle_tensor *out,
                       int64_t k, bool negative)
{
    oracle_judge_copy(t, c, out, k, negative ? -0.0 : 0.0);
}

void oracle_raise(oracle_unit_fn *unit, void *ctx)
{
    for (slong prec = ORACLE_FIRST_PREC; prec <= ORACLE_LAST_PREC; prec *= 2)
        if (unit(ctx, prec))
            return;
}
