/* SPDX-License-Identifier: Apache-2.0 */
/* Rope's scalings by length, by lists and by mixed exponents, w = b^(-2i/R), S the length, L the
 * original one:
 *
 *   dynamic           base b (f S/L - (f - 1))^(R/(R-2)); S by Hugging Face's history, at least L
 *   dynamic_constant  base b (f^2 - f + 1)^(R/(R-2))
 *   dynamic_alpha     base b max(1, 2^(ceil(log2(S/L)) + 1) - 1)^(R/(R-2))        (Qwen-1)
 *   dynamic_linear    w / max(S/L, f)                                  (TransformerEngine)
 *   ntk_fixed         (b f)^(-2i/R) / f^(2/R)                          (kexue.fm 9706)
 *   ntk_mixed         w / exp(a m^mixed_b), a = ln f / (R/2)^mixed_b, m = i + 1
 *   longrope          w / d_i, d the long list for S > L, else the short one   (arXiv 2402.13753)
 *
 * and longrope's attention factor: given; the list's own mscale; or for f > 1 sqrt(1 + ln f / ln L)
 * (su), 1 + 0.1 ln f (yarn). */
#include "rope_frequency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Comma-separated numbers; their count, or -1. */
static int64_t read_list(double *out, int64_t most, struct oracle_case *c, const char *key)
{
    const char *text = oracle_text(c, key);
    int64_t n = 0;
    while (text && *text) {
        char *end;
        double value = strtod(text, &end);
        if (end == text || n == most)
            return -1;
        out[n++] = value;
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return -1;
    }
    return n;
}

/* Hugging Face keeps the largest length of the calls so far, and forgets it in a call below L. */
static bool history(double *length, const struct rope_frequencies *f, struct oracle_case *c)
{
    double call[256], longest = f->original_length;
    int64_t n = read_list(call, 255, c, "seq_len_history");
    if (n < 0)
        return oracle_fail(c, "seq_len_history: not numbers");
    call[n++] = oracle_real(c, "seq_len");
    for (int64_t k = 0; k < n; k++) {
        if (call[k] > longest)
            longest = call[k];
        if (call[k] < f->original_length && longest > f->original_length)
            longest = f->original_length;
    }
    *length = longest;
    return !c->error[0];
}

/* ratio = (f S - (f - 1) L) / L */
static void dynamic_ratio(fmpq_t ratio, const struct rope_frequencies *f, double length)
{
    fmpq_t factor, original, part;
    fmpq_init(factor);
    fmpq_init(original);
    fmpq_init(part);
    oracle_fmpq_set_double(factor, f->factor);
    oracle_fmpq_set_double(original, f->original_length);
    oracle_fmpq_set_double(part, length);
    fmpq_div(ratio, part, original);
    fmpq_mul(ratio, ratio, factor);
    fmpq_one(part);
    fmpq_sub(part, factor, part);
    fmpq_sub(ratio, ratio, part);
    fmpq_clear(factor);
    fmpq_clear(original);
    fmpq_clear(part);
}

/* max(1, 2^(ceil(log2 x) + 1) - 1) of x = S / L. */
static void alpha_ratio(fmpq_t ratio, const struct rope_frequencies *f, double length)
{
    fmpq_t x, limit;
    int64_t power = 1;
    fmpq_init(x);
    fmpq_init(limit);
    oracle_fmpq_set_double(x, length);
    oracle_fmpq_set_double(limit, f->original_length);
    fmpq_div(x, x, limit);
    for (fmpq_one(limit); fmpq_cmp(limit, x) < 0; power++)
        fmpq_mul_2exp(limit, limit, 1);
    fmpq_set_si(ratio, ((int64_t)1 << power) - 1, 1);
    fmpq_clear(x);
    fmpq_clear(limit);
}

static bool read_divisors(struct rope_frequencies *f, struct oracle_case *c)
{
    static const char *const lists[] = {"short_factor", "long_factor"};
    bool is_long = oracle_real(c, "seq_len") > f->original_length;
    f->divisor = calloc((size_t)f->n_pairs + 1, sizeof *f->divisor);
    if (!f->divisor)
        return oracle_fail(c, "no memory");
    for (int k = 0; k < 2; k++) /* the one in use last */
        if (read_list(f->divisor, f->n_pairs, c, lists[k == 0 ? !is_long : is_long]) != f->n_pairs)
            return oracle_fail(c, "longrope: a list is not R/2 long");
    const char *own = is_long ? "long_mscale" : "short_mscale";
    if (!f->magnitude_given && oracle_has(c, own)) {
        f->magnitude_given = true;
        f->magnitude = oracle_real(c, own);
    }
    f->use_mscales = oracle_is(c, "magnitude", "yarn");
    return f->use_mscales || oracle_is(c, "magnitude", "su") ||
           oracle_fail(c, "magnitude: the oracle has no formula for it");
}

