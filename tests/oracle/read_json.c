/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what `posref eval` and `posref show --format json` print, with jansson. Reals go through
 * strtod, which rounds correctly; integers are read as reals, because JSON numbers of 20 digits
 * are no overflow here. */
#include "oracle.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_number(double *out, const json_t *json)
{
    const char *text = json_string_value(json);
    if (json_is_number(json))
        *out = json_number_value(json);
    else if (text && strcmp(text, "Infinity") == 0)
        *out = HUGE_VAL;
    else if (text && strcmp(text, "-Infinity") == 0)
        *out = -HUGE_VAL;
    else if (text && strcmp(text, "NaN") == 0)
        *out = (double)NAN;
    else
        return false;
    return true;
}

/* A list of numbers, as the text with commas between them. */
static bool read_list(struct oracle_case *c, const char *key, const json_t *list)
{
    size_t i, size = 32 * json_array_size(list) + 1, used = 0;
    json_t *value;
    char *text = calloc(size, 1);
    json_array_foreach(list, i, value)
        used += (size_t)snprintf(text + used, size - used, "%s%.17g", i ? "," : "",
                                 json_number_value(value));
    bool ok = text && oracle_case_set(c, key, text);
    free(text);
    return ok;
}

static bool read_field(struct oracle_case *c, const char *key, const json_t *value)
{
    char text[64];
    if (json_is_array(value))
        return read_list(c, key, value);
    if (json_is_string(value))
        return oracle_case_set(c, key, json_string_value(value));
    if (json_is_null(value))
        return true;
    if (json_is_array(value))
        return read_list(c, key, value);
    if (json_is_boolean(value))
        snprintf(text, sizeof text, "%s", json_is_true(value) ? "true" : "false");
    else if (json_is_number(value))
        snprintf(text, sizeof text, "%.17g", json_number_value(value));
    else
        return oracle_fail(c, "spec field %s: no text, number or truth value", key);
    return oracle_case_set(c, key, text);
}

static bool read_tensor(struct oracle_case *c, bool is_output, const char *name,
                        const json_t *tensor)
{
    const json_t *shape = json_object_get(tensor, "shape"), *data = json_object_get(tensor, "data");
    int64_t sizes[ORACLE_MAX_RANK], count = 1;
    size_t rank = json_array_size(shape);
    if (!json_is_array(shape) || !json_is_array(data) || rank > ORACLE_MAX_RANK)
        return oracle_fail(c, "tensor %s: no shape and data", name);
    for (size_t i = 0; i < rank; i++) {
        double size = json_number_value(json_array_get(shape, i));
        if (!(size >= 0 && size <= 1e9) || (double)count * size > 1e9)
            return oracle_fail(c, "tensor %s: shape out of range", name);
        sizes[i] = (int64_t)size;
        count *= sizes[i];
    }
    if (json_array_size(data) != (size_t)count)
        return oracle_fail(c, "tensor %s: data and shape disagree", name);
    double *values = malloc(((size_t)count + 1) * sizeof *values);
    for (int64_t k = 0; values && k < count; k++)
        if (!read_number(&values[k], json_array_get(data, (size_t)k))) {
            free(values);
            return oracle_fail(c, "tensor %s[%lld]: no number", name, (long long)k);
        }
    return oracle_case_add(c, is_output, name, (int)rank, sizes, values);
}

bool oracle_read_json(struct oracle_case *c, const char *text, size_t length)
{
    json_error_t where;
    json_t *doc = json_loadb(text, length, JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES,
                             &where);
    const char *key;
    json_t *value;
    if (!doc)
        return oracle_fail(c, "JSON: byte %d: %.120s", where.position, where.text);
    if (json_is_string(json_object_get(doc, "id")))
        snprintf(c->id, sizeof c->id, "%s", json_string_value(json_object_get(doc, "id")));
    bool ok = json_is_object(json_object_get(doc, "spec")) ||
              oracle_fail(c, "JSON without a spec");
    json_object_foreach(json_object_get(doc, "spec"), key, value)
        ok = ok && read_field(c, key, value);
    json_object_foreach(json_object_get(doc, "inputs"), key, value)
        ok = ok && read_tensor(c, false, key, value);
    json_object_foreach(json_object_get(doc, "outputs"), key, value)
        ok = ok && read_tensor(c, true, key, value);
    json_decref(doc);
    return ok;
}
