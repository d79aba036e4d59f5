/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of specs: of any one field, and those of rope and of tables of positions. */
#include "faults_spec.h"

#include <math.h>
#include <string.h>

/* ---- any field ---- */

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
    if (!posref_spec_has(spec, field) || posref_field_is_list(def) ||
        number_of(spec, def) == value)
        return false;
    switch (def->type) {
    case POSREF_TYPE_REAL: memcpy(at, &value, sizeof value); break;
    case POSREF_TYPE_BOOL: memcpy(at, &flag, sizeof flag); break;
    default: memcpy(at, &whole, sizeof whole); break;
    }
    return true;
}

bool posref_change_to_other(struct posref_spec *spec, enum posref_field field)
{
    return posref_change_field(spec, field, number_of(spec, posref_field_def(field)) == 0);
}

bool posref_change_to_none(struct posref_spec *spec, enum posref_field field)
{
    const bool had = posref_change_field(spec, field, 0);
    if (had)
        spec->given[field] = false;
    return had;
}

/* ---- rope ---- */

static bool takes(const struct posref_spec *spec, enum posref_field field)
{
    return posref_field_applies(spec, field);
}

bool posref_change_pairing(struct posref_spec *spec, double value)
{
    (void)value;
    bool half = spec->pairing == POSREF_PAIRING_HALF;
    if (!takes(spec, POSREF_FIELD_PAIRING) ||
        (!half && spec->pairing != POSREF_PAIRING_INTERLEAVED))
        return false;
    spec->pairing = half ? POSREF_PAIRING_INTERLEAVED : POSREF_PAIRING_HALF;
    return true;
}

/* Interleaved pairs, written as halves and not put back. */
bool posref_change_evens_first(struct posref_spec *spec, double value)
{
    (void)value;
    if (!takes(spec, POSREF_FIELD_PAIRING) || spec->pairing != POSREF_PAIRING_INTERLEAVED)
        return false;
    spec->pairing = POSREF_PAIRING_INTERLEAVED_TO_HALF;
    return true;
}

bool posref_change_unscaled(struct posref_spec *spec, double value)
{
    (void)value;
    if (!takes(spec, POSREF_FIELD_SCALING) || spec->scaling == POSREF_SCALING_NONE)
        return false;
    spec->scaling = POSREF_SCALING_NONE;
    return true;
}

bool posref_change_linear(struct posref_spec *spec, double value)
{
    (void)value;
    if (!takes(spec, POSREF_FIELD_SCALING) || spec->scaling == POSREF_SCALING_NONE ||
        spec->scaling == POSREF_SCALING_LINEAR || !takes(spec, POSREF_FIELD_FACTOR))
        return false;
    spec->scaling = POSREF_SCALING_LINEAR;
    return true;
}

bool posref_change_factor_inverted(struct posref_spec *spec, double value)
{
    (void)value;
    if (!takes(spec, POSREF_FIELD_FACTOR) || spec->factor == 1)
        return false;
    spec->factor = 1 / spec->factor;
    return true;
}

bool posref_change_factor(struct posref_spec *spec, double value)
{
    if (!takes(spec, POSREF_FIELD_FACTOR) || spec->factor == value)
        return false;
    spec->factor = value;
    return true;
}

/* The attention factor alone decides from here on. */
static void drop_mscale(struct posref_spec *spec)
{
    static const enum posref_field fields[] = {POSREF_FIELD_MSCALE, POSREF_FIELD_MSCALE_ALL_DIM,
                                               POSREF_FIELD_MSCALE_RULE,
                                               POSREF_FIELD_ATTENTION_FACTOR_RULE};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        spec->given[fields[k]] = false;
    spec->mscale = spec->mscale_all_dim = 0;
    spec->mscale_rule = POSREF_MSCALE_BOTH;
    spec->attention_factor_rule = POSREF_ATTENTION_FACTOR_REPLACES;
}

static bool set_attention_factor(struct posref_spec *spec, bool given, double value)
{
    if (!takes(spec, POSREF_FIELD_ATTENTION_FACTOR))
        return false;
    spec->attention_factor = value;
    spec->given[POSREF_FIELD_ATTENTION_FACTOR] = given;
    return true;
}

bool posref_change_attention_one(struct posref_spec *spec, double value)
{
    (void)value;
    if (takes(spec, POSREF_FIELD_MSCALE))
        drop_mscale(spec);
    return set_attention_factor(spec, true, 1);
}

