/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of specs that the rows of the registry name; see struct posref_fault. Private to
 * harness/faults*.c. */
#ifndef POSREF_FAULTS_SPEC_H
#define POSREF_FAULTS_SPEC_H

#include "faults.h"

#define BIT(scheme) ((uint32_t)1 << POSREF_SCHEME_##scheme) /* of posref_fault.schemes */

/* The spec takes the field and has a value of it. */
static inline bool posref_spec_has(const struct posref_spec *spec, enum posref_field field)
{
    return posref_field_applies(spec, field) && spec->given[field];
}

/* The field as a number, where the spec has one that is not this already. */
bool posref_change_field(struct posref_spec *spec, enum posref_field field, double value);
bool posref_change_to_other(struct posref_spec *spec, enum posref_field field); /* 1 for 0, or 0 */
bool posref_change_to_none(struct posref_spec *spec, enum posref_field field);  /* not given */

bool posref_change_pairing(struct posref_spec *spec, double value);
bool posref_change_evens_first(struct posref_spec *spec, double value);
bool posref_change_unscaled(struct posref_spec *spec, double value);
bool posref_change_linear(struct posref_spec *spec, double value);
bool posref_change_factor_inverted(struct posref_spec *spec, double value);
bool posref_change_factor(struct posref_spec *spec, double value);
bool posref_change_attention_one(struct posref_spec *spec, double value);
bool posref_change_attention_default(struct posref_spec *spec, double value);
bool posref_change_attention_nested(struct posref_spec *spec, double value);
bool posref_change_attention_tenth(struct posref_spec *spec, double value);
bool posref_change_mscale_ratio(struct posref_spec *spec, double value);
bool posref_change_factor_multiplied(struct posref_spec *spec, double value);
bool posref_change_telechat(struct posref_spec *spec, double value);
bool posref_change_xpos_missing(struct posref_spec *spec, double value);
bool posref_change_xpos_side(struct posref_spec *spec, double value);
bool posref_change_range_rule(struct posref_spec *spec, double value);
bool posref_change_whole_width(struct posref_spec *spec, double value);
bool posref_change_partial(struct posref_spec *spec, double value);
bool posref_change_half_width(struct posref_spec *spec, double value);
bool posref_change_exponent_over_dim(struct posref_spec *spec, double value);
bool posref_change_ntk_plain_factor(struct posref_spec *spec, double value);
bool posref_change_dynamic_rule(struct posref_spec *spec, double value);
bool posref_change_short_always(struct posref_spec *spec, double value);
bool posref_change_long_always(struct posref_spec *spec, double value);
bool posref_change_bands(struct posref_spec *spec, double value);
bool posref_change_length_extended(struct posref_spec *spec, double value);
bool posref_change_length(struct posref_spec *spec, double value);
bool posref_change_freq_shift(struct posref_spec *spec, double value);
bool posref_change_exponent(struct posref_spec *spec, double value);

bool posref_change_axes_equal(struct posref_spec *spec, double value);
bool posref_change_axes_reversed(struct posref_spec *spec, double value);
bool posref_change_axes_ladder(struct posref_spec *spec, double value);
bool posref_change_axes_order(struct posref_spec *spec, double value);
bool posref_change_axes_ntk(struct posref_spec *spec, double value);
bool posref_change_mrope_order(struct posref_spec *spec, double value);
bool posref_change_sections_doubled(struct posref_spec *spec, double value);
bool posref_change_mrope_unbounded(struct posref_spec *spec, double value);

bool posref_change_buckets_halved(struct posref_spec *spec, double value);
bool posref_change_window(struct posref_spec *spec, double value);
bool posref_change_scale_missing(struct posref_spec *spec, double value);
bool posref_change_causal(struct posref_spec *spec, double value);
bool posref_change_npos_less(struct posref_spec *spec, double value);
bool posref_change_scale_of_terms(struct posref_spec *spec, double value);
bool posref_change_distance_edge(struct posref_spec *spec, double value);
/* value: an enum posref_slip that the scheme has. */
bool posref_change_slip(struct posref_spec *spec, double value);

extern const struct posref_fault posref_faults_rope[];       /* end with a NULL name */
extern const struct posref_fault posref_faults_sinusoidal[];
extern const struct posref_fault posref_faults_timestep[];
extern const struct posref_fault posref_faults_alibi[];
extern const struct posref_fault posref_faults_axes[];       /* positions of several axes */
extern const struct posref_fault posref_faults_learned[];    /* learned tables, and offsets */
extern const struct posref_fault posref_faults_bias[];       /* tables and functions of distance */
extern const struct posref_fault posref_faults_terms[];      /* terms of scores */
extern const struct posref_fault posref_faults_attention[];  /* whatever the scheme */
extern const struct posref_fault posref_faults_any[];        /* positions, numbers, outputs */

#endif
