/* SPDX-License-Identifier: Apache-2.0 */
/* yarn's attention factor as implementations read it. With m(s) = 1 + s ln(factor) / 10 for factor
 * > 1, else 1, mscale_rule says which is meant:
 *     both      m(mscale) / m(mscale_all_dim) if both are given and not 0, else m(1)
 *     ratio     m(mscale, else 1) / m(mscale_all_dim, else 0)
 *     ignored   m(1)
 *     telechat  1 + 0.07 ln(factor) for factor > 1, else 1
 *     ggml      1 + 0.1 ln(factor), for factors below 1 too
 *     none      1
 * attention_factor, where given, replaces the result, multiplies it or is ignored, as
 * attention_factor_rule says. 1/10 and 7/100 are these decimals, not the doubles nearest to them.
 * ln(factor) is transcendental, so that no result is a tie but where nothing is left of it.
 *
 * Sources: huggingface/transformers:src/transformers/modeling_rope_utils.py (both);
 * deepseek-ai/DeepSeek-V3 in Hugging Face's modeling_deepseek.py, vllm-project/vllm:vllm/
 * model_executor/layers/rotary_embedding/deepseek_scaling_rope.py (ratio),
 * yarn_scaling_rope.py (ignored, multiplies) and telechat3_scaling_rope.py beside it;
 * ggml-org/ggml:src/ggml-cpu/ops.cpp; deepseek-ai/DeepSeek-V3:inference/model.py (none). */
#include "scaling.h"

/* m(top) / m(under), m with percent / 100 for 1/10. */
struct reading {
    double top, under;
    int percent;
};

static struct reading reading_of(const struct posref_spec *spec)
{
    const bool has = spec->given[POSREF_FIELD_MSCALE];
    const bool all = spec->given[POSREF_FIELD_MSCALE_ALL_DIM];
    struct reading out = {.top = 1, .percent = 10};
    switch (spec->mscale_rule) {
    case POSREF_MSCALE_RATIO:
        out.top = has ? spec->mscale : 1;
        out.under = all ? spec->mscale_all_dim : 0;
        break;
    case POSREF_MSCALE_TELECHAT: out.percent = 7; break;
    case POSREF_MSCALE_NONE: out.top = 0; break;
    case POSREF_MSCALE_IGNORED:
    case POSREF_MSCALE_GGML: break;
    default: /* a field without a value is 0 */
        if (spec->mscale != 0 && spec->mscale_all_dim != 0) {
            out.top = spec->mscale;
            out.under = spec->mscale_all_dim;
        }
    }
    return out;
}

enum posref_status posref_scaling_yarn_check(const struct posref_spec *spec,
                                             struct posref_error *err)
{
    if (spec->mscale_rule == POSREF_MSCALE_GGML && spec->factor < 1e-4)
        return posref_fail(err, POSREF_BAD_INPUT, "mscale_rule",
                           "ggml makes 1 + 0.1 ln factor, which needs a factor of 0.0001 or more, "
                           "got %.15g", spec->factor);
    return POSREF_OK;
}

static enum posref_status own_factor(struct posref_ball *out, const struct posref_spec *spec,
                                     unsigned prec_bits)
{
    const struct reading r = reading_of(spec);
    posref_ball_set_int(out, 1);
    if (r.top == r.under || spec->factor == 1 ||
        (spec->factor < 1 && spec->mscale_rule != POSREF_MSCALE_GGML))
        return POSREF_OK;
    enum posref_status status = posref_scaling_log_magnitude(out, spec->factor, r.top, r.percent,
                                                             prec_bits);
    if (status != POSREF_OK || r.under == 0)
        return status;
    struct posref_ball under;
    status = posref_scaling_log_magnitude(&under, spec->factor, r.under, r.percent, prec_bits);
    if (status == POSREF_OK && !posref_ball_div(out, out, &under, prec_bits))
        status = POSREF_INTERNAL;
    return status;
}

enum posref_status posref_scaling_yarn_magnitude(struct posref_ball *out,
                                                 const struct posref_spec *spec,
                                                 unsigned prec_bits)
{
    const bool given = spec->given[POSREF_FIELD_ATTENTION_FACTOR];
    struct posref_ball times;
    posref_ball_set_double(&times, given ? spec->attention_factor : 1);
    if (given && spec->attention_factor_rule == POSREF_ATTENTION_FACTOR_REPLACES) {
        posref_ball_set(out, &times);
        return POSREF_OK;
    }
    enum posref_status status = own_factor(out, spec, prec_bits);
    if (status == POSREF_OK && spec->attention_factor_rule == POSREF_ATTENTION_FACTOR_MULTIPLIES)
        posref_ball_mul(out, out, &times, prec_bits);
    return status;
}
