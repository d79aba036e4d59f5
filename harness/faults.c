/* SPDX-License-Identifier: Apache-2.0 */
/* The faults that are another value of a spec's field. */
#include "faults.h"

#include <string.h>

static bool takes(const struct posref_spec *spec, enum posref_field field)
{
    return posref_field_applies(spec, field);
}

static bool other_pairing(struct posref_spec *spec)
{
    bool half = spec->pairing == POSREF_PAIRING_HALF;
    spec->pairing = half ? POSREF_PAIRING_INTERLEAVED : POSREF_PAIRING_HALF;
    return takes(spec, POSREF_FIELD_PAIRING);
}

static bool other_direction(struct posref_spec *spec)
{
    bool forward = spec->direction == POSREF_DIRECTION_FORWARD;
    spec->direction = forward ? POSREF_DIRECTION_INVERSE : POSREF_DIRECTION_FORWARD;
    return takes(spec, POSREF_FIELD_DIRECTION);
}

static void drop(struct posref_spec *spec, enum posref_field field)
{
    spec->given[field] = false;
}

/* Drops the values of fields that the spec, as changed, does not take. */
static void drop_what_does_not_apply(struct posref_spec *spec)
{
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        if (!takes(spec, (enum posref_field)f))
            drop(spec, (enum posref_field)f);
}

static bool no_scaling(struct posref_spec *spec)
{
    if (!takes(spec, POSREF_FIELD_SCALING) || spec->scaling == POSREF_SCALING_NONE)
        return false;
    spec->scaling = POSREF_SCALING_NONE;
    return true;
}

static bool linear_scaling(struct posref_spec *spec)
{
    if (!takes(spec, POSREF_FIELD_SCALING) || spec->scaling == POSREF_SCALING_NONE ||
        spec->scaling == POSREF_SCALING_LINEAR)
        return false;
    spec->scaling = POSREF_SCALING_LINEAR;
    return true;
}

static bool inverted_factor(struct posref_spec *spec)
{
    if (!takes(spec, POSREF_FIELD_FACTOR) || spec->factor == 1)
        return false;
    spec->factor = 1 / spec->factor;
    return true;
}

static bool set_attention_factor(struct posref_spec *spec, bool given, double value)
{
    if (!takes(spec, POSREF_FIELD_ATTENTION_FACTOR))
        return false;
    spec->attention_factor = value;
    spec->given[POSREF_FIELD_ATTENTION_FACTOR] = given;
    return true;
}

static bool attention_factor_one(struct posref_spec *spec)
{
    return set_attention_factor(spec, true, 1);
}

static bool attention_factor_by_formula(struct posref_spec *spec)
{
    bool told = spec->given[POSREF_FIELD_ATTENTION_FACTOR] || spec->given[POSREF_FIELD_MSCALE];
    drop(spec, POSREF_FIELD_MSCALE);
    drop(spec, POSREF_FIELD_MSCALE_ALL_DIM);
    spec->mscale = spec->mscale_all_dim = 0;
    return told && set_attention_factor(spec, false, 0);
}

static bool other_truncation(struct posref_spec *spec)
{
    spec->truncate = !spec->truncate;
    return takes(spec, POSREF_FIELD_TRUNCATE);
}

static bool whole_width(struct posref_spec *spec)
{
    if (!takes(spec, POSREF_FIELD_ROTARY_DIM) || spec->rotary_dim == spec->dim)
        return false;
    spec->rotary_dim = spec->dim;
    return true;
}

static bool default_base(struct posref_spec *spec)
{
    if (!takes(spec, POSREF_FIELD_BASE) || spec->base == 10000)
        return false;
    spec->base = 10000;
    return true;
}

static bool other_order(struct posref_spec *spec)
{
    bool concat = spec->order == POSREF_ORDER_CONCAT;
    spec->order = concat ? POSREF_ORDER_INTERLEAVED : POSREF_ORDER_CONCAT;
    return takes(spec, POSREF_FIELD_ORDER);
}

static bool other_exponent(struct posref_spec *spec)
{
    bool d = spec->exponent == POSREF_EXPONENT_D;
    spec->exponent = d ? POSREF_EXPONENT_HALF_MINUS_ONE : POSREF_EXPONENT_D;
    return takes(spec, POSREF_FIELD_EXPONENT);
}

static bool set_form(struct posref_spec *spec, enum posref_alibi_form form)
{
    if (!takes(spec, POSREF_FIELD_FORM) || spec->form == (int)form)
        return false;
    spec->form = (int)form;
    return true;
}

static bool form_distance(struct posref_spec *spec)
{
    return set_form(spec, POSREF_ALIBI_DISTANCE);
}

static bool form_symmetric(struct posref_spec *spec)
{
    return set_form(spec, POSREF_ALIBI_SYMMETRIC);
}