bool posref_change_attention_default(struct posref_spec *spec, double value)
{
    (void)value;
    bool told = spec->given[POSREF_FIELD_ATTENTION_FACTOR] || spec->given[POSREF_FIELD_MSCALE] ||
                spec->given[POSREF_FIELD_MSCALE_RULE];
    drop_mscale(spec);
    return told && set_attention_factor(spec, false, 0);
}

/* The attention factor of a completed yarn spec. */
static double attention_of(const struct posref_spec *spec)
{
    const double step = spec->factor > 1 ? 0.1 * log(spec->factor) : 0;
    if (spec->given[POSREF_FIELD_ATTENTION_FACTOR])
        return spec->attention_factor;
    if (spec->given[POSREF_FIELD_MSCALE] && spec->mscale != 0 && spec->mscale_all_dim != 0)
        return (1 + spec->mscale * step) / (1 + spec->mscale_all_dim * step);
    return 1 + step;
}

bool posref_change_attention_nested(struct posref_spec *spec, double value)
{
    (void)value;
    if (spec->scheme != POSREF_SCHEME_ROPE || spec->scaling != POSREF_SCALING_YARN ||
        !(spec->factor > 1) || spec->given[POSREF_FIELD_MSCALE_RULE] ||
        spec->given[POSREF_FIELD_ATTENTION_FACTOR_RULE])
        return false;
    const double nested = 1 + 0.1 * attention_of(spec) * log(spec->factor);
    drop_mscale(spec);
    return set_attention_factor(spec, true, nested);
}

bool posref_change_attention_tenth(struct posref_spec *spec, double value)
{
    (void)value;
    if (spec->scheme != POSREF_SCHEME_ROPE || spec->scaling != POSREF_SCALING_YARN ||
        !(spec->factor > 1))
        return false;
    drop_mscale(spec);
    return set_attention_factor(spec, true, 1 + 0.01 * log(spec->factor));
}

bool posref_change_xpos_missing(struct posref_spec *spec, double value)
{
    (void)value;
    if (!posref_spec_has(spec, POSREF_FIELD_XPOS_SCALE_BASE))
        return false;
    spec->given[POSREF_FIELD_XPOS_SCALE_BASE] = spec->given[POSREF_FIELD_XPOS_CENTER] =
        spec->given[POSREF_FIELD_XPOS_SIDE] = false;
    return true;
}

bool posref_change_xpos_side(struct posref_spec *spec, double value)
{
    (void)value;
    spec->xpos_side = spec->xpos_side == POSREF_XPOS_KEY ? POSREF_XPOS_QUERY : POSREF_XPOS_KEY;
    return posref_spec_has(spec, POSREF_FIELD_XPOS_SCALE_BASE);
}

/* Another reading of yarn, where the spec means the usual one. */
static bool set_choice(struct posref_spec *spec, enum posref_field field, int *at, int value)
{
    if (!takes(spec, field) || *at != 0)
        return false;
    *at = value;
    spec->given[field] = true;
    return true;
}

bool posref_change_range_rule(struct posref_spec *spec, double value)
{
    return set_choice(spec, POSREF_FIELD_RANGE_RULE, &spec->range_rule, (int)value);
}

bool posref_change_mscale_ratio(struct posref_spec *spec, double value)
{
    (void)value;
    return (spec->given[POSREF_FIELD_MSCALE] || spec->given[POSREF_FIELD_MSCALE_ALL_DIM]) &&
           set_choice(spec, POSREF_FIELD_MSCALE_RULE, &spec->mscale_rule, POSREF_MSCALE_RATIO);
}

bool posref_change_telechat(struct posref_spec *spec, double value)
{
    (void)value;
    spec->given[POSREF_FIELD_ATTENTION_FACTOR] = false;
    return set_choice(spec, POSREF_FIELD_MSCALE_RULE, &spec->mscale_rule, POSREF_MSCALE_TELECHAT);
}

bool posref_change_factor_multiplied(struct posref_spec *spec, double value)
{
    (void)value;
    return spec->given[POSREF_FIELD_ATTENTION_FACTOR] &&
           set_choice(spec, POSREF_FIELD_ATTENTION_FACTOR_RULE, &spec->attention_factor_rule,
                      POSREF_ATTENTION_FACTOR_MULTIPLIES);
}

bool posref_change_whole_width(struct posref_spec *spec, double value)
{
    (void)value;
    if (!takes(spec, POSREF_FIELD_ROTARY_DIM) || spec->rotary_dim == spec->dim)
        return false;
    spec->rotary_dim = spec->dim;
    return true;
}

