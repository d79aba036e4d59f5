/* SPDX-License-Identifier: Apache-2.0 */
/* YaRN (Peng et al., arXiv 2309.00071) as its released code and Hugging Face compute it: the ramp
 * is linear in the pair index i between two correction dimensions.
 *
 *     cd(n) = r ln(L / (2 pi n)) / (2 ln base)      L = original_max_position_embeddings
 *     lo = cd(beta_fast), hi = cd(beta_slow);  truncate: lo = floor(lo), hi = ceil(hi)
 *     lo = max(lo, 0), hi = min(hi, r - 1);  lo = hi: hi += 1/1000
 *     t_i = clamp((i - lo) / (hi - lo), 0, 1)
 *     theta'_i = theta_i t_i / factor + theta_i (1 - t_i)
 * Attention factor: m(s) = 1 + s ln(factor) / 10 for factor > 1, else 1;
 *     m(mscale) / m(mscale_all_dim) if both are given and not 0, else m(1); attention_factor, when
 *     given, replaces it.
 * The constants 1/10 and 1/1000 are these decimals, not the doubles nearest to them.
 *
 * cd(n) is never an integer k or a rational bound: that would make 2 pi = L / (n base^(2k/r)), an
 * algebraic number. So floor, ceil and the clamps are decided by enough precision. A range that
 * lies outside [0, r - 1] as a whole leaves lo > hi; the formula is then followed as it stands
 * (all t = 1 for a range above, all t = 0 for one below), which is what implementations do. */
#include "scaling.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_BETA_FAST, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_BETA_SLOW, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_TRUNCATE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_MSCALE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MSCALE_ALL_DIM, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_ATTENTION_FACTOR, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->beta_fast < spec->beta_slow)
        return posref_fail(err, POSREF_BAD_INPUT, "beta_fast",
                           "must be at least beta_slow=%.15g, got %.15g", spec->beta_slow,
                           spec->beta_fast);
    return POSREF_OK;
}

/* cd(n), then clamped to [-1, r]: beyond these the ramp is the same, and floor stays small however
 * close base is to 1. */
static enum posref_status correction_dim(struct posref_ball *out, const struct posref_spec *spec,
                                         double rotations, unsigned prec_bits)
{
    struct posref_ball part, limit;
    posref_ball_pi(&part, prec_bits);
    posref_ball_scale2(&part, &part, 1);
    posref_ball_set_double(out, rotations);
    posref_ball_mul(&part, &part, out, prec_bits);
    posref_ball_set_double(out, spec->original_max_position_embeddings);
    if (!posref_ball_div(out, out, &part, prec_bits) || !posref_ball_log(out, out, prec_bits))
        return POSREF_INTERNAL;
    posref_ball_set_int(&part, spec->rotary_dim);
    posref_ball_mul(out, out, &part, prec_bits);
    posref_ball_set_double(&part, spec->base);
    if (!posref_ball_log(&part, &part, prec_bits) || !posref_ball_div(out, out, &part, prec_bits))
        return POSREF_INTERNAL;
    posref_ball_scale2(out, out, -1);
    posref_ball_set_int(&limit, -1);
    int below = posref_ball_compare(out, &limit);
    if (below == -1)
        posref_ball_set(out, &limit);
    posref_ball_set_int(&limit, spec->rotary_dim);
    int above = posref_ball_compare(out, &limit);
    if (above == 1)
        posref_ball_set(out, &limit);
    return below == 2 || above == 2 ? POSREF_INTERNAL : POSREF_OK;
}

static bool round_outwards(struct posref_ball *lo, struct posref_ball *hi)
{
    int64_t whole;
    if (!posref_ball_floor(&whole, lo))
        return false;
    posref_ball_set_int(lo, whole);
    posref_ball_neg(hi, hi);
    if (!posref_ball_floor(&whole, hi))
        return false;
    posref_ball_set_int(hi, -whole);
    return true;
}

