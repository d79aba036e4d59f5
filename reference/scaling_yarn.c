/* SPDX-License-Identifier: Apache-2.0 */
/* YaRN (Peng et al., arXiv 2309.00071) as its released code and Hugging Face compute it: the ramp
 * is linear in the pair index i between two correction dimensions.
 *
 *     cd(n) = r ln(L / (2 pi n)) / (2 ln base)      L = original_max_position_embeddings
 *     lo = cd(beta_fast), hi = cd(beta_slow);  truncate: lo = floor(lo), hi = ceil(hi)
 *     lo = max(lo, 0), hi = min(hi, r - 1);  lo = hi: hi += 1/1000
 *     t_i = clamp((i - lo) / (hi - lo), 0, 1)
 *     theta'_i = theta_i t_i / factor + theta_i (1 - t_i)
 * range_rule says which of several readings of the third line is meant: hi = min(hi, r/2 - 1)
 * (half), no max and no min (unclamped), or hi = max(hi, lo + 1/1000) after both (at_least: ggml).
 * 1/1000 is this decimal, not the double nearest to it. scaling_yarn_magnitude.c has the attention
 * factor.
 *
 * cd(n) is never an integer k or a rational bound: that would make 2 pi = L / (n base^(2k/r)), an
 * algebraic number. So floor, ceil and the clamps are decided by enough precision. A range that
 * lies outside [0, r - 1] as a whole leaves lo > hi; the formula is then followed as it stands
 * (all t = 1 for a range above, all t = 0 for one below), which is what implementations do; under
 * at_least it is a step at lo instead. */
#include "scaling.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_BETA_FAST, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_BETA_SLOW, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_TRUNCATE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_RANGE_RULE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MSCALE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MSCALE_ALL_DIM, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_MSCALE_RULE, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_ATTENTION_FACTOR, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_ATTENTION_FACTOR_RULE, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

/* cd(n) */
static enum posref_status correction_dim(struct posref_ball *out, const struct posref_spec *spec,
                                         double rotations, unsigned prec_bits)
{
    struct posref_ball part;
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
    return POSREF_OK;
}

/* x = max(x, least), or min where `sign` is -1; *done says that the limit holds. */
static bool clamp(struct posref_ball *x, bool *done, int least, int sign)
{
    struct posref_ball limit;
    posref_ball_set_int(&limit, least);
    const int side = posref_ball_compare(x, &limit);
    *done = side == -sign;
    if (*done)
        posref_ball_set(x, &limit);
    return side != 2;
}

/* Beyond [-1, r] the clamped ramp is the same, and floor stays small however close base is to 1. */
static bool narrow(struct posref_ball *cd, int r)
{
    bool done;
    return clamp(cd, &done, -1, 1) && clamp(cd, &done, r, -1);
}

/* The unclamped range is followed as far as whole numbers go. */
static enum posref_status check_unclamped(const struct posref_spec *spec, struct posref_error *err)
{
    const double rotations[] = {spec->beta_fast, spec->beta_slow};
    for (int end = 0; end < 2; end++) {
        struct posref_ball cd, least, most;
        enum posref_status status = correction_dim(&cd, spec, rotations[end], 256);
        if (status != POSREF_OK)
            return status;
        posref_ball_set_int(&most, INT64_C(1) << 40);
        posref_ball_neg(&least, &most);
        if (posref_ball_compare(&cd, &most) != -1 || posref_ball_compare(&cd, &least) != 1)
            return posref_fail(err, POSREF_BAD_INPUT, "base",
                               "so close to 1 puts yarn's unclamped range beyond 2^40 pairs");
    }
    return POSREF_OK;
}

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->beta_fast < spec->beta_slow)
        return posref_fail(err, POSREF_BAD_INPUT, "beta_fast",
                           "must be at least beta_slow=%.15g, got %.15g", spec->beta_slow,
                           spec->beta_fast);
    enum posref_status status = posref_scaling_yarn_check(spec, err);
    return status == POSREF_OK && spec->range_rule == POSREF_RANGE_UNCLAMPED
               ? check_unclamped(spec, err) : status;
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

/* hi where the two ends meet, or come closer than the rule allows. `untouched`: neither is clamped
 * or rounded. */
static enum posref_status keep_apart(struct posref_ball *lo, struct posref_ball *hi,
                                     const struct posref_spec *spec, bool untouched,
                                     unsigned prec_bits)
{
    struct posref_ball least, width;
    posref_ball_ratio(&least, 1, 1000, prec_bits);
    /* One irrational number: no precision tells its ends apart. */
    bool meet = untouched && spec->beta_fast == spec->beta_slow;
    if (!meet && spec->range_rule == POSREF_RANGE_AT_LEAST) {
        posref_ball_sub(&width, hi, lo, prec_bits);
        const int side = posref_ball_compare(&width, &least);
        if (side == 2)
            return POSREF_INTERNAL;
        meet = side == -1;
    } else if (!meet) {
        meet = posref_ball_compare(lo, hi) == 0;
    }
    if (meet)
        posref_ball_add(hi, lo, &least, prec_bits);
    return POSREF_OK;
}

/* state->a = lo, state->b = hi. */
static enum posref_status prepare(struct posref_scaling_state *state)
{
    const struct posref_spec *spec = state->spec;
    const unsigned prec_bits = state->prec_bits;
    struct posref_ball *lo = &state->a, *hi = &state->b;
    const bool clamped = spec->range_rule != POSREF_RANGE_UNCLAMPED;
    const int last = spec->range_rule == POSREF_RANGE_HALF ? spec->rotary_dim / 2 - 1
                                                           : spec->rotary_dim - 1;
    bool lo_clamped = false, hi_clamped = false;
    enum posref_status status = correction_dim(lo, spec, spec->beta_fast, prec_bits);
    if (status == POSREF_OK)
        status = correction_dim(hi, spec, spec->beta_slow, prec_bits);
    if (status != POSREF_OK)
        return status;
    if (clamped && !(narrow(lo, spec->rotary_dim) && narrow(hi, spec->rotary_dim)))
        return POSREF_INTERNAL;
    if (spec->truncate && !round_outwards(lo, hi))
        return POSREF_INTERNAL;
    if (clamped && !(clamp(lo, &lo_clamped, 0, 1) && clamp(hi, &hi_clamped, last, -1)))
        return POSREF_INTERNAL;
    return keep_apart(lo, hi, spec, !spec->truncate && !lo_clamped && !hi_clamped, prec_bits);
}

static enum posref_status apply(struct posref_ball *theta,
                                const struct posref_scaling_state *state, int i)
{
    const unsigned prec_bits = state->prec_bits;
    struct posref_ball t, width, one, zero;
    posref_ball_set_int(&one, 1);
    posref_ball_set_int(&zero, 0);
    posref_ball_set_int(&t, i);
    const bool at_hi = posref_ball_compare(&t, &state->b) == 0;
    posref_ball_sub(&t, &t, &state->a, prec_bits);
    posref_ball_sub(&width, &state->b, &state->a, prec_bits);
    if (posref_ball_compare(&t, &zero) == 0)
        return POSREF_OK; /* i = lo: t = 0 */
    if (at_hi)
        posref_ball_set(&t, &one); /* i = hi: exactly 1, which lo, if irrational, would blur */
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

const struct posref_scaling_def posref_scaling_yarn = {
    .fields = fields,
    .check = check,
    .prepare = prepare,
    .apply = apply,
    .magnitude = posref_scaling_yarn_magnitude,
};
