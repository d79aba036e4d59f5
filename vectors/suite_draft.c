/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a declared case gathered into a draft. */
#include "vectors/suite_draft.h"

#include <string.h>

char *posref_arena_text(const struct posref_arena *arena, const char *text, size_t length)
{
    char *copy = arena->alloc(arena->ctx, length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* A value of a spec as typed; lists with commas. */
static bool add_value(struct posref_buffer *out, const json_t *value)
{
    size_t i;
    json_t *item;
    if (json_is_boolean(value))
        posref_buffer_text(out, json_is_true(value) ? "true" : "false");
    else if (json_is_number(value))
        posref_buffer_number(out, json_number_value(value));
    else if (json_is_string(value))
        posref_buffer_text(out, json_string_value(value));
    else if (!json_is_array(value))
        return false;
    json_array_foreach(value, i, item) {
        posref_buffer_text(out, i ? "," : "");
        if (json_is_array(item) || !add_value(out, item))
            return false;
    }
    return true;
}

static enum posref_status add_spec(struct posref_spec *spec, const json_t *object,
                                   struct posref_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        struct posref_buffer text;
        int field = posref_field_find(key);
        if (field >= 0 && spec->given[field])
            return posref_fail(err, POSREF_BAD_INPUT, key, "said twice on the way to a case");
        posref_buffer_init(&text, POSREF_MAX_FIELD_TEXT);
        enum posref_status status =
            add_value(&text, value) && !text.failed
                ? posref_spec_set(spec, key, text.data ? text.data : "", err)
                : posref_fail(err, POSREF_BAD_INPUT, key, "no value of a spec");
        posref_buffer_clear(&text);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

static enum posref_status add_flags(struct posref_draft *draft, const json_t *flags,
                                    struct posref_error *err)
{
    size_t i;
    json_t *value;
    json_array_foreach(flags, i, value) {
        if (draft->n_flags == POSREF_DRAFT_FLAGS || !json_is_string(value))
            return posref_fail(err, POSREF_BAD_INPUT, "flags", "too many, or no text");
        draft->flag[draft->n_flags++] = json_string_value(value);
    }
    return POSREF_OK;
}

/* true when the key is one of a draft's texts or numbers. */
static bool add_plain(struct posref_draft *draft, const char *key, const json_t *value)
{
    const char *text = json_string_value(value);
    double number = json_number_value(value);
    int input = posref_input_find(key);
    if (text && input >= 0 && input < POSREF_DRAFT_INPUTS) {
        draft->input[input] = text;
        return true;
    }
    if (text && strcmp(key, "op") == 0)
        draft->op = text;
    else if (text && strcmp(key, "source") == 0)
        draft->source = text;
    else if (number >= 1 && strcmp(key, "length") == 0)
        draft->length = number;
    else if (number >= 1 && strcmp(key, "dim_min") == 0)
        draft->dim_min = number > draft->dim_min ? number : draft->dim_min;
    else if (number >= 1 && strcmp(key, "dim_max") == 0)
        draft->dim_max = number < draft->dim_max ? number : draft->dim_max;
    else
        return strcmp(key, "slug") == 0 || strcmp(key, "id") == 0 || strcmp(key, "of") == 0;
    return true;
}

enum posref_status posref_draft_add(struct posref_draft *draft, const json_t *object,
                                    struct posref_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        enum posref_status status = POSREF_OK;
        if (strcmp(key, "spec") == 0 && json_is_object(value))
            status = add_spec(&draft->spec, value, err);
        else if (strcmp(key, "flags") == 0 && json_is_array(value))
            status = add_flags(draft, value, err);
        else if (!add_plain(draft, key, value))
            status = posref_fail(err, POSREF_BAD_INPUT, key,
                                 "no member of a case, or of a wrong type");
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}