/* state->a = lo, state->b = hi. */
static enum posref_status prepare(struct posref_scaling_state *state)
{
    const struct posref_spec *spec = state->spec;
    const unsigned prec_bits = state->prec_bits;
    struct posref_ball *lo = &state->a, *hi = &state->b, limit;
    enum posref_status status = correction_dim(lo, spec, spec->beta_fast, prec_bits);
    if (status == POSREF_OK)
        status = correction_dim(hi, spec, spec->beta_slow, prec_bits);
    if (status == POSREF_OK && spec->truncate && !round_outwards(lo, hi))
        status = POSREF_INTERNAL;
    if (status != POSREF_OK)
        return status;
    posref_ball_set_int(&limit, 0);
    int lo_clamped = posref_ball_compare(lo, &limit);
    if (lo_clamped == -1)
        posref_ball_set(lo, &limit);
    posref_ball_set_int(&limit, spec->rotary_dim - 1);
    int hi_clamped = posref_ball_compare(hi, &limit);
    if (hi_clamped == 1)
        posref_ball_set(hi, &limit);
    if (lo_clamped == 2 || hi_clamped == 2)
        return POSREF_INTERNAL;
    /* lo = hi: as whole numbers, or as one irrational number that neither clamp has touched. */
    bool same = spec->beta_fast == spec->beta_slow && !spec->truncate && lo_clamped != -1 &&
                hi_clamped != 1;
    if (same || posref_ball_compare(lo, hi) == 0) {
        posref_ball_ratio(&limit, 1, 1000, prec_bits);
        posref_ball_add(hi, lo, &limit, prec_bits);
    }
    return POSREF_OK;
}

static enum posref_status apply(struct posref_ball *theta,
                                const struct posref_scaling_state *state, int i)
{
    const unsigned prec_bits = state->prec_bits;
    struct posref_ball t, width, one, zero;
    posref_ball_set_int(&one, 1);
    posref_ball_set_int(&zero, 0);
    posref_ball_set_int(&t, i);
    posref_ball_sub(&t, &t, &state->a, prec_bits);
    posref_ball_sub(&width, &state->b, &state->a, prec_bits);
    if (posref_ball_compare(&t, &zero) == 0)
        return POSREF_OK; /* i = lo: t = 0 */
    if (posref_ball_compare(&t, &width) == 0)
        posref_ball_set(&t, &one); /* i = hi: exactly 1, where a quotient might lose exactness */
    else if (!posref_ball_div(&t, &t, &width, prec_bits))
        return POSREF_INTERNAL;
    int above_zero = posref_ball_compare(&t, &zero), above_one = posref_ball_compare(&t, &one);
    if (above_zero == 2 || above_one == 2)
        return POSREF_INTERNAL;
    if (above_zero == -1)
        return POSREF_OK;
    if (above_one == 1)
        posref_ball_set(&t, &one);
    return posref_scaling_blend(theta, &t, state->spec->factor, prec_bits);
}

static enum posref_status magnitude(struct posref_ball *out, const struct posref_spec *spec,
                                    unsigned prec_bits)
{
    if (spec->given[POSREF_FIELD_ATTENTION_FACTOR]) {
        posref_ball_set_double(out, spec->attention_factor);
        return POSREF_OK;
    }
    /* A field without a value is 0, so that this is "both are given and not 0". */
    bool ratio = spec->mscale != 0 && spec->mscale_all_dim != 0;
    posref_ball_set_int(out, 1);
    if (spec->factor <= 1 || (ratio && spec->mscale == spec->mscale_all_dim))
        return POSREF_OK;
    enum posref_status status = posref_scaling_log_magnitude(out, spec->factor,
                                                             ratio ? spec->mscale : 1, 10,
                                                             prec_bits);
    if (status != POSREF_OK || !ratio)
        return status;
    struct posref_ball all_dim;
    status = posref_scaling_log_magnitude(&all_dim, spec->factor, spec->mscale_all_dim, 10,
                                          prec_bits);
    if (status == POSREF_OK && !posref_ball_div(out, out, &all_dim, prec_bits))
        status = POSREF_INTERNAL;
    return status;
}

const struct posref_scaling_def posref_scaling_yarn = {
    .fields = fields,
    .check = check,
    .prepare = prepare,
    .apply = apply,
    .magnitude = magnitude,
};
