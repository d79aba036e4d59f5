/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of specs of several axes. */
#include "faults_spec.h"

#include <string.h>

/* The list of widths or sections that says which pair has which axis; NULL: none. */
static struct posref_ints *axes_of(struct posref_spec *spec)
{
    if (posref_spec_has(spec, POSREF_FIELD_AXES_DIMS))
        return &spec->axes_dims;
    return posref_spec_has(spec, POSREF_FIELD_MROPE_SECTION) ? &spec->mrope_section : NULL;
}

/* Widths of channels stay even; what is left over goes to the first axis. */
bool posref_change_axes_equal(struct posref_spec *spec, double value)
{
    (void)value;
    struct posref_ints *list = axes_of(spec);
    const int unit = list == &spec->axes_dims ? 2 : 1;
    int sum = 0;
    for (int k = 0; list && k < list->n; k++)
        sum += list->item[k];
    if (!list || list->n < 2)
        return false;
    const struct posref_ints old = *list;
    const int each = sum / list->n / unit * unit;
    for (int k = 0; k < list->n; k++)
        list->item[k] = k ? each : sum - each * (list->n - 1);
    return memcmp(&old, list, sizeof old) != 0;
}

bool posref_change_axes_reversed(struct posref_spec *spec, double value)
{
    (void)value;
    struct posref_ints *list = axes_of(spec);
    if (!list)
        return false;
    const struct posref_ints old = *list;
    for (int k = 0; k < list->n; k++)
        list->item[k] = old.item[list->n - 1 - k];
    return memcmp(&old, list, sizeof old) != 0;
}

bool posref_change_axes_ntk(struct posref_spec *spec, double value)
{
    (void)value;
    const bool had = posref_spec_has(spec, POSREF_FIELD_AXES_NTK);
    spec->given[POSREF_FIELD_AXES_NTK] = false;
    memset(&spec->axes_ntk, 0, sizeof spec->axes_ntk);
    return had;
}

/* Factors of bases are defined for ladders of their own alone. */
bool posref_change_axes_ladder(struct posref_spec *spec, double value)
{
    if (!posref_change_field(spec, POSREF_FIELD_AXES_LADDER, value))
        return false;
    if (spec->axes_ladder != POSREF_AXES_LADDER_INDEPENDENT)
        (void)posref_change_axes_ntk(spec, 0);
    return true;
}

/* Axes that take turns have no channels of their own. */
bool posref_change_axes_order(struct posref_spec *spec, double value)
{
    if (!posref_change_field(spec, POSREF_FIELD_AXES_ORDER, value))
        return false;
    if (spec->axes_order == POSREF_AXES_ORDER_FREQUENCY)
        spec->axes_span = POSREF_AXES_SPAN_HEAD;
    return true;
}

/* mrope_interleaved follows from the order. */
bool posref_change_mrope_order(struct posref_spec *spec, double value)
{
    if (!posref_spec_has(spec, POSREF_FIELD_MROPE_ORDER) || spec->mrope_order == (int)value)
        return false;
    spec->mrope_order = (int)value;
    spec->mrope_interleaved = spec->mrope_order != POSREF_MROPE_CHUNKED;
    spec->given[POSREF_FIELD_MROPE_INTERLEAVED] = true;
    return true;
}

/* Pair i has axis i mod 3, however few pairs its section has: sections that end with the pairs. */
bool posref_change_mrope_unbounded(struct posref_spec *spec, double value)
{
    (void)value;
    struct posref_ints *list = &spec->mrope_section;
    if (!posref_spec_has(spec, POSREF_FIELD_MROPE_ORDER) ||
        spec->mrope_order != POSREF_MROPE_INTERLEAVED || list->n != 3)
        return false;
    const int n = list->item[0] + list->item[1] + list->item[2];
    const struct posref_ints old = *list;
    for (int axis = 0; axis < 3; axis++)
        list->item[axis] = (n + 2 - axis) / 3;
    return memcmp(&old, list, sizeof old) != 0;
}

/* Channels for pairs: the first sections take all. */
bool posref_change_sections_doubled(struct posref_spec *spec, double value)
{
    (void)value;
    struct posref_ints *list = &spec->mrope_section;
    if (!posref_spec_has(spec, POSREF_FIELD_MROPE_ORDER) ||
        spec->mrope_order != POSREF_MROPE_CHUNKED)
        return false;
    int left = 0;
    for (int axis = 0; axis < list->n; axis++)
        left += list->item[axis];
    for (int axis = 0; axis < list->n; axis++) {
        list->item[axis] = 2 * list->item[axis] < left ? 2 * list->item[axis] : left;
        left -= list->item[axis];
    }
    return true;
}
