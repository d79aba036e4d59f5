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
 *     given, replaces it. */
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

const struct posref_scaling_def posref_scaling_yarn = {
    .fields = fields,
    .check = check,
};
