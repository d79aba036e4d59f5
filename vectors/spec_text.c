/* SPDX-License-Identifier: Apache-2.0 */
/* Specs as text and as JSON, driven by the one table of fields. */
#include "vectors/vectors.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static void *field_at(struct posref_spec *spec, const struct posref_field_def *def)
{
    return (char *)spec + def->offset;
}

static const void *field_of(const struct posref_spec *spec, const struct posref_field_def *def)
{
    return (const char *)spec + def->offset;
}

static enum posref_status set_int(int *out, const struct posref_field_def *def, const char *value,
                                  struct posref_error *err)
{
    double number;
    enum posref_status status = posref_number_parse(&number, value, def->name, err);
    if (status != POSREF_OK)
        return status;
    if (number != floor(number))
        return posref_fail(err, POSREF_BAD_INPUT, def->name, "must be a whole number, got %.40s",
                           value);
    if (number < INT_MIN || number > INT_MAX)
        return posref_fail(err, POSREF_BAD_INPUT, def->name, "%.40s is out of range", value);
    *out = (int)number;
    return POSREF_OK;
}

/* Names, whole ones, as far as they fit; the nearest to what was typed where they do not. */
static enum posref_status refuse_choice(const struct posref_field_def *def, const char *value,
                                        struct posref_error *err)
{
    char names[160] = "";
    size_t length = 0;
    const char *near = NULL;
    for (int i = 0; def->choices[i]; i++) {
        const bool fits = length + strlen(def->choices[i]) + sizeof ", , ..." <= sizeof names;
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "",
                                   fits ? def->choices[i] : "...");
        if (!fits) {
            near = posref_nearest(value, def->choices);
            break;
        }
    }
    return posref_fail(err, POSREF_BAD_INPUT, def->name, "must be one of %s; got '%.40s'%s%s%s",
                       names, value, near ? "; did you mean " : "", near ? near : "",
                       near ? "?" : "");
}

static enum posref_status set_choice(int *out, const struct posref_field_def *def,
                                     const char *value, struct posref_error *err)
{
    for (int i = 0; def->choices[i]; i++) {
        if (strcmp(def->choices[i], value) == 0) {
            *out = i;
            return POSREF_OK;
        }
    }
    return refuse_choice(def, value, err);
}

