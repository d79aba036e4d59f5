/* SPDX-License-Identifier: Apache-2.0 */
/* See json_schema.h. Each keyword is a small function of (schema's value, instance). */
#include "json_schema.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
    json_t *files; /* read already: path to root */
    const char *path;
    const json_t *root;
    char *why;
    size_t size;
};

static bool fail(const struct check *check, const char *keyword, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    snprintf(check->why, check->size, "%s: %.100s", keyword, text ? text : "?");
    free(text);
    return false;
}

static bool is_type(const char *name, const json_t *value)
{
    double number = json_number_value(value);
    return strcmp(name, "object") == 0    ? json_is_object(value)
           : strcmp(name, "array") == 0   ? json_is_array(value)
           : strcmp(name, "string") == 0  ? json_is_string(value)
           : strcmp(name, "boolean") == 0 ? json_is_boolean(value)
           : strcmp(name, "number") == 0  ? json_is_number(value)
           : strcmp(name, "null") == 0    ? json_is_null(value)
           : strcmp(name, "integer") == 0 ? json_is_number(value) && number == floor(number)
                                          : false;
}

static bool matches(const char *pattern, const json_t *value)
{
    regex_t regex;
    if (!json_is_string(value) || regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool found = regexec(&regex, json_string_value(value), 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static bool in_list(const json_t *list, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), value))
            return true;
    return false;
}

static bool valid(const struct check *check, const json_t *schema, const json_t *value);

static bool check_members(const struct check *check, const json_t *schema, const json_t *value)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)value, name, member) {
        const json_t *of = json_object_get(properties, name);
        if (!of && json_is_false(others)) {
            snprintf(check->why, check->size, "unknown member %s", name);
            return false;
        }
        of = of ? of : others;
        if (json_is_object(of) && !valid(check, of, member))
            return false;
    }
    const json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++) {
        name = json_string_value(json_array_get(required, i));
        if (!json_object_get(value, name)) {
            snprintf(check->why, check->size, "no member %s", name);
            return false;
        }
    }
    return true;
}

const json_t *json_schema_at(const json_t *root, const char *pointer)
{
    pointer += *pointer == '#';
    while (root && *pointer == '/') {
        char name[64];
        const size_t length = strcspn(++pointer, "/");
        snprintf(name, sizeof name, "%.*s", (int)length, pointer);
        root = json_object_get(root, name);
        pointer += length;
    }
    return root;
}

static bool check_reference(const struct check *check, const char *reference, const json_t *value)
{
    if (*reference == '#')
        return valid(check, json_schema_at(check->root, reference), value);
    char path[512];
    const char *slash = strrchr(check->path, '/');
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - check->path) + 1 : 0, check->path,
             reference);
    return json_schema_valid_by(check->files, path, value, check->why, check->size);
}

/* How many of the schemas the value fits. */
static int count_fits(const struct check *check, const json_t *list, const json_t *value)
{
    int n = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        n += valid(check, json_array_get(list, i), value);
    return n;
}

/* Of an object, why the last of them does not fit says more than that none does. */
static bool check_any(const struct check *check, const json_t *list, const json_t *value)
{
    if (count_fits(check, list, value) > 0)
        return true;
    return json_is_object(value) ? false : fail(check, "anyOf", value);
}

static bool check_items(const struct check *check, const json_t *of, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!valid(check, of, json_array_get(value, i)))
            return false;
    return true;
}

static bool check_keyword(const struct check *check, const char *keyword, const json_t *of,
                          const json_t *value)
{
    static const char *const said_elsewhere[] = {"$schema", "$id", "$defs", "title", "description",
                                                 "properties", "additionalProperties", "required"};
    double number = json_number_value(value), limit = json_number_value(of);
    for (size_t i = 0; i < sizeof said_elsewhere / sizeof *said_elsewhere; i++)
        if (strcmp(keyword, said_elsewhere[i]) == 0)
            return true;
    if (strcmp(keyword, "$ref") == 0)
        return check_reference(check, json_string_value(of), value);
    if (strcmp(keyword, "anyOf") == 0)
        return check_any(check, of, value);
    if (strcmp(keyword, "oneOf") == 0)
        return count_fits(check, of, value) == 1 || fail(check, keyword, value);
    if (strcmp(keyword, "items") == 0)
        return check_items(check, of, value);
    bool good = strcmp(keyword, "type") == 0               ? is_type(json_string_value(of), value)
                : strcmp(keyword, "enum") == 0             ? in_list(of, value)
                : strcmp(keyword, "const") == 0            ? json_equal(of, value)
                : strcmp(keyword, "pattern") == 0          ? matches(json_string_value(of), value)
                : strcmp(keyword, "minItems") == 0 ? (double)json_array_size(value) >= limit
                : strcmp(keyword, "maxItems") == 0 ? (double)json_array_size(value) <= limit
                : strcmp(keyword, "minimum") == 0          ? number >= limit
                : strcmp(keyword, "exclusiveMinimum") == 0 ? number > limit
                : strcmp(keyword, "maximum") == 0          ? number <= limit
                : strcmp(keyword, "exclusiveMaximum") == 0 ? number < limit
                                                           : false;
    return good || fail(check, keyword, value);
}

static bool valid(const struct check *check, const json_t *schema, const json_t *value)
{
    const char *keyword;
    json_t *of;
    if (!json_is_object(schema))
        return fail(check, "no schema for", value);
    json_object_foreach((json_t *)schema, keyword, of)
        if (!check_keyword(check, keyword, of, value))
            return false;
    return !json_is_object(value) || check_members(check, schema, value);
}

bool json_schema_valid_by(json_t *files, const char *reference, const json_t *value, char *why,
                          size_t size)
{
    json_error_t error;
    char path[512];
    const char *pointer = strchr(reference, '#');
    snprintf(path, sizeof path, "%.*s", (int)strcspn(reference, "#"), reference);
    json_t *root = json_object_get(files, path);
    if (!root) {
        root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
        if (!root || json_object_set_new(files, path, root) != 0) {
            snprintf(why, size, "%s: %s", path, error.text);
            return false;
        }
    }
    const struct check check = {files, path, root, why, size};
    return valid(&check, json_schema_at(root, pointer ? pointer : ""), value);
}

bool json_schema_valid(const char *schema_path, const json_t *value, char *why, size_t size)
{
    json_t *files = json_object();
    const bool good = json_schema_valid_by(files, schema_path, value, why, size);
    json_decref(files);
    return good;
}