bool rope_scalings_init(struct rope_frequencies *f, struct oracle_case *c)
{
    double length = f->original_length;
    fmpq_t ratio, x;
    if (f->scaling == ROPE_LONGROPE)
        return read_divisors(f, c);
    if (f->scaling == ROPE_NTK_MIXED)
        f->mixed_b = oracle_real(c, "mixed_b");
    if (f->scaling == ROPE_DYNAMIC && !history(&length, f, c))
        return false;
    if (f->scaling == ROPE_DYNAMIC_ALPHA || f->scaling == ROPE_DYNAMIC_LINEAR)
        length = fmax(oracle_real(c, "seq_len"), f->original_length);
    fmpq_init(ratio);
    fmpq_init(x);
    oracle_fmpq_set_double(ratio, f->factor);
    if (f->scaling == ROPE_DYNAMIC)
        dynamic_ratio(ratio, f, length);
    if (f->scaling == ROPE_DYNAMIC_ALPHA)
        alpha_ratio(ratio, f, length);
    if (f->scaling == ROPE_DYNAMIC_CONSTANT) {
        fmpq_mul(x, ratio, ratio);
        fmpq_sub(x, x, ratio);
        fmpq_add_si(ratio, x, 1);
    } else if (f->scaling == ROPE_DYNAMIC_LINEAR) {
        fmpq_t original;
        fmpq_init(original);
        oracle_fmpq_set_double(x, length);
        oracle_fmpq_set_double(original, f->original_length);
        fmpq_div(x, x, original);
        if (fmpq_cmp(x, ratio) > 0)
            fmpq_set(ratio, x);
        fmpq_clear(original);
    }
    fmpq_set(f->ratio, ratio);
    fmpq_clear(ratio);
    fmpq_clear(x);
    return !c->error[0];
}

/* exp(ln(f) (m / (R/2))^mixed_b), m = i + 1 */
static void mixed_divisor(arb_t out, const struct rope_frequencies *f, int64_t i, slong prec)
{
    arb_t x;
    arb_init(x);
    arb_set_si(out, i + 1);
    arb_div_si(out, out, f->n_pairs, prec);
    arb_set_d(x, f->mixed_b);
    arb_pow(out, out, x, prec);
    arb_set_d(x, f->factor);
    arb_pow(out, x, out, prec);
    arb_clear(x);
}

void rope_scalings_frequency(arb_t out, const struct rope_frequencies *f, int64_t i, slong prec)
{
    arb_t by;
    fmpq_t e;
    arb_init(by);
    fmpq_init(e);
    oracle_power_arb(out, &f->pair[i].power, prec);
    if (f->scaling == ROPE_LONGROPE) {
        arb_set_d(by, f->divisor[i]);
    } else if (f->scaling == ROPE_NTK_MIXED) {
        mixed_divisor(by, f, i, prec);
    } else {
        arb_set_fmpq(by, f->ratio, prec);
        if (f->scaling == ROPE_NTK_FIXED)
            fmpq_set_si(e, 2 * i + 2, (ulong)f->r);
        else if (f->scaling == ROPE_DYNAMIC_LINEAR)
            fmpq_one(e);
        else
            fmpq_set_si(e, 2 * i, (ulong)(f->r - 2));
        arb_pow_fmpq(by, by, e, prec);
    }
    arb_div(out, out, by, prec);
    arb_clear(by);
    fmpq_clear(e);
}

bool rope_scalings_magnitude(arb_t out, const struct rope_frequencies *f, slong prec)
{
    arb_t x;
    arb_init(x);
    arb_one(out);
    if (f->factor > 1) {
        arb_set_d(out, f->factor);
        arb_log(out, out, prec + 32);
        if (f->use_mscales) { /* yarn */
            arb_div_ui(out, out, 10, prec + 32);
        } else {
            arb_set_d(x, f->original_length);
            arb_log(x, x, prec + 32);
            arb_div(out, out, x, prec + 32);
        }
        arb_add_ui(out, out, 1, prec + 32);
        if (!f->use_mscales)
            arb_sqrt(out, out, prec + 32);
    }
    arb_clear(x);
    return true;
}
