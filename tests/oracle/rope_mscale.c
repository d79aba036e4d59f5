/* SPDX-License-Identifier: Apache-2.0 */
/* Yarn's attention factor (arXiv 2309.00071, eq. 22, and what releases made of it), with
 * m(a) = 0.1 a ln f + 1 for f > 1, else 1:
 *
 *   both      m(mscale) / m(mscale_all_dim) where both are there and neither is 0, else m(1)
 *   ratio     the quotient always; a missing mscale is 1, a missing mscale_all_dim 0
 *   ignored   m(1)
 *   telechat  0.07 ln f + 1 for f > 1, else 1
 *   ggml      0.1 ln f + 1 for every f
 *   none      1
 *
 * times attention_factor (multiplies), or attention_factor in its stead (replaces). */
#include "rope_frequency.h"

static bool read_rule(struct rope_mscale *m, struct oracle_case *c)
{
    const bool has = oracle_has(c, "mscale"), has_all = oracle_has(c, "mscale_all_dim");
    const double one = has ? oracle_real(c, "mscale") : 1;
    const double all = has_all ? oracle_real(c, "mscale_all_dim") : 0;
    *m = (struct rope_mscale){.over = 1, .times = 1, .percent = 10};
    if (!oracle_has(c, "mscale_rule") || oracle_is(c, "mscale_rule", "both")) {
        if (has && has_all && one != 0 && all != 0) {
            m->over = one;
            m->under = all;
        }
    } else if (oracle_is(c, "mscale_rule", "ratio")) {
        m->over = one;
        m->under = all;
    } else if (oracle_is(c, "mscale_rule", "telechat")) {
        m->percent = 7;
    } else if (oracle_is(c, "mscale_rule", "none")) {
        m->over = 0;
    } else if (!oracle_is(c, "mscale_rule", "ignored") && !oracle_is(c, "mscale_rule", "ggml")) {
        return oracle_fail(c, "mscale_rule: the oracle has no formula for it");
    }
    if (oracle_real(c, "factor") <= 1 && !oracle_is(c, "mscale_rule", "ggml"))
        m->over = m->under = 0;
    return true;
}

bool rope_mscale_init(struct rope_frequencies *f, struct oracle_case *c)
{
    struct rope_mscale *m = &f->yarn;
    if (!read_rule(m, c))
        return false;
    if (!f->magnitude_given || oracle_is(c, "attention_factor_rule", "ignored"))
        return true;
    m->times = f->magnitude;
    if (!oracle_has(c, "attention_factor_rule") ||
        oracle_is(c, "attention_factor_rule", "replaces"))
        m->over = m->under = 0;
    else if (!oracle_is(c, "attention_factor_rule", "multiplies"))
        return oracle_fail(c, "attention_factor_rule: the oracle has no formula for it");
    return true;
}

/* 1 + a percent / 100 ln f */
static void line(arb_t out, const struct rope_frequencies *f, double a, slong prec)
{
    arb_t x;
    arb_init(x);
    arb_set_d(out, f->factor);
    arb_log(out, out, prec);
    arb_set_d(x, a);
    arb_mul(out, out, x, prec);
    arb_mul_si(out, out, f->yarn.percent, prec);
    arb_div_ui(out, out, 100, prec);
    arb_add_ui(out, out, 1, prec);
    arb_clear(x);
}

void rope_mscale_factor(arb_t out, const struct rope_frequencies *f, slong prec)
{
    const struct rope_mscale *m = &f->yarn;
    arb_t x;
    arb_init(x);
    arb_one(out);
    if (m->over != m->under && f->factor != 1) { /* else exactly 1 */
        line(out, f, m->over, prec + 32);
        line(x, f, m->under, prec + 32);
        arb_div(out, out, x, prec + 32);
    }
    arb_set_d(x, m->times);
    arb_mul(out, out, x, prec + 32);
    arb_clear(x);
}
