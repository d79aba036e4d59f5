/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the lines of a run, as reports read them. Private to harness/. */
#ifndef POSREF_REPORT_FIELDS_H
#define POSREF_REPORT_FIELDS_H

#include <jansson.h>
#include <math.h>
#include <string.h>

/* A member's text; "" where there is none. */
static inline const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static inline int64_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* Numbers that JSON cannot hold are strings there. */
static inline double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    if (text)
        return strcmp(text, "Infinity") == 0 ? HUGE_VAL
               : strcmp(text, "-Infinity") == 0 ? -HUGE_VAL : nan("");
    return json_number_value(value);
}

#endif