static bool form_row(struct posref_spec *spec)
{
    return set_form(spec, POSREF_ALIBI_ROW);
}

static bool default_bias_max(struct posref_spec *spec)
{
    if (!takes(spec, POSREF_FIELD_ALIBI_BIAS_MAX) || spec->alibi_bias_max == 8)
        return false;
    spec->alibi_bias_max = 8;
    return true;
}

const struct posref_fault posref_faults[] = {
    {"pairing", "channels (2i, 2i+1) for (i, i + r/2), or the reverse",
     "pair the channels as the spec says; if the weights were permuted for the other pairing, "
     "permute them back", other_pairing},
    {"direction", "sin(-a) for sin(a)",
     "negate the angle: check the sign of the sine terms, or which of forward and backward runs",
     other_direction},
    {"scaling_ignored", "theta_i for theta'_i",
     "apply the context scaling to the frequencies before any angle is formed", no_scaling},
    {"scaling_as_linear", "theta_i / factor for every i",
     "the scaling treats pairs differently: dividing all frequencies by factor is linear scaling",
     linear_scaling},
    {"factor_inverted", "1 / factor for factor",
     "divide where the factor is multiplied, or hand in its reciprocal", inverted_factor},
    {"attention_factor_missing", "1 for the attention factor",
     "multiply cos and sin by the attention factor", attention_factor_one},
    {"attention_factor_default", "1 + 0.1 ln factor for the attention factor",
     "use attention_factor, or mscale and mscale_all_dim, where the spec gives them",
     attention_factor_by_formula},
    {"range_rounding", "floor and ceil of yarn's range taken, or left out",
     "honour truncate when the range of pairs is computed", other_truncation},
    {"rotary_dim_ignored", "r = dim",
     "rotate the first rotary_dim channels only, with exponents over rotary_dim", whole_width},
    {"base_default", "base = 10000", "take base from the spec: the usual default was used",
     default_base},
    {"order", "sines and cosines one after the other for alternating, or the reverse",
     "lay the table out in the order that the spec says", other_order},
    {"exponent", "base^(-i / (dim/2 - 1)) for base^(-2i / dim), or the reverse",
     "divide the exponent as the spec says", other_exponent},
    {"bias_form_distance", "-m (q - k)", "compute the form of bias that the spec asks for",
     form_distance},
    {"bias_form_symmetric", "-m |q - k|", "compute the form of bias that the spec asks for",
     form_symmetric},
    {"bias_form_row", "m k", "compute the form of bias that the spec asks for", form_row},
    {"alibi_bias_max_default", "slopes with alibi_bias_max = 8",
     "take alibi_bias_max from the spec: the usual default was used", default_bias_max},
    {NULL, NULL, NULL, NULL},
};

bool posref_fault_apply(struct posref_spec *out, const struct posref_fault *fault,
                        const struct posref_spec *right)
{
    struct posref_error err;
    *out = *right;
    if (!fault->change(out))
        return false;
    drop_what_does_not_apply(out);
    return posref_spec_complete(out, &err) == POSREF_OK;
}

static void add_field(struct posref_buffer *out, const struct posref_spec *spec,
                      enum posref_field field, const char *prefix, bool with_name)
{
    posref_buffer_text(out, prefix);
    if (with_name)
        posref_buffer_printf(out, "%s=", posref_field_def(field)->name);
    if (spec->given[field])
        posref_field_text(out, spec, field);
    else
        posref_buffer_text(out, "(none)");
}

/* Whether the field tells the two apart; one that only one of them takes does not. */
static bool differs(const struct posref_spec *a, const struct posref_spec *b,
                    enum posref_field field)
{
    struct posref_buffer texts[2];
    const struct posref_spec *specs[2] = {a, b};
    if (!takes(a, field) || !takes(b, field))
        return false;
    for (int k = 0; k < 2; k++) {
        posref_buffer_init(&texts[k], 4096);
        add_field(&texts[k], specs[k], field, "", false);
    }
    bool same = texts[0].length == texts[1].length &&
                memcmp(texts[0].data, texts[1].data, texts[0].length) == 0;
    posref_buffer_clear(&texts[0]);
    posref_buffer_clear(&texts[1]);
    return !same;
}

void posref_fault_summary(struct posref_buffer *out, const struct posref_spec *wrong,
                          const struct posref_spec *right)
{
    bool differ[POSREF_N_FIELDS];
    int n = 0;
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        n += differ[f] = differs(wrong, right, (enum posref_field)f);
    posref_buffer_text(out, "output equals the reference with");
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        if (differ[f])
            add_field(out, wrong, (enum posref_field)f, " ", true);
    posref_buffer_text(out, "; the spec asks for");
    for (int f = 0; f < POSREF_N_FIELDS; f++)
        if (differ[f])
            add_field(out, right, (enum posref_field)f, " ", n > 1);
}
