/* SPDX-License-Identifier: Apache-2.0 */
/* Completing a spec: defaults, ranges, and keys that the scheme does not take. */
#include "attention.h"
#include "scaling.h"
#include "scheme.h"

#include <math.h>
#include <string.h>

void posref_spec_init(struct posref_spec *spec)
{
    memset(spec, 0, sizeof *spec); /* padding too: equal specs compare equal by memcmp */
}

static void *value_at(struct posref_spec *spec, const struct posref_field_def *def)
{
    return (char *)spec + def->offset;
}

static int choice_count(const struct posref_field_def *def)
{
    int n = 0;
    while (def->choices[n])
        n++;
    return n;
}

static void set_default(struct posref_spec *spec, const struct posref_field_def *def)
{
    const char *text = def->default_text;
    if (def->type == POSREF_TYPE_CHOICE) {
        int choice = 0;
        while (strcmp(def->choices[choice], text) != 0)
            choice++;
        *(int *)value_at(spec, def) = choice;
        return;
    }
    if (def->type == POSREF_TYPE_BOOL) {
        *(bool *)value_at(spec, def) = strcmp(text, "true") == 0;
        return;
    }
    int number = 0; /* whole numbers only: no strtod, whose result depends on the locale */
    for (; *text; text++)
        number = 10 * number + (*text - '0');
    if (def->type == POSREF_TYPE_INT)
        *(int *)value_at(spec, def) = number;
    else
        *(double *)value_at(spec, def) = number;
}

static enum posref_status check_range(const struct posref_field_def *def, double value,
                                      struct posref_error *err)
{
    bool low = def->min_open ? !(value > def->min) : !(value >= def->min);
    bool high = def->max_open ? !(value < def->max) : !(value <= def->max);
    if (low || high)
        return posref_fail(err, POSREF_BAD_INPUT, def->name,
                           "must lie in %c%.15g, %.15g%c, got %.15g", def->min_open ? '(' : '[',
                           def->min, def->max, def->max_open ? ')' : ']', value);
    return POSREF_OK;
}

