/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields of several axes go together, and what they must add up to. */
#include "axes.h"

static const enum posref_field dims_fields[] = {POSREF_FIELD_AXES_LADDER, POSREF_FIELD_AXES_ORDER,
                                                POSREF_FIELD_AXES_SPAN, POSREF_FIELD_AXES_NTK,
                                                POSREF_FIELD_ANGLE_UNIT};
static const enum posref_field section_fields[] = {POSREF_FIELD_MROPE_INTERLEAVED,
                                                   POSREF_FIELD_MROPE_ORDER};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Sets a choice that was left out. */
static void settle(struct posref_spec *spec, enum posref_field field, int *value, int otherwise)
{
    if (!spec->given[field])
        *value = otherwise;
    spec->given[field] = true;
}

void posref_axes_defaults(struct posref_spec *spec)
{
    if (!spec->given[POSREF_FIELD_AXES_DIMS])
        return;
    settle(spec, POSREF_FIELD_PAIRING, &spec->pairing, POSREF_PAIRING_INTERLEAVED);
}

/* Fields that say nothing without the list that they are about. */
static enum posref_status check_alone(const struct posref_spec *spec, const enum posref_field *list,
                                      size_t n, enum posref_field about, struct posref_error *err)
{
    for (size_t k = 0; k < n && !spec->given[about]; k++)
        if (spec->given[list[k]])
            return posref_fail(err, POSREF_BAD_INPUT, posref_field_def(list[k])->name, "needs %s",
                               posref_field_def(about)->name);
    return POSREF_OK;
}

static bool all_equal(const struct posref_ints *list)
{
    for (int k = 1; k < list->n; k++)
        if (list->item[k] != list->item[0])
            return false;
    return true;
}

static enum posref_status check_dims(const struct posref_spec *spec, struct posref_error *err)
{
    const struct posref_ints *dims = &spec->axes_dims;
    const char *key = posref_field_def(POSREF_FIELD_AXES_DIMS)->name;
    int64_t sum = 0;
    for (int k = 0; k < dims->n; k++) {
        if (dims->item[k] % 2)
            return posref_fail(err, POSREF_BAD_INPUT, key, "entry %d must be even, got %d", k + 1,
                               dims->item[k]);
        sum += dims->item[k];
    }
    if (sum != spec->rotary_dim)
        return posref_fail(err, POSREF_BAD_INPUT, key, "must add up to rotary_dim=%d, got %lld",
                           spec->rotary_dim, (long long)sum);
    const bool dealt = spec->axes_order == POSREF_AXES_ORDER_FREQUENCY ||
                       spec->axes_ladder == POSREF_AXES_LADDER_SPLIT;
    if (dealt && !all_equal(dims))
        return posref_fail(err, POSREF_BAD_INPUT, key, "must be equal for %s",
                           spec->axes_ladder == POSREF_AXES_LADDER_SPLIT ? "axes_ladder=split"
                                                                         : "axes_order=frequency");
    return POSREF_OK;
}

/* With ladders of their own only what changes each of them alike is defined. */
static enum posref_status check_scaling(const struct posref_spec *spec, struct posref_error *err)
{
    const int scaling = spec->scaling;
    const bool radian = spec->angle_unit == POSREF_ANGLE_UNIT_RADIAN;
    bool good = scaling == POSREF_SCALING_NONE;
    if (radian && spec->axes_ladder == POSREF_AXES_LADDER_INDEPENDENT)
        good = good || scaling == POSREF_SCALING_LINEAR || scaling == POSREF_SCALING_NTK;
    if (radian && spec->axes_ladder == POSREF_AXES_LADDER_SHARED)
        good = true;
    if (!good)
        return posref_fail(err, POSREF_BAD_INPUT, "scaling",
                           "%s is not defined for axes_ladder=%s angle_unit=%s",
                           posref_field_def(POSREF_FIELD_SCALING)->choices[scaling],
                           posref_field_def(POSREF_FIELD_AXES_LADDER)->choices[spec->axes_ladder],
                           posref_field_def(POSREF_FIELD_ANGLE_UNIT)->choices[spec->angle_unit]);
    for (int k = 0; scaling == POSREF_SCALING_NTK && k < spec->axes_dims.n; k++)
        if (posref_axes_ladders(spec) > 1 && spec->axes_dims.item[k] == 2)
            return posref_fail(err, POSREF_BAD_INPUT, "scaling",
                               "ntk divides by an axis's width - 2 and needs widths >= 4, got 2");
    return POSREF_OK;
}

static enum posref_status check_ntk(const struct posref_spec *spec, struct posref_error *err)
{
    const char *key = posref_field_def(POSREF_FIELD_AXES_NTK)->name;
    if (!spec->given[POSREF_FIELD_AXES_NTK])
        return POSREF_OK;
    if (spec->axes_ntk.n != spec->axes_dims.n)
        return posref_fail(err, POSREF_BAD_INPUT, key, "needs one factor an axis, %d, got %d",
                           spec->axes_dims.n, spec->axes_ntk.n);
    if (spec->axes_ladder != POSREF_AXES_LADDER_INDEPENDENT ||
        spec->angle_unit != POSREF_ANGLE_UNIT_RADIAN || spec->scaling != POSREF_SCALING_NONE)
        return posref_fail(err, POSREF_BAD_INPUT, key,
                           "needs axes_ladder=independent, angle_unit=radian, scaling=none");
    for (int k = 0; k < spec->axes_dims.n; k++)
        if (spec->axes_dims.item[k] == 2)
            return posref_fail(err, POSREF_BAD_INPUT, key,
                               "divides by an axis's width - 2 and needs widths >= 4, got 2");
    return POSREF_OK;
}

