/* SPDX-License-Identifier: Apache-2.0 */
/* Sinusoidal position embedding (Vaswani et al., arXiv 1706.03762).
 *
 * theta_i = base^(-2i/dim)            exponent=d, the paper's
 * theta_i = base^(-i/(dim/2 - 1))     exponent=half_minus_one (tensor2tensor, fairseq)
 * table[p] = sin p theta_0, cos p theta_0, sin p theta_1, ...     order=interleaved
 * table[p] = sin p theta_0, sin p theta_1, ..., cos p theta_0, ... order=concat */
#include "scheme.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},  {POSREF_FIELD_BASE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_ORDER, POSREF_NEED_DEFAULT}, {POSREF_FIELD_EXPONENT, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static const char *const inputs[] = {"positions", "x", NULL};

/* Implementations disagree on the last channel of an odd dim (a zero column, or one sine more), so
 * an odd dim waits for named variants. */
static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->dim % 2)
        return posref_fail(err, POSREF_BAD_INPUT, "dim", "must be even, got %d", spec->dim);
    if (spec->exponent == POSREF_EXPONENT_HALF_MINUS_ONE && spec->dim < 4)
        return posref_fail(err, POSREF_BAD_INPUT, "exponent",
                           "half_minus_one divides by dim/2 - 1 and needs dim >= 4, got dim=%d",
                           spec->dim);
    return POSREF_OK;
}

const struct posref_scheme_def posref_sinusoidal = {
    .info = {.name = "sinusoidal",
             .summary = "fixed sines and cosines of the position, added to the token embedding",
             .formula = "PE(p, 2i) = sin(p base^(-2i/dim)); PE(p, 2i+1) = cos(p base^(-2i/dim))",
             .source = "Vaswani et al., Attention Is All You Need, arXiv 1706.03762"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_TABLE | 1U << POSREF_OP_EMBED,
    .check = check,
};