static enum posref_status set_bool(bool *out, const struct posref_field_def *def,
                                   const char *value, struct posref_error *err)
{
    bool yes = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
    if (!yes && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
        return posref_fail(err, POSREF_BAD_INPUT, def->name, "must be true or false, got '%.40s'",
                           value);
    *out = yes;
    return POSREF_OK;
}

static enum posref_status set_list(void *out, const struct posref_field_def *def,
                                   const char *value, struct posref_error *err)
{
    struct posref_ints ints = {0};
    struct posref_reals reals = {0};
    const bool whole = def->type == POSREF_TYPE_INTS;
    const int most = whole ? POSREF_MAX_INTS : POSREF_MAX_REALS;
    for (int n = 0;; n++) {
        char word[64];
        size_t length = strcspn(value, ",");
        if (n == most || length >= sizeof word)
            return posref_fail(err, POSREF_BAD_INPUT, def->name,
                               "must be at most %d numbers between commas", most);
        memcpy(word, value, length);
        word[length] = '\0';
        enum posref_status status =
            whole ? set_int(&ints.item[n], def, word, err)
                  : posref_number_parse(&reals.item[n], word, def->name, err);
        if (status != POSREF_OK)
            return status;
        ints.n = reals.n = n + 1;
        value += length;
        if (*value++ == '\0')
            break;
    }
    if (whole)
        *(struct posref_ints *)out = ints;
    else
        *(struct posref_reals *)out = reals;
    return POSREF_OK;
}

static enum posref_status set_value(struct posref_spec *spec, const struct posref_field_def *def,
                                    const char *value, struct posref_error *err)
{
    switch (def->type) {
    case POSREF_TYPE_INT: return set_int(field_at(spec, def), def, value, err);
    case POSREF_TYPE_REAL: return posref_number_parse(field_at(spec, def), value, def->name, err);
    case POSREF_TYPE_BOOL: return set_bool(field_at(spec, def), def, value, err);
    case POSREF_TYPE_CHOICE: return set_choice(field_at(spec, def), def, value, err);
    case POSREF_TYPE_INTS:
    case POSREF_TYPE_REALS: return set_list(field_at(spec, def), def, value, err);
    }
    return posref_fail(err, POSREF_INTERNAL, def->name, "field of an unknown type");
}

enum posref_status posref_spec_set(struct posref_spec *spec, const char *key, const char *value,
                                   struct posref_error *err)
{
    int field = posref_field_find(key);
    if (field < 0) {
        const char *names[POSREF_N_FIELDS + 1] = {NULL};
        for (int f = 0; f < POSREF_N_FIELDS; f++)
            names[f] = posref_field_def((enum posref_field)f)->name;
        const char *near = posref_nearest(key, names);
        return posref_fail(err, POSREF_BAD_INPUT, key, "unknown key%s%s%s",
                           near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    enum posref_status status =
        set_value(spec, posref_field_def((enum posref_field)field), value, err);
    if (status == POSREF_OK)
        spec->given[field] = true;
    return status;
}

static void list_text(struct posref_buffer *out, const struct posref_field_def *def,
                      const void *at, const char *separator)
{
    const struct posref_ints *ints = def->type == POSREF_TYPE_INTS ? at : NULL;
    const struct posref_reals *reals = ints ? NULL : at;
    for (int i = 0; i < (ints ? ints->n : reals->n); i++) {
        posref_buffer_text(out, i ? separator : "");
        posref_buffer_number(out, ints ? ints->item[i] : reals->item[i]);
    }
}

void posref_field_text(struct posref_buffer *out, const struct posref_spec *spec,
                       enum posref_field field)
{
    const struct posref_field_def *def = posref_field_def(field);
    const void *at = field_of(spec, def);
    if (!spec->given[field])
        return;
    switch (def->type) {
    case POSREF_TYPE_INT: posref_buffer_number(out, *(const int *)at); break;
    case POSREF_TYPE_REAL: posref_buffer_number(out, *(const double *)at); break;
    case POSREF_TYPE_BOOL: posref_buffer_text(out, *(const bool *)at ? "true" : "false"); break;
    case POSREF_TYPE_CHOICE: posref_buffer_text(out, def->choices[*(const int *)at]); break;
    case POSREF_TYPE_INTS:
    case POSREF_TYPE_REALS: list_text(out, def, at, ","); break;
    }
}

void posref_spec_text(struct posref_buffer *out, const struct posref_spec *spec)
{
    const char *separator = "";
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        if (!spec->given[f])
            continue;
        posref_buffer_text(out, separator);
        posref_buffer_text(out, posref_field_def((enum posref_field)f)->name);
        posref_buffer_text(out, "=");
        posref_field_text(out, spec, (enum posref_field)f);
        separator = " ";
    }
}

static void field_json(struct posref_buffer *out, const struct posref_spec *spec,
                       enum posref_field field)
{
    const struct posref_field_def *def = posref_field_def(field);
    if (posref_field_is_list(def)) {
        posref_buffer_text(out, "[");
        list_text(out, def, field_of(spec, def), ", ");
        posref_buffer_text(out, "]");
        return;
    }
    posref_buffer_text(out, def->type == POSREF_TYPE_CHOICE ? "\"" : "");
    posref_field_text(out, spec, field);
    posref_buffer_text(out, def->type == POSREF_TYPE_CHOICE ? "\"" : "");
}

void posref_spec_json(struct posref_buffer *out, const struct posref_spec *spec)
{
    const char *separator = "{\"";
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        const struct posref_field_def *def = posref_field_def((enum posref_field)f);
        if (!spec->given[f])
            continue;
        posref_buffer_text(out, separator);
        posref_buffer_text(out, def->name);
        posref_buffer_text(out, "\": ");
        field_json(out, spec, (enum posref_field)f);
        separator = ", \"";
    }
    posref_buffer_text(out, separator[0] == '{' ? "{}" : "}");
}

enum posref_status posref_spec_parse(struct posref_spec *spec, const char *text,
                                     struct posref_error *err)
{
    struct posref_spec parsed;
    posref_spec_init(&parsed);
    while (*text) {
        size_t length = strcspn(text, " ");
        char word[POSREF_MAX_FIELD_TEXT];
        char *equals = length < sizeof word ? memcpy(word, text, length) : NULL;
        if (equals) {
            word[length] = '\0';
            equals = strchr(word, '=');
        }
        if (!equals)
            return posref_fail(err, POSREF_BAD_INPUT, "spec", "'%.40s' is not KEY=VALUE", text);
        *equals = '\0';
        int field = posref_field_find(word);
        if (field >= 0 && parsed.given[field])
            return posref_fail(err, POSREF_BAD_INPUT, word, "given twice");
        enum posref_status status = posref_spec_set(&parsed, word, equals + 1, err);
        if (status != POSREF_OK)
            return status;
        text += length + (text[length] == ' ');
    }
    *spec = parsed;
    return POSREF_OK;
}
