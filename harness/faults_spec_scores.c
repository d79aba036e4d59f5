/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of specs of biases, relative terms, scores and attention. */
#include "faults_spec.h"

/* ---- biases and relative terms ---- */

bool posref_change_bidirectional(struct posref_spec *spec, double value)
{
    (void)value;
    return posref_change_field(spec, POSREF_FIELD_BIDIRECTIONAL, !spec->bidirectional);
}

bool posref_change_buckets_halved(struct posref_spec *spec, double value)
{
    (void)value;
    return spec->num_buckets % 4 == 0 && spec->num_buckets >= 8 &&
           posref_change_field(spec, POSREF_FIELD_NUM_BUCKETS, spec->num_buckets / 2);
}

bool posref_change_layout_of_weights(struct posref_spec *spec, double value)
{
    (void)value;
    return posref_change_field(spec, POSREF_FIELD_WEIGHTS_LAYOUT,
                               spec->weights_layout == POSREF_WEIGHTS_ENTRIES_HEADS
                                   ? POSREF_WEIGHTS_HEADS_ENTRIES : POSREF_WEIGHTS_ENTRIES_HEADS);
}

bool posref_change_kernel(struct posref_spec *spec, double value)
{
    (void)value;
    return posref_change_field(spec, POSREF_FIELD_KERNEL,
                               spec->kernel == POSREF_KERNEL_LOG ? POSREF_KERNEL_POWER
                                                                 : POSREF_KERNEL_LOG);
}

bool posref_change_window(struct posref_spec *spec, double value)
{
    (void)value;
    int *side = spec->window_size.item, first = side[0];
    side[0] = side[1];
    side[1] = first;
    return posref_spec_has(spec, POSREF_FIELD_WINDOW_SIZE);
}

bool posref_change_clamp(struct posref_spec *spec, double value)
{
    (void)value;
    const bool had = posref_spec_has(spec, POSREF_FIELD_CLAMP_LEN);
    spec->given[POSREF_FIELD_CLAMP_LEN] = false;
    spec->clamp_len = 0;
    return had;
}

/* ---- scores ---- */

bool posref_change_scale_default(struct posref_spec *spec, double value)
{
    (void)value;
    const bool had = posref_spec_has(spec, POSREF_FIELD_SOFTMAX_SCALE);
    spec->given[POSREF_FIELD_SOFTMAX_SCALE] = false;
    spec->softmax_scale = 0;
    return had;
}

bool posref_change_scale_missing(struct posref_spec *spec, double value)
{
    (void)value;
    if (!posref_field_applies(spec, POSREF_FIELD_SOFTMAX_SCALE) ||
        (spec->given[POSREF_FIELD_SOFTMAX_SCALE] && spec->softmax_scale == 1))
        return false;
    spec->softmax_scale = 1;
    return spec->given[POSREF_FIELD_SOFTMAX_SCALE] = true;
}

bool posref_change_causal(struct posref_spec *spec, double value)
{
    (void)value;
    if (!posref_field_applies(spec, POSREF_FIELD_CAUSAL))
        return false;
    spec->causal = !spec->causal;
    spec->given[POSREF_FIELD_CAUSAL] = true;
    spec->given[POSREF_FIELD_CAUSAL_ALIGN] = spec->causal;
    spec->causal_align = POSREF_ALIGN_BOTTOM_RIGHT;
    return true;
}
