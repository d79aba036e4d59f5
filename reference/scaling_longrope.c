/* SPDX-License-Identifier: Apache-2.0 */
/* LongRoPE (Ding et al., arXiv 2402.13753) as Phi-3 has it: one divisor a pair, from one of two
 * lists, L = original_max_position_embeddings:
 *     theta'_i = theta_i / short_factor[i] for seq_len <= L, theta_i / long_factor[i] above
 * Attention factor: attention_factor where given; else the list's own short_mscale or long_mscale
 * where given; else by magnitude, for factor > 1 (1 for others):
 *     su: sqrt(1 + ln factor / ln L);   yarn: 1 + ln(factor) / 10.
 *
 * sqrt(1 + ln factor / ln L) is rational only where factor = L^(p/q), which is recognised: x times
 * it might be a tie at position 0, which no precision decides. Where it is irrational there is
 * none.
 */
#include "scaling.h"
#include "whole.h"

#include <math.h>

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_SEQ_LEN, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_SHORT_FACTOR, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_LONG_FACTOR, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_MAGNITUDE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_SHORT_MSCALE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_LONG_MSCALE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_ATTENTION_FACTOR, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

static enum posref_status check_length(const struct posref_reals *list, const char *key,
                                       const struct posref_spec *spec, struct posref_error *err)
{
    if (list->n == spec->rotary_dim / 2)
        return POSREF_OK;
    return posref_fail(err, POSREF_BAD_INPUT, key, "must have rotary_dim / 2 = %d entries, got %d",
                       spec->rotary_dim / 2, list->n);
}

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    enum posref_status status = check_length(&spec->short_factor, "short_factor", spec, err);
    if (status == POSREF_OK)
        status = check_length(&spec->long_factor, "long_factor", spec, err);
    if (status != POSREF_OK || spec->given[POSREF_FIELD_ATTENTION_FACTOR])
        return status;
    const bool both = spec->given[POSREF_FIELD_SHORT_MSCALE] &&
                      spec->given[POSREF_FIELD_LONG_MSCALE];
    if (!both && !spec->given[POSREF_FIELD_FACTOR])
        return posref_fail(err, POSREF_BAD_INPUT, "factor",
                           "is required by scaling=longrope without attention_factor, or "
                           "short_mscale and long_mscale");
    if (!both && spec->factor > 1 && spec->magnitude == POSREF_LONGROPE_SU &&
        spec->original_max_position_embeddings == 1)
        return posref_fail(err, POSREF_BAD_INPUT, "original_max_position_embeddings",
                           "must exceed 1: magnitude=su divides by its logarithm");
    return POSREF_OK;
}

static bool is_long(const struct posref_spec *spec)
{
    return spec->seq_len > spec->original_max_position_embeddings;
}

static enum posref_status apply(struct posref_ball *theta,
                                const struct posref_scaling_state *state, int i)
{
    const struct posref_spec *spec = state->spec;
    struct posref_ball divisor;
    posref_ball_set_double(&divisor, (is_long(spec) ? &spec->long_factor
                                                    : &spec->short_factor)->item[i]);
    return posref_ball_div(theta, theta, &divisor, state->prec_bits) ? POSREF_OK : POSREF_INTERNAL;
}

/* factor = original^(p/q), p and q as small as they come: true when powers agree exactly. */
static bool rational_logarithm(int64_t *p, int64_t *q, double factor, double original)
{
    const double ratio = log(factor) / log(original); /* a guess, checked below */
    for (*q = 1; *q <= 32; ++*q) {
        struct posref_ball left, right;
        *p = (int64_t)rint(ratio * (double)*q);
        if (*p < 1 || *p > 32 || fabs(ratio * (double)*q - (double)*p) > 1e-9)
            continue;
        posref_ball_set_double(&left, factor);
        posref_ball_set_double(&right, original);
        if (posref_ball_pow_ratio(&left, &left, *q, 1, POSREF_BALL_MAX_BITS - 128) &&
            posref_ball_pow_ratio(&right, &right, *p, 1, POSREF_BALL_MAX_BITS - 128) &&
            posref_ball_compare(&left, &right) == 0)
            return true;
    }
    return false;
}

static enum posref_status su(struct posref_ball *out, const struct posref_spec *spec,
                             unsigned prec_bits)
{
    const double original = spec->original_max_position_embeddings;
    struct posref_ball part;
    int64_t p, q;
    if (rational_logarithm(&p, &q, spec->factor, original)) {
        const int64_t common = posref_whole_gcd(p + q, q);
        const int64_t num = posref_whole_root((p + q) / common, 2);
        const int64_t den = posref_whole_root(q / common, 2);
        if (num && den) {
            posref_ball_ratio(out, num, den, prec_bits);
            return POSREF_OK;
        }
    }
    posref_ball_set_double(out, spec->factor);
    posref_ball_set_double(&part, original);
    if (!posref_ball_log(out, out, prec_bits) || !posref_ball_log(&part, &part, prec_bits) ||
        !posref_ball_div(out, out, &part, prec_bits))
        return POSREF_INTERNAL;
    posref_ball_set_int(&part, 1);
    posref_ball_add(out, out, &part, prec_bits);
    return posref_ball_sqrt(out, out, prec_bits) ? POSREF_OK : POSREF_INTERNAL;
}

static enum posref_status magnitude(struct posref_ball *out, const struct posref_spec *spec,
                                    unsigned prec_bits)
{
    const enum posref_field own = is_long(spec) ? POSREF_FIELD_LONG_MSCALE
                                                : POSREF_FIELD_SHORT_MSCALE;
    posref_ball_set_int(out, 1);
    if (spec->given[POSREF_FIELD_ATTENTION_FACTOR])
        posref_ball_set_double(out, spec->attention_factor);
    else if (spec->given[own])
        posref_ball_set_double(out, is_long(spec) ? spec->long_mscale : spec->short_mscale);
    else if (spec->factor > 1)
        return spec->magnitude == POSREF_LONGROPE_SU
                   ? su(out, spec, prec_bits)
                   : posref_scaling_log_magnitude(out, spec->factor, 1, 10, prec_bits);
    return POSREF_OK;
}

const struct posref_scaling_def posref_scaling_longrope = {
    .fields = fields, .check = check, .apply = apply, .magnitude = magnitude};