static enum posref_status check_list(const struct posref_spec *spec,
                                     const struct posref_field_def *def, struct posref_error *err)
{
    const void *at = (const char *)spec + def->offset;
    const struct posref_ints *ints = def->type == POSREF_TYPE_INTS ? at : NULL;
    const struct posref_reals *reals = ints ? NULL : at;
    const int n = ints ? ints->n : reals->n, most = ints ? POSREF_MAX_INTS : POSREF_MAX_REALS;
    if (n < 1 || n > most)
        return posref_fail(err, POSREF_BAD_INPUT, def->name, "must have 1 to %d entries, got %d",
                           most, n);
    for (int i = 0; i < n; i++) {
        enum posref_status status = check_range(def, ints ? ints->item[i] : reals->item[i], err);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

static enum posref_status check_value(struct posref_spec *spec, const struct posref_field_def *def,
                                      struct posref_error *err)
{
    switch (def->type) {
    case POSREF_TYPE_INT:
        return check_range(def, *(int *)value_at(spec, def), err);
    case POSREF_TYPE_REAL:
        return check_range(def, *(double *)value_at(spec, def), err);
    case POSREF_TYPE_CHOICE: {
        int choice = *(int *)value_at(spec, def);
        if (choice < 0 || choice >= choice_count(def))
            return posref_fail(err, POSREF_BAD_INPUT, def->name, "has no choice number %d", choice);
        return POSREF_OK;
    }
    case POSREF_TYPE_INTS:
    case POSREF_TYPE_REALS:
        return check_list(spec, def, err);
    case POSREF_TYPE_BOOL:
        break;
    }
    return POSREF_OK;
}

enum posref_need posref_field_need(const struct posref_field_use *list, enum posref_field field)
{
    while (list->need != POSREF_NEED_NONE && list->field != field)
        list++;
    return list->need;
}

static bool has_scaling(const struct posref_spec *spec)
{
    return posref_field_need(posref_scheme_def(spec->scheme)->fields, POSREF_FIELD_SCALING) !=
           POSREF_NEED_NONE;
}

static enum posref_need need_of(const struct posref_spec *spec, enum posref_field field)
{
    if (field == POSREF_FIELD_SCHEME)
        return POSREF_NEED_DEFAULT;
    enum posref_need need = posref_field_need(posref_scheme_def(spec->scheme)->fields, field);
    if (need == POSREF_NEED_NONE && has_scaling(spec))
        need = posref_field_need(posref_scaling_def(spec->scaling)->fields, field);
    if (need == POSREF_NEED_NONE && posref_scheme_def(spec->scheme)->attention)
        need = posref_attention_field_need(field);
    return need;
}

bool posref_field_applies(const struct posref_spec *spec, enum posref_field field)
{
    return need_of(spec, field) != POSREF_NEED_NONE;
}

/* "scaling=none" or "scheme=alibi": who refuses the field. */
static enum posref_status fail_not_taken(const struct posref_spec *spec, enum posref_field field,
                                         struct posref_error *err)
{
    const char *name = posref_field_def(field)->name;
    bool scaling = false;
    for (int other = 0; has_scaling(spec) && posref_scaling_def(other); other++)
        if (posref_field_need(posref_scaling_def(other)->fields, field) != POSREF_NEED_NONE)
            scaling = true;
    const struct posref_field_def *who =
        posref_field_def(scaling ? POSREF_FIELD_SCALING : POSREF_FIELD_SCHEME);
    return posref_fail(err, POSREF_BAD_INPUT, name, "%s=%s takes no %s", who->name,
                       who->choices[scaling ? spec->scaling : spec->scheme], name);
}

/* The need of every field at once, as need_of has it. */
static void needs_of(enum posref_need need[POSREF_N_FIELDS], const struct posref_spec *spec)
{
    const struct posref_field_use *own = posref_scheme_def(spec->scheme)->fields;
    for (int field = 0; field < POSREF_N_FIELDS; field++)
        need[field] = posref_scheme_def(spec->scheme)->attention
                          ? posref_attention_field_need((enum posref_field)field)
                          : POSREF_NEED_NONE;
    if (has_scaling(spec))
        for (const struct posref_field_use *use = posref_scaling_def(spec->scaling)->fields;
             use->need != POSREF_NEED_NONE; use++)
            need[use->field] = use->need;
    for (; own->need != POSREF_NEED_NONE; own++)
        need[own->field] = own->need;
    need[POSREF_FIELD_SCHEME] = POSREF_NEED_DEFAULT;
}

/* Settles one field: its default, its range, or that it has no value. */
static enum posref_status settle(struct posref_spec *spec, enum posref_field field,
                                 enum posref_need need, struct posref_error *err)
{
    const struct posref_field_def *def = posref_field_def(field);
    if (need == POSREF_NEED_NONE && spec->given[field])
        return fail_not_taken(spec, field, err);
    if (need == POSREF_NEED_REQUIRED && !spec->given[field])
        return posref_fail(err, POSREF_BAD_INPUT, def->name, "is required by %s=%s",
                           posref_field_need(posref_scheme_def(spec->scheme)->fields, field)
                               ? "scheme" : "scaling",
                           posref_field_need(posref_scheme_def(spec->scheme)->fields, field)
                               ? posref_scheme_def(spec->scheme)->info.name
                               : posref_field_def(POSREF_FIELD_SCALING)->choices[spec->scaling]);
    if (need == POSREF_NEED_DEFAULT && !spec->given[field]) {
        set_default(spec, def);
        spec->given[field] = true;
    }
    return spec->given[field] ? check_value(spec, def, err) : POSREF_OK;
}

static size_t value_size(const struct posref_field_def *def)
{
    switch (def->type) {
    case POSREF_TYPE_REAL: return sizeof(double);
    case POSREF_TYPE_BOOL: return sizeof(bool);
    case POSREF_TYPE_INTS: return sizeof(struct posref_ints);
    case POSREF_TYPE_REALS: return sizeof(struct posref_reals);
    case POSREF_TYPE_INT:
    case POSREF_TYPE_CHOICE: break;
    }
    return sizeof(int);
}

/* Clears what has no value, so that equal specs are equal. */
static void clear_absent(struct posref_spec *out, const struct posref_spec *spec)
{
    posref_spec_init(out);
    out->slips = spec->slips;
    for (int field = 0; field < POSREF_N_FIELDS; field++) {
        const struct posref_field_def *def = posref_field_def((enum posref_field)field);
        if (!spec->given[field])
            continue;
        memcpy((char *)out + def->offset, (const char *)spec + def->offset, value_size(def));
        out->given[field] = true;
    }
}

/* scaling=proportional is Hugging Face's name for partial=proportional, with a factor: linear. */
static enum posref_status unfold_proportional(struct posref_spec *spec, struct posref_error *err)
{
    if (spec->scaling != POSREF_SCALING_PROPORTIONAL)
        return POSREF_OK;
    if (spec->given[POSREF_FIELD_PARTIAL] && spec->partial != POSREF_PARTIAL_PROPORTIONAL)
        return posref_fail(err, POSREF_BAD_INPUT, "partial",
                           "scaling=proportional is partial=proportional; leave it out");
    spec->partial = POSREF_PARTIAL_PROPORTIONAL;
    spec->given[POSREF_FIELD_PARTIAL] = true;
    spec->scaling = spec->given[POSREF_FIELD_FACTOR] ? POSREF_SCALING_LINEAR : POSREF_SCALING_NONE;
    return POSREF_OK;
}

bool posref_spec_is_unsettled(const struct posref_spec *spec)
{
    return !spec->given[POSREF_FIELD_SEQ_LEN] && posref_field_applies(spec, POSREF_FIELD_SEQ_LEN);
}

enum posref_status posref_spec_settle(struct posref_spec *spec, const struct posref_tensors *in,
                                      struct posref_error *err)
{
    if (!posref_spec_is_unsettled(spec))
        return POSREF_OK;
    const struct posref_tensor *positions = in ? posref_tensors_find(in, "positions") : NULL;
    if (!positions || positions->dtype != POSREF_F64)
        return posref_fail(err, POSREF_BAD_INPUT, "seq_len",
                           "is required by scaling=%s where there are no positions",
                           posref_field_def(POSREF_FIELD_SCALING)->choices[spec->scaling]);
    const double *position = positions->data;
    double length = 1;
    for (int64_t k = 0; k < posref_tensor_count(positions); k++)
        length = position[k] + 1 > length ? position[k] + 1 : length;
    spec->seq_len = length <= POSREF_MAX_POSITION + 1 ? length : POSREF_MAX_POSITION + 1;
    spec->given[POSREF_FIELD_SEQ_LEN] = true;
    return POSREF_OK;
}

enum posref_status posref_spec_complete(struct posref_spec *spec, struct posref_error *err)
{
    struct posref_spec work;
    clear_absent(&work, spec);
    /* scheme and scaling first: they say which other fields apply. */
    enum posref_status status = settle(&work, POSREF_FIELD_SCHEME, POSREF_NEED_DEFAULT, err);
    if (status == POSREF_OK && has_scaling(&work))
        status = settle(&work, POSREF_FIELD_SCALING, need_of(&work, POSREF_FIELD_SCALING), err);
    if (status == POSREF_OK && has_scaling(&work))
        status = unfold_proportional(&work, err);
    if (status == POSREF_OK && posref_scheme_def(work.scheme)->defaults)
        posref_scheme_def(work.scheme)->defaults(&work);
    enum posref_need need[POSREF_N_FIELDS];
    if (status == POSREF_OK)
        needs_of(need, &work);
    for (int field = 0; field < POSREF_N_FIELDS && status == POSREF_OK; field++)
        status = settle(&work, (enum posref_field)field, need[field], err);
    if (status == POSREF_OK && posref_scheme_def(work.scheme)->check)
        status = posref_scheme_def(work.scheme)->check(&work, err);
    if (status == POSREF_OK && has_scaling(&work) && posref_scaling_def(work.scaling)->check)
        status = posref_scaling_def(work.scaling)->check(&work, err);
    if (status == POSREF_OK && posref_scheme_def(work.scheme)->attention)
        status = posref_attention_check(&work, err);
    if (status == POSREF_OK)
        *spec = work;
    return status;
}
