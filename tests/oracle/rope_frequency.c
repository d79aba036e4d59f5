/* SPDX-License-Identifier: Apache-2.0 */
/* Rope's inverse frequencies, w_i = b^(-2i/R) (arXiv 2104.09864), and what each scaling makes of
 * them:
 *
 *   linear  w / f                                             (arXiv 2306.15595)
 *   ntk     (b f^(R/(R-2)))^(-2i/R) = w f^(-2i/(R-2))         (bloc97)
 *   yarn    w/f t + w (1 - t), t from rope_yarn.c             (arXiv 2309.00071)
 *   llama3  x = L w / 2pi turns: x > hf: w; x < lf: w/f; between: s = (x - lf)/(hf - lf),
 *           (1 - s) w/f + s w                                 (Llama 3.1's released code)
 *   ntk_by_parts  the same with beta_slow, beta_fast for lf, hf   (arXiv 2309.00071)
 *   the others: rope_scalings.c */
#include "rope_frequency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool read_scaling(struct rope_frequencies *f, struct oracle_case *c)
{
    static const char *const names[] = {"none", "linear", "ntk", "yarn", "llama3", "dynamic",
                                        "longrope", "ntk_by_parts", "ntk_fixed", "ntk_mixed",
                                        "dynamic_constant", "dynamic_alpha", "dynamic_linear"};
    const char *text = oracle_text(c, "scaling");
    int n = sizeof names / sizeof *names, at = 0;
    while (at < n && (!text || strcmp(text, names[at]) != 0))
        at++;
    if (at == n)
        return oracle_fail(c, "scaling %s: the oracle has no formula for it",
                           text ? text : "missing");
    f->scaling = (enum rope_scaling)at;
    f->factor = 1;
    if (oracle_has(c, "factor") || (f->scaling != ROPE_NONE && f->scaling != ROPE_LONGROPE &&
                                    f->scaling != ROPE_DYNAMIC_ALPHA))
        f->factor = oracle_real(c, "factor");
    if (oracle_has(c, "original_max_position_embeddings") || f->scaling == ROPE_YARN ||
        f->scaling == ROPE_LLAMA3)
        f->original_length = oracle_real(c, "original_max_position_embeddings");
    if (f->scaling == ROPE_LLAMA3) {
        f->low_freq = oracle_real(c, "low_freq_factor");
        f->high_freq = oracle_real(c, "high_freq_factor");
    }
    if (f->scaling == ROPE_NTK_BY_PARTS) { /* the paper's: llama3's bands with other names */
        f->low_freq = oracle_real(c, "beta_slow");
        f->high_freq = oracle_real(c, "beta_fast");
        f->scaling = ROPE_LLAMA3;
    }
    return !c->error[0];
}

static void read_magnitude(struct rope_frequencies *f, struct oracle_case *c)
{
    f->magnitude_given = oracle_has(c, "attention_factor");
    if (f->magnitude_given)
        f->magnitude = oracle_real(c, "attention_factor");
}

/* x = L w / 2pi minus limit: its sign, which pi makes certain to be decided. */
static int llama3_side(const struct rope_frequencies *f, int64_t i, double limit)
{
    arb_t x, y;
    arb_init(x);
    arb_init(y);
    int sign = 0;
    for (slong prec = 128; sign == 0 && prec <= ORACLE_LAST_PREC; prec *= 2) {
        oracle_power_arb(x, &f->pair[i].power, prec);
        arb_set_d(y, f->original_length);
        arb_mul(x, x, y, prec);
        arb_const_pi(y, prec);
        arb_mul_2exp_si(y, y, 1);
        arb_div(x, x, y, prec);
        arb_set_d(y, limit);
        arb_sub(x, x, y, prec);
        sign = arb_is_positive(x) ? 1 : arb_is_negative(x) ? -1 : 0;
    }
    arb_clear(x);
    arb_clear(y);
    return sign;
}

/* (1 - t) + t / f */
static void blend(fmpq_t out, const fmpq_t t, const fmpq_t f)
{
    fmpq_t part;
    fmpq_init(part);
    fmpq_one(part);
    fmpq_sub(part, part, t);
    fmpq_div(out, t, f);
    fmpq_add(out, out, part);
    fmpq_clear(part);
}

