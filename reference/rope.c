/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary position embedding (RoFormer, arXiv 2104.09864), one axis.
 *
 * Pair i of r/2 turns by the angle a = position * theta_i, theta_i = base^(-2i/r), possibly scaled
 * for long context (scaling_*.c), and both cos and sin carry the scaling's attention factor:
 *     y1 = x1 cos a - x2 sin a,    y2 = x2 cos a + x1 sin a.
 * pairing says which channels a pair is; direction=inverse turns x by -a. */
#include "scheme.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_DIM, POSREF_NEED_REQUIRED},       {POSREF_FIELD_BASE, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_ROTARY_DIM, POSREF_NEED_OPTIONAL}, {POSREF_FIELD_PARTIAL, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_PAIRING, POSREF_NEED_DEFAULT},    {POSREF_FIELD_DIRECTION, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_SCALING, POSREF_NEED_DEFAULT},    {0, POSREF_NEED_NONE},
};

static const char *const inputs[] = {"positions", "x", NULL};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->dim % 2)
        return posref_fail(err, POSREF_BAD_INPUT, "dim", "must be even, got %d", spec->dim);
    if (!spec->given[POSREF_FIELD_ROTARY_DIM]) {
        spec->rotary_dim = spec->dim;
        spec->given[POSREF_FIELD_ROTARY_DIM] = true;
    }
    if (spec->rotary_dim % 2)
        return posref_fail(err, POSREF_BAD_INPUT, "rotary_dim", "must be even, got %d",
                           spec->rotary_dim);
    if (spec->rotary_dim > spec->dim)
        return posref_fail(err, POSREF_BAD_INPUT, "rotary_dim", "must be at most dim=%d, got %d",
                           spec->dim, spec->rotary_dim);
    return POSREF_OK;
}

const struct posref_scheme_def posref_rope = {
    .info = {.name = "rope",
             .summary = "rotary position embedding: rotates pairs of query and key channels",
             .formula = "y1 = x1 cos a - x2 sin a; y2 = x2 cos a + x1 sin a; "
                        "a = position * base^(-2i/rotary_dim)",
             .source = "Su et al., RoFormer, arXiv 2104.09864"},
    .fields = fields,
    .inputs = inputs,
    .ops = 1U << POSREF_OP_FREQUENCIES | 1U << POSREF_OP_TABLE | 1U << POSREF_OP_ROTATE,
    .check = check,
};
