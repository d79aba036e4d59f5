/* SPDX-License-Identifier: Apache-2.0 */
/* Scalings that go by the length of the sequence, r = rotary_dim, L = original_max_position_
 * embeddings, S = the length: seq_len, or what Hugging Face's history keeps, and never below L, so
 * that a sequence up to L is not scaled.
 *     dynamic           base' = base (factor S/L - (factor - 1))^(r/(r-2))
 *                       (Hugging Face; emozilla)
 *     dynamic_constant  base' = base (factor^2 - factor + 1)^(r/(r-2))   (vLLM until 2026-04 and
 *                       SGLang: S = factor L whatever the length)
 *     dynamic_alpha     base' = base alpha^(r/(r-2)), alpha = max(1, 2^(ceil(log2(S/L)) + 1) - 1)
 *                       (Qwen-1)
 *     dynamic_linear    theta_i / max(S/L, factor)    (TransformerEngine)
 *
 * No tie: base'^(-2i/r) = base^(-2i/r) (L / N)^(2i/(r-2)) with N = factor S - (factor - 1) L >= L
 * exactly. Beside the cases of ladder.c it is dyadic only where (L / N)^(2i/(r-2)) has a power of
 * two below the line, and then its odd part divides that of L: at most 53 bits, a double. */
#include "scaling.h"

#include <math.h>

static const struct posref_field_use dynamic_fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_SEQ_LEN, POSREF_NEED_OPTIONAL},
    {POSREF_FIELD_SEQ_LEN_HISTORY, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};
static const struct posref_field_use constant_fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_REQUIRED},
    {0, POSREF_NEED_NONE},
};
static const struct posref_field_use alpha_fields[] = {
    {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_SEQ_LEN, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};
static const struct posref_field_use linear_fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_SEQ_LEN, POSREF_NEED_OPTIONAL},
    {0, POSREF_NEED_NONE},
};

/* factor <= 1e6 has no bit below 2^-72, a length none below 2^-52: sums of their products are exact
 * in 256 bits. */
#define EXACT_BITS 512

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    return posref_scaling_check_ntk(spec, err);
}

/* a b + c as an exact ball; out is not c. */
static void product_plus(struct posref_ball *out, double a, double b, const struct posref_ball *c)
{
    struct posref_ball part;
    posref_ball_set_double(out, a);
    posref_ball_set_double(&part, b);
    posref_ball_mul(out, out, &part, EXACT_BITS);
    posref_ball_add(out, out, c, EXACT_BITS);
}

static void stretch_by_ntk(struct posref_ladder *ladder, const struct posref_spec *spec)
{
    ladder->stretch_num = 2;
    ladder->stretch_den = spec->rotary_dim - 2;
}

/* (factor S - factor L + L) / L */
static void dynamic_ladder(struct posref_ladder *ladder, const struct posref_spec *spec)
{
    const double original = spec->original_max_position_embeddings;
    struct posref_ball whole, rest;
    posref_ball_set_double(&whole, original);
    product_plus(&rest, spec->factor, -original, &whole);
    product_plus(&ladder->stretch, spec->factor, posref_scaling_length(spec), &rest);
    ladder->over = original;
    stretch_by_ntk(ladder, spec);
}

/* factor (factor - 1) + 1 = factor factor - factor + 1 */
static void constant_ladder(struct posref_ladder *ladder, const struct posref_spec *spec)
{
    struct posref_ball one, factor, rest;
    posref_ball_set_int(&one, 1);
    posref_ball_set_double(&factor, spec->factor);
    posref_ball_sub(&rest, &one, &factor, EXACT_BITS);
    product_plus(&ladder->stretch, spec->factor, spec->factor, &rest);
    stretch_by_ntk(ladder, spec);
}

/* The smallest k >= 0 with 2^k L >= S gives 2^(k+1) - 1; S <= L gives 1. */
static void alpha_ladder(struct posref_ladder *ladder, const struct posref_spec *spec)
{
    const double length = posref_scaling_length(spec);
    int k = 0;
    while (ldexp(spec->original_max_position_embeddings, k) < length)
        k++;
    posref_ball_set_int(&ladder->stretch, ((int64_t)2 << k) - 1);
    stretch_by_ntk(ladder, spec);
}

/* max(S/L, factor): S > factor L decides, exactly. */
static enum posref_status linear_apply(struct posref_ball *theta,
                                       const struct posref_scaling_state *state, int i)
{
    (void)i;
    const struct posref_spec *spec = state->spec;
    struct posref_ball length, limit, original;
    posref_ball_set_double(&length, posref_scaling_length(spec));
    posref_ball_set_double(&limit, spec->factor);
    posref_ball_set_double(&original, spec->original_max_position_embeddings);
    posref_ball_mul(&limit, &limit, &original, EXACT_BITS);
    bool by_length = posref_ball_compare(&length, &limit) == 1;
    if (by_length) {
        posref_ball_mul(theta, theta, &original, state->prec_bits);
        return posref_ball_div(theta, theta, &length, state->prec_bits) ? POSREF_OK
                                                                        : POSREF_INTERNAL;
    }
    posref_ball_set_double(&limit, spec->factor);
    return posref_ball_div(theta, theta, &limit, state->prec_bits) ? POSREF_OK : POSREF_INTERNAL;
}

const struct posref_scaling_def posref_scaling_dynamic = {
    .fields = dynamic_fields, .check = check, .ladder = dynamic_ladder};
const struct posref_scaling_def posref_scaling_dynamic_constant = {
    .fields = constant_fields, .check = check, .ladder = constant_ladder};
const struct posref_scaling_def posref_scaling_dynamic_alpha = {
    .fields = alpha_fields, .check = check, .ladder = alpha_ladder};
const struct posref_scaling_def posref_scaling_dynamic_linear = {
    .fields = linear_fields, .apply = linear_apply};