static bool settle_pair(struct rope_frequencies *f, struct oracle_case *c, int64_t i)
{
    struct rope_pair *pair = &f->pair[i];
    fmpq_t t, by;
    fmpq_init(t);
    fmpq_init(by);
    bool ok = true;
    pair->rational = true;
    if (f->scaling == ROPE_LINEAR) {
        fmpq_one(t);
    } else if (f->scaling == ROPE_NTK || f->scaling >= ROPE_DYNAMIC) {
        pair->rational = false;
    } else if (f->scaling == ROPE_YARN) {
        ok = rope_yarn_place(t, &pair->rational, f, i);
    } else if (f->scaling == ROPE_LLAMA3) {
        int fast = llama3_side(f, i, f->high_freq), slow = llama3_side(f, i, f->low_freq);
        ok = fast && slow;
        if (slow < 0)
            fmpq_one(t);
        else if (fast < 0)
            pair->rational = false;
    }
    fmpq_one(by);
    if (f->scaling != ROPE_NONE)
        oracle_fmpq_set_double(by, f->factor);
    if (pair->rational)
        blend(pair->factor, t, by);
    fmpq_clear(t);
    fmpq_clear(by);
    return ok || oracle_fail(c, "pair %lld: its band is not decided", (long long)i);
}

/* partial=proportional: the first floor(partial_rotary_factor dim / 2) pairs turn. */
static bool read_share(struct rope_frequencies *f, struct oracle_case *c)
{
    fmpq_t share;
    fmpz_t whole;
    double given = oracle_real(c, "partial_rotary_factor");
    if (!(given > 0 && given <= 1) || f->r != oracle_int(c, "dim") ||
        (f->scaling != ROPE_NONE && f->scaling != ROPE_LINEAR))
        return oracle_fail(c, "proportional: factor, rotary_dim or scaling out of range");
    fmpq_init(share);
    fmpz_init(whole);
    oracle_fmpq_set_double(share, given);
    fmpq_mul_si(share, share, f->r);
    fmpq_div_2exp(share, share, 1);
    fmpz_fdiv_q(whole, fmpq_numref(share), fmpq_denref(share));
    f->n_turning = fmpz_get_si(whole);
    fmpq_clear(share);
    fmpz_clear(whole);
    return true;
}

bool rope_frequencies_init(struct rope_frequencies *f, struct oracle_case *c)
{
    memset(f, 0, sizeof *f);
    fmpq_init(f->low.value);
    fmpq_init(f->high.value);
    fmpq_init(f->ratio);
    f->r = oracle_int(c, "rotary_dim");
    f->n_turning = f->r / 2;
    f->base = oracle_real(c, "base");
    if (!read_scaling(f, c))
        return false;
    if (oracle_is(c, "partial", "proportional") && !read_share(f, c))
        return false;
    read_magnitude(f, c);
    if (f->r < 2 || f->r % 2 || !(f->base > 1) || !isfinite(f->base))
        return oracle_fail(c, "rotary_dim or base out of range");
    if (f->scaling != ROPE_NONE && !(f->factor > 0 && isfinite(f->factor)))
        return oracle_fail(c, "factor out of range");
    if (f->r == 2 && (f->scaling == ROPE_NTK || f->scaling == ROPE_DYNAMIC ||
                      f->scaling == ROPE_DYNAMIC_CONSTANT || f->scaling == ROPE_DYNAMIC_ALPHA))
        return oracle_fail(c, "ntk needs rotary_dim > 2");
    if (f->scaling == ROPE_YARN && !(rope_yarn_init(f, c) && rope_mscale_init(f, c)))
        return false;
    f->n_pairs = f->r / 2;
    if (f->scaling >= ROPE_DYNAMIC && !rope_scalings_init(f, c))
        return false;
    f->pair = calloc((size_t)f->n_pairs, sizeof *f->pair);
    if (!f->pair)
        return oracle_fail(c, "no memory");
    for (int64_t i = 0; i < f->n_pairs; i++) {
        oracle_power_init(&f->pair[i].power, f->base, 2 * i, f->r);
        fmpq_init(f->pair[i].factor);
    }
    for (int64_t i = 0; i < f->n_pairs; i++)
        if (!settle_pair(f, c, i))
            return false;
    arb_ptr cached = _arb_vec_init(f->n_pairs);
    for (int64_t i = 0; i < f->n_pairs; i++)
        rope_frequency(cached + i, f, i, ORACLE_FIRST_PREC);
    f->cached = cached;
    return !c->error[0];
}

