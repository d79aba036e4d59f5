/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a declared case gathered into a draft. */
#include "vectors/suite_draft.h"

#include <string.h>

static const char *const input_keys[POSREF_DRAFT_INPUTS] = {"positions", "q_positions",
                                                            "k_positions", "x", "logits"};

char *posref_arena_text(const struct posref_arena *arena, const char *text, size_t length)
{
    char *copy = arena->alloc(arena->ctx, length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static enum posref_status add_spec(struct posref_spec *spec, const json_t *object,
                                   struct posref_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        char number[POSREF_NUMBER_SIZE];
        const char *text = json_string_value(value);
        if (json_is_boolean(value))
            text = json_is_true(value) ? "true" : "false";
        if (json_is_number(value)) {
            posref_number_format(number, json_number_value(value));
            text = number;
        }
        int field = posref_field_find(key);
        if (!text)
            return posref_fail(err, POSREF_BAD_INPUT, key, "no value of a spec");
        if (field >= 0 && spec->given[field])
            return posref_fail(err, POSREF_BAD_INPUT, key, "said twice on the way to a case");
        enum posref_status status = posref_spec_set(spec, key, text, err);
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
    for (int i = 0; text && i < POSREF_DRAFT_INPUTS; i++) {
        if (strcmp(key, input_keys[i]) == 0) {
            draft->input[i] = text;
            return true;
        }
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
