/* SPDX-License-Identifier: Apache-2.0 */
/* Llama 3.1's frequency scaling (meta-llama/llama-models): three bands by rotations in the original
 * context. rot_i = L theta_i / (2 pi), L = original_max_position_embeddings,
 * lf = low_freq_factor, hf = high_freq_factor:
 *     rot_i > hf:  theta_i
 *     rot_i < lf:  theta_i / factor
 *     between:     (1 - s) theta_i / factor + s theta_i,   s = (rot_i - lf) / (hf - lf)
 * hf = lf is defined: there is no band between. */
#include "scaling.h"

static const struct posref_field_use fields[] = {
    {POSREF_FIELD_FACTOR, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS, POSREF_NEED_REQUIRED},
    {POSREF_FIELD_LOW_FREQ_FACTOR, POSREF_NEED_DEFAULT},
    {POSREF_FIELD_HIGH_FREQ_FACTOR, POSREF_NEED_DEFAULT},
    {0, POSREF_NEED_NONE},
};

static enum posref_status check(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->high_freq_factor < spec->low_freq_factor)
        return posref_fail(err, POSREF_BAD_INPUT, "high_freq_factor",
                           "must be at least low_freq_factor=%.15g, got %.15g",
                           spec->low_freq_factor, spec->high_freq_factor);
    return POSREF_OK;
}

const struct posref_scaling_def posref_scaling_llama3 = {
    .fields = fields,
    .check = check,
};