void rope_frequencies_clear(struct rope_frequencies *f)
{
    for (int64_t i = 0; f->pair && i < f->n_pairs; i++) {
        oracle_power_clear(&f->pair[i].power);
        fmpq_clear(f->pair[i].factor);
    }
    if (f->cached)
        _arb_vec_clear(f->cached, f->n_pairs);
    free(f->pair);
    free(f->divisor);
    fmpq_clear(f->ratio);
    fmpq_clear(f->low.value);
    fmpq_clear(f->high.value);
}

/* log2(x) when x is a power of two. */
static bool log2_exact(int *out, double x)
{
    bool exact = frexp(x, out) == 0.5;
    --*out;
    return exact;
}

/* b^(-2i/R) f^(-2i/(R-2)). The odd parts of b and f both stand in the denominator, so the product
 * is dyadic (might tie) only when b and f are powers of two, and that is done exactly. */
static void ntk_frequency(arb_t out, const struct rope_frequencies *f, int64_t i, slong prec)
{
    fmpq_t e, part;
    arb_t x;
    int log_base, log_factor;
    fmpq_init(e);
    fmpq_init(part);
    arb_init(x);
    fmpq_set_si(e, -2 * i, (ulong)f->r);
    fmpq_set_si(part, -2 * i, (ulong)(f->r - 2));
    if (log2_exact(&log_base, f->base) && log2_exact(&log_factor, f->factor)) {
        fmpq_mul_si(e, e, log_base);
        fmpq_mul_si(part, part, log_factor);
        fmpq_add(e, e, part);
        oracle_pow(out, 2, e, prec);
    } else {
        oracle_pow(out, f->base, e, prec);
        oracle_pow(x, f->factor, part, prec);
        arb_mul(out, out, x, prec);
    }
    fmpq_clear(e);
    fmpq_clear(part);
    arb_clear(x);
}

/* The multiplier of a pair inside yarn's ramp or llama3's smooth band. */
static void smooth_factor(arb_t out, const struct rope_frequencies *f, const arb_t w, int64_t i,
                          slong prec)
{
    arb_t t, x;
    arb_init(t);
    arb_init(x);
    if (f->scaling == ROPE_YARN) {
        rope_yarn_ramp(t, f, i, prec);
    } else { /* t = 1 - s = (hf - x) / (hf - lf) */
        arb_set_d(t, f->original_length);
        arb_mul(t, t, w, prec);
        arb_const_pi(x, prec);
        arb_mul_2exp_si(x, x, 1);
        arb_div(t, t, x, prec);
        arb_set_d(x, f->high_freq);
        arb_sub(t, x, t, prec);
        arb_set_d(out, f->low_freq);
        arb_sub(x, x, out, prec);
        arb_div(t, t, x, prec);
    }
    arb_set_d(x, f->factor);
    arb_div(out, t, x, prec);
    arb_sub_ui(t, t, 1, prec);
    arb_sub(out, out, t, prec);
    arb_clear(t);
    arb_clear(x);
}

void rope_frequency(arb_t out, const struct rope_frequencies *f, int64_t i, slong prec)
{
    const struct rope_pair *pair = &f->pair[i];
    if (prec == ORACLE_FIRST_PREC && f->cached) {
        arb_set(out, f->cached + i);
        return;
    }
    slong bits = prec + 64;
    if (i >= f->n_turning) {
        arb_zero(out);
    } else if (f->scaling >= ROPE_DYNAMIC) {
        rope_scalings_frequency(out, f, i, bits);
    } else if (f->scaling == ROPE_NTK) {
        ntk_frequency(out, f, i, bits);
    } else if (pair->rational && pair->power.rational) {
        fmpq_t w;
        fmpq_init(w);
        fmpq_mul(w, pair->power.value, pair->factor);
        arb_set_fmpq(out, w, bits);
        fmpq_clear(w);
    } else {
        arb_t by;
        arb_init(by);
        oracle_power_arb(out, &pair->power, bits);
        if (pair->rational)
            arb_set_fmpq(by, pair->factor, bits);
        else
            smooth_factor(by, f, out, i, bits);
        arb_mul(out, out, by, bits);
        arb_clear(by);
    }
}

void rope_attention_factor(arb_t out, const struct rope_frequencies *f, slong prec)
{
    if (f->scaling == ROPE_YARN)
        rope_mscale_factor(out, f, prec);
    else if (f->magnitude_given)
        arb_set_d(out, f->magnitude);
    else if (f->scaling == ROPE_LONGROPE)
        rope_scalings_magnitude(out, f, prec);
    else
        arb_one(out);
}