/* The first channels as one block: exponents are then over them alone. */
bool posref_change_partial(struct posref_spec *spec, double value)
{
    (void)value;
    if (!posref_spec_has(spec, POSREF_FIELD_PARTIAL) || spec->partial == POSREF_PARTIAL_LEADING)
        return false;
    if (spec->partial == POSREF_PARTIAL_PROPORTIONAL) {
        const double share = spec->partial_rotary_factor, half = spec->dim / 2.0;
        const double pairs = floor(share * half);
        spec->rotary_dim = 2 * (int)(fma(share, half, -pairs) < 0 ? pairs - 1 : pairs);
        spec->given[POSREF_FIELD_ROTARY_DIM] = true;
        spec->given[POSREF_FIELD_PARTIAL_ROTARY_FACTOR] = false;
    }
    spec->partial = POSREF_PARTIAL_LEADING;
    return spec->rotary_dim >= 2;
}

bool posref_change_half_width(struct posref_spec *spec, double value)
{
    (void)value;
    if (!takes(spec, POSREF_FIELD_ROTARY_DIM) || spec->rotary_dim % 4)
        return false;
    spec->rotary_dim /= 2;
    return true;
}

/* base^(-2i/dim) over rotary_dim channels is the ladder of base^(rotary_dim/dim). */
bool posref_change_exponent_over_dim(struct posref_spec *spec, double value)
{
    (void)value;
    if (!takes(spec, POSREF_FIELD_ROTARY_DIM) || spec->rotary_dim == spec->dim)
        return false;
    spec->base = pow(spec->base, (double)spec->rotary_dim / spec->dim);
    return spec->base > 1;
}

/* Qwen's alpha for a factor of 1, which is what it has instead. */
bool posref_change_dynamic_rule(struct posref_spec *spec, double value)
{
    (void)value;
    const bool to_alpha = spec->scaling == POSREF_SCALING_DYNAMIC;
    if (spec->scheme != POSREF_SCHEME_ROPE ||
        (!to_alpha && spec->scaling != POSREF_SCALING_DYNAMIC_ALPHA))
        return false;
    spec->scaling = to_alpha ? POSREF_SCALING_DYNAMIC_ALPHA : POSREF_SCALING_DYNAMIC;
    spec->given[POSREF_FIELD_FACTOR] = !to_alpha;
    spec->factor = 1;
    spec->given[POSREF_FIELD_SEQ_LEN_HISTORY] = false;
    return true;
}

bool posref_change_ntk_plain_factor(struct posref_spec *spec, double value)
{
    (void)value;
    if (spec->scheme != POSREF_SCHEME_ROPE || spec->scaling != POSREF_SCALING_NTK)
        return false;
    spec->base *= spec->factor;
    spec->scaling = POSREF_SCALING_NONE;
    return true;
}

/* One list of divisors for every length. */
static bool one_list(struct posref_spec *spec, bool is_long)
{
    if (!posref_spec_has(spec, POSREF_FIELD_SHORT_FACTOR) ||
        !posref_spec_has(spec, POSREF_FIELD_LONG_FACTOR))
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

/* Frequencies above the low bound are kept and those below are divided: nothing is left between. */
bool posref_change_bands(struct posref_spec *spec, double value)
{
    (void)value;
    if (!takes(spec, POSREF_FIELD_LOW_FREQ_FACTOR) ||
        spec->low_freq_factor == spec->high_freq_factor)
        return false;
    spec->high_freq_factor = spec->low_freq_factor;
    return true;
}

bool posref_change_length_extended(struct posref_spec *spec, double value)
{
    (void)value;
    if (!takes(spec, POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS) || spec->factor == 1)
        return false;
    spec->original_max_position_embeddings *= spec->factor;
    return true;
}

bool posref_change_length(struct posref_spec *spec, double value)
{
    if (!takes(spec, POSREF_FIELD_ORIGINAL_MAX_POSITION_EMBEDDINGS) ||
        spec->original_max_position_embeddings == value)
        return false;
    spec->original_max_position_embeddings = value;
    return true;
}

/* ---- tables ---- */

bool posref_change_freq_shift(struct posref_spec *spec, double value)
{
    (void)value;
    if (!takes(spec, POSREF_FIELD_DOWNSCALE_FREQ_SHIFT))
        return false;
    spec->downscale_freq_shift = spec->downscale_freq_shift == 0 ? 1 : 0;
    return true;
}

bool posref_change_exponent(struct posref_spec *spec, double value)
{
    (void)value;
    bool d = spec->exponent == POSREF_EXPONENT_D;
    spec->exponent = d ? POSREF_EXPONENT_HALF_MINUS_ONE : POSREF_EXPONENT_D;
    return takes(spec, POSREF_FIELD_EXPONENT) && spec->dim > 2;
}
