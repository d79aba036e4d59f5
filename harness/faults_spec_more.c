/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that are another value of a spec's field: axes, biases, scores. */
#include "faults_spec.h"

#include <math.h>
#include <string.h>

static double number_of(const struct posref_spec *spec, const struct posref_field_def *def)
{
    const char *at = (const char *)spec + def->offset;
    double real = (double)NAN;
    int whole;
    bool flag;
    switch (def->type) {
    case POSREF_TYPE_REAL: memcpy(&real, at, sizeof real); break;
    case POSREF_TYPE_BOOL: memcpy(&flag, at, sizeof flag); real = flag; break;
    case POSREF_TYPE_INT:
    case POSREF_TYPE_CHOICE: memcpy(&whole, at, sizeof whole); real = whole; break;
    default: break;
    }
    return real;
}

bool posref_change_field(struct posref_spec *spec, enum posref_field field, double value)
{
    const struct posref_field_def *def = posref_field_def(field);
    char *at = (char *)spec + def->offset;
    const int whole = (int)value;
    const bool flag = value != 0;
    if (!posref_field_applies(spec, field) || !spec->given[field] ||
        posref_field_is_list(def) || number_of(spec, def) == value)
        return false;
    switch (def->type) {
    case POSREF_TYPE_REAL: memcpy(at, &value, sizeof value); break;
    case POSREF_TYPE_BOOL: memcpy(at, &flag, sizeof flag); break;
    default: memcpy(at, &whole, sizeof whole); break;
    }
    return true;
}

static bool has(const struct posref_spec *spec, enum posref_field field)
{
    return posref_field_applies(spec, field) && spec->given[field];
}

/* The list of widths or sections that says which pair has which axis; NULL: none. */
static struct posref_ints *axes_of(struct posref_spec *spec)
{
    if (has(spec, POSREF_FIELD_AXES_DIMS))
        return &spec->axes_dims;
    return has(spec, POSREF_FIELD_MROPE_SECTION) ? &spec->mrope_section : NULL;
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
    const bool had = has(spec, POSREF_FIELD_AXES_NTK);
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
    if (!has(spec, POSREF_FIELD_MROPE_ORDER) || spec->mrope_order == (int)value)
        return false;
    spec->mrope_order = (int)value;
    spec->mrope_interleaved = spec->mrope_order != POSREF_MROPE_CHUNKED;
    spec->given[POSREF_FIELD_MROPE_INTERLEAVED] = true;
    return true;
}

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
    return has(spec, POSREF_FIELD_WINDOW_SIZE);
}

bool posref_change_clamp(struct posref_spec *spec, double value)
{
    (void)value;
    const bool had = has(spec, POSREF_FIELD_CLAMP_LEN);
    spec->given[POSREF_FIELD_CLAMP_LEN] = false;
    spec->clamp_len = 0;
    return had;
}

/* One list of divisors for every length. */
static bool one_list(struct posref_spec *spec, bool is_long)
{
    if (!has(spec, POSREF_FIELD_SHORT_FACTOR) || !has(spec, POSREF_FIELD_LONG_FACTOR))
        return false;
    const enum posref_field from = is_long ? POSREF_FIELD_LONG_MSCALE : POSREF_FIELD_SHORT_MSCALE;
    const enum posref_field to = is_long ? POSREF_FIELD_SHORT_MSCALE : POSREF_FIELD_LONG_MSCALE;
    *(is_long ? &spec->short_factor : &spec->long_factor) = is_long ? spec->long_factor
                                                                    : spec->short_factor;
    *(is_long ? &spec->short_mscale : &spec->long_mscale) = is_long ? spec->long_mscale
                                                                    : spec->short_mscale;
    spec->given[to] = spec->given[from];
    return true;
}

bool posref_change_short_always(struct posref_spec *spec, double value)
{
    (void)value;
    return one_list(spec, false);
}

bool posref_change_long_always(struct posref_spec *spec, double value)
{
    (void)value;
    return one_list(spec, true);
}

/* ---- scores ---- */

bool posref_change_scale_default(struct posref_spec *spec, double value)
{
    (void)value;
    const bool had = has(spec, POSREF_FIELD_SOFTMAX_SCALE);
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
