/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of channels of a sinusoidal table, one an axis. */
#include "wave_axes.h"

int posref_wave_axes_count(const struct posref_spec *spec)
{
    return spec->given[POSREF_FIELD_AXES_DIMS] ? spec->axes_dims.n : 1;
}

static int axis_of(const struct posref_spec *spec, int b)
{
    const int n = posref_wave_axes_count(spec);
    if (spec->axes_channels == POSREF_AXES_CHANNELS_REVERSED)
        return n - 1 - b;
    if (spec->axes_channels == POSREF_AXES_CHANNELS_COLUMN_FIRST && b >= n - 2)
        return 2 * n - 3 - b;
    return b;
}

void posref_wave_axes_block(struct posref_block *block, int *axis, struct posref_spec *alone,
                            const struct posref_spec *spec, int b)
{
    int first = 0;
    *alone = *spec;
    *axis = 0;
    if (spec->given[POSREF_FIELD_AXES_DIMS]) {
        for (int before = 0; before < b; before++)
            first += spec->axes_dims.item[axis_of(spec, before)];
        *axis = axis_of(spec, b);
        alone->dim = spec->axes_dims.item[*axis];
        alone->axes_lengths.item[0] = spec->axes_lengths.item[*axis];
    }
    posref_layout_block(block, alone);
    block->first = first;
}

/* Fields that say nothing without axes_dims, or without axes_lengths. */
static enum posref_status check_alone(const struct posref_spec *spec, struct posref_error *err)
{
    static const enum posref_field about_axes[] = {
        POSREF_FIELD_AXES_CHANNELS, POSREF_FIELD_AXES_LENGTHS, POSREF_FIELD_ANGLE_UNIT};
    for (size_t k = 0; k < sizeof about_axes / sizeof *about_axes; k++)
        if (spec->given[about_axes[k]] && !spec->given[POSREF_FIELD_AXES_DIMS])
            return posref_fail(err, POSREF_BAD_INPUT, posref_field_def(about_axes[k])->name,
                               "needs axes_dims");
    if (spec->given[POSREF_FIELD_LENGTH_EPS] && !spec->given[POSREF_FIELD_AXES_LENGTHS])
        return posref_fail(err, POSREF_BAD_INPUT, "length_eps", "needs axes_lengths");
    return POSREF_OK;
}

static enum posref_status check_dims(const struct posref_spec *spec, struct posref_error *err)
{
    const struct posref_ints *dims = &spec->axes_dims;
    const bool half = spec->exponent == POSREF_EXPONENT_HALF_MINUS_ONE;
    int64_t sum = 0;
    for (int k = 0; k < dims->n; k++) {
        if (dims->item[k] % 2)
            return posref_fail(err, POSREF_BAD_INPUT, "axes_dims",
                               "entry %d must be even, got %d", k + 1, dims->item[k]);
        if (half && dims->item[k] < 4)
            return posref_fail(err, POSREF_BAD_INPUT, "exponent",
                               "half_minus_one divides by an axis's width / 2 - 1 and needs "
                               "widths >= 4, got %d", dims->item[k]);
        sum += dims->item[k];
    }
    if (sum != spec->dim)
        return posref_fail(err, POSREF_BAD_INPUT, "axes_dims",
                           "must add up to dim=%d, got %lld", spec->dim, (long long)sum);
    if (spec->axes_channels == POSREF_AXES_CHANNELS_COLUMN_FIRST && dims->n < 2)
        return posref_fail(err, POSREF_BAD_INPUT, "axes_channels",
                           "column_first exchanges the last two axes, and there is one");
    if (spec->given[POSREF_FIELD_AXES_LENGTHS] && spec->axes_lengths.n != dims->n)
        return posref_fail(err, POSREF_BAD_INPUT, "axes_lengths",
                           "needs one length an axis, %d, got %d", dims->n, spec->axes_lengths.n);
    return POSREF_OK;
}

/* What several axes, or angles in turns, exclude. In turns an angle may have a sine like sqrt(2)/2,
 * which a root of dim could cancel; nothing in use has both. */
static enum posref_status check_others(const struct posref_spec *spec, struct posref_error *err)
{
    const char *unit = posref_field_def(POSREF_FIELD_ANGLE_UNIT)->choices[spec->angle_unit];
    if (spec->given[POSREF_FIELD_PADDING_IDX])
        return posref_fail(err, POSREF_BAD_INPUT, "padding_idx",
                           "counts positions along one axis; with axes_dims give positions and a "
                           "mask");
    if (spec->angle_unit == POSREF_ANGLE_UNIT_RADIAN)
        return POSREF_OK;
    if (spec->min_timescale != 1)
        return posref_fail(err, POSREF_BAD_INPUT, "min_timescale", "must be 1 with angle_unit=%s",
                           unit);
    if (spec->x_scale != POSREF_X_SCALE_ONE)
        return posref_fail(err, POSREF_BAD_INPUT, "x_scale", "must be one with angle_unit=%s",
                           unit);
    return POSREF_OK;
}

enum posref_status posref_wave_axes_check(struct posref_spec *spec, struct posref_error *err)
{
    enum posref_status status = check_alone(spec, err);
    if (status != POSREF_OK || !spec->given[POSREF_FIELD_AXES_DIMS])
        return status;
    /* Fields left out are 0: in order, radians, nothing added. */
    spec->given[POSREF_FIELD_AXES_CHANNELS] = spec->given[POSREF_FIELD_ANGLE_UNIT] = true;
    spec->given[POSREF_FIELD_LENGTH_EPS] = spec->given[POSREF_FIELD_AXES_LENGTHS];
    status = check_dims(spec, err);
    return status == POSREF_OK ? check_others(spec, err) : status;
}