static enum posref_status settle_dims(struct posref_spec *spec, struct posref_error *err)
{
    settle(spec, POSREF_FIELD_AXES_LADDER, &spec->axes_ladder, POSREF_AXES_LADDER_INDEPENDENT);
    settle(spec, POSREF_FIELD_AXES_ORDER, &spec->axes_order, POSREF_AXES_ORDER_AXIS);
    const bool dealt = spec->axes_order == POSREF_AXES_ORDER_FREQUENCY;
    settle(spec, POSREF_FIELD_AXES_SPAN, &spec->axes_span,
           dealt ? POSREF_AXES_SPAN_HEAD : POSREF_AXES_SPAN_AXIS);
    settle(spec, POSREF_FIELD_ANGLE_UNIT, &spec->angle_unit, POSREF_ANGLE_UNIT_RADIAN);
    if (dealt && spec->axes_span == POSREF_AXES_SPAN_AXIS)
        return posref_fail(err, POSREF_BAD_INPUT, "axes_span",
                           "axes have no channels of their own under axes_order=frequency");
    enum posref_status status = check_dims(spec, err);
    if (status == POSREF_OK)
        status = check_ntk(spec, err);
    return status == POSREF_OK ? check_scaling(spec, err) : status;
}

/* How many sections an order takes. */
static void section_counts(int *least, int *most, int order)
{
    *least = order == POSREF_MROPE_CHUNKED  ? 1
             : order == POSREF_MROPE_GREEDY ? 2
             : order == POSREF_MROPE_IMROPE ? 4
                                            : 3;
    *most = order == POSREF_MROPE_CHUNKED  ? POSREF_MAX_AXES
            : order == POSREF_MROPE_IMROPE ? 4
                                           : 3;
}

static enum posref_status check_sections(const struct posref_spec *spec, struct posref_error *err)
{
    const struct posref_ints *section = &spec->mrope_section;
    const char *key = posref_field_def(POSREF_FIELD_MROPE_SECTION)->name;
    const char *order = posref_field_def(POSREF_FIELD_MROPE_ORDER)->choices[spec->mrope_order];
    int least, most;
    int64_t sum = 0;
    section_counts(&least, &most, spec->mrope_order);
    if (section->n < least || section->n > most)
        return posref_fail(err, POSREF_BAD_INPUT, key, "mrope_order=%s takes %d to %d, got %d",
                           order, least, most, section->n);
    for (int k = 0; k < section->n; k++)
        sum += section->item[k];
    if (sum != spec->rotary_dim / 2)
        return posref_fail(err, POSREF_BAD_INPUT, key,
                           "counts pairs and must add up to rotary_dim / 2 = %d, got %lld",
                           spec->rotary_dim / 2, (long long)sum);
    if (spec->mrope_order == POSREF_MROPE_HW_T && section->item[0] != section->item[1])
        return posref_fail(err, POSREF_BAD_INPUT, key,
                           "h and w alternate and need equal sections, got %d and %d",
                           section->item[0], section->item[1]);
    if (spec->mrope_order == POSREF_MROPE_GREEDY && section->n == 3 && section->item[0] < 1)
        return posref_fail(err, POSREF_BAD_INPUT, key,
                           "the last pair belongs to the first section, which is empty");
    return POSREF_OK;
}

static enum posref_status settle_sections(struct posref_spec *spec, struct posref_error *err)
{
    const bool mixed = spec->given[POSREF_FIELD_MROPE_INTERLEAVED] && spec->mrope_interleaved;
    if (spec->given[POSREF_FIELD_AXES_DIMS])
        return posref_fail(err, POSREF_BAD_INPUT, "mrope_section", "excludes axes_dims");
    settle(spec, POSREF_FIELD_MROPE_ORDER, &spec->mrope_order,
           mixed ? POSREF_MROPE_INTERLEAVED : POSREF_MROPE_CHUNKED);
    if (spec->given[POSREF_FIELD_MROPE_INTERLEAVED] &&
        mixed != (spec->mrope_order != POSREF_MROPE_CHUNKED))
        return posref_fail(err, POSREF_BAD_INPUT, "mrope_interleaved", "contradicts mrope_order=%s",
                           posref_field_def(POSREF_FIELD_MROPE_ORDER)->choices[spec->mrope_order]);
    spec->mrope_interleaved = spec->mrope_order != POSREF_MROPE_CHUNKED;
    spec->given[POSREF_FIELD_MROPE_INTERLEAVED] = true;
    return check_sections(spec, err);
}

enum posref_status posref_axes_check(struct posref_spec *spec, struct posref_error *err)
{
    const bool several = spec->given[POSREF_FIELD_AXES_DIMS] ||
                         spec->given[POSREF_FIELD_MROPE_SECTION];
    if (several && spec->partial == POSREF_PARTIAL_PROPORTIONAL)
        return posref_fail(err, POSREF_BAD_INPUT, "partial",
                           "proportional is not defined for several axes");
    enum posref_status status = check_alone(spec, dims_fields, COUNT(dims_fields),
                                            POSREF_FIELD_AXES_DIMS, err);
    if (status == POSREF_OK)
        status = check_alone(spec, section_fields, COUNT(section_fields),
                             POSREF_FIELD_MROPE_SECTION, err);
    if (status == POSREF_OK && spec->given[POSREF_FIELD_MROPE_SECTION])
        status = settle_sections(spec, err);
    if (status == POSREF_OK && spec->given[POSREF_FIELD_AXES_DIMS])
        status = settle_dims(spec, err);
    return status;
}
