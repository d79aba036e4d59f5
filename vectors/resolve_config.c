/* SPDX-License-Identifier: Apache-2.0 */
/* Reading keys of a config: each value is checked for its type and range, and each key that was
 * read is taken off a copy, so that what is left can be said. */
#include "vectors/resolve.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

void resolve_ascii(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7E)
            *text = '?';
}

struct resolve_scope *resolve_enter(struct resolve *r, struct resolve_scope *parent,
                                    const char *key, const json_t *object)
{
    enum posref_status status;
    if (r->n_scopes == POSREF_RESOLVE_MAX_SCOPES) {
        status = posref_fail(r->err, POSREF_BAD_INPUT, key, "too many nested configs");
        (void)status;
        return NULL;
    }
    struct resolve_scope *scope = &r->scope[r->n_scopes];
    if (parent)
        json_object_del(parent->rest, key);
    scope->at = object;
    scope->rest = json_copy((json_t *)(uintptr_t)object);
    if (!scope->rest) {
        status = posref_fail(r->err, POSREF_NO_MEMORY, key, "no memory");
        (void)status;
        return NULL;
    }
    int length = snprintf(scope->path, sizeof scope->path, "%s%.40s", parent ? parent->path : "",
                          key);
    if (*key && length >= 0 && (size_t)length < sizeof scope->path - 1)
        memcpy(scope->path + length, ".", 2);
    resolve_ascii(scope->path);
    r->n_scopes++;
    return scope;
}

bool resolve_has(const struct resolve_scope *scope, const char *key)
{
    const json_t *value = scope ? json_object_get(scope->at, key) : NULL;
    return value && !json_is_null(value);
}

const json_t *resolve_get(struct resolve_scope *scope, const char *key)
{
    const json_t *value = scope ? json_object_get(scope->at, key) : NULL;
    if (value)
        json_object_del(scope->rest, key);
    return value && !json_is_null(value) ? value : NULL;
}

static enum posref_status bad(struct resolve *r, const struct resolve_scope *scope,
                              const char *key, const json_t *value, const char *wanted)
{
    static const char *const kinds[] = {"an object", "a list", "a string", "a number", "a number",
                                        "a boolean", "a boolean", "null"};
    char path[128];
    snprintf(path, sizeof path, "%s%s", scope->path, key);
    return posref_fail(r->err, POSREF_BAD_INPUT, path, "must be %s, got %s", wanted,
                       kinds[json_typeof(value)]);
}

static enum posref_status check(struct resolve *r, const struct resolve_scope *scope,
                                const char *key, double value, double low, double high)
{
    char path[128];
    if (value >= low && value <= high)
        return POSREF_OK;
    snprintf(path, sizeof path, "%s%s", scope->path, key);
    return posref_fail(r->err, POSREF_BAD_INPUT, path, "must lie in [%.15g, %.15g], got %.15g",
                       low, high, value);
}

enum posref_status resolve_number(struct resolve *r, struct resolve_scope *scope, const char *key,
                                  double low, double high, double *out, bool *given)
{
    const json_t *value = resolve_get(scope, key);
    if (!value)
        return POSREF_OK;
    if (!json_is_number(value))
        return bad(r, scope, key, value, "a number");
    enum posref_status status = check(r, scope, key, json_number_value(value), low, high);
    if (status != POSREF_OK)
        return status;
    *out = json_number_value(value);
    *given = true;
    return POSREF_OK;
}

enum posref_status resolve_whole(struct resolve *r, struct resolve_scope *scope, const char *key,
                                 int low, int high, int *out, bool *given)
{
    double number = 0;
    bool here = false;
    enum posref_status status = resolve_number(r, scope, key, low, high, &number, &here);
    if (status != POSREF_OK || !here)
        return status;
    if (number != floor(number))
        return bad(r, scope, key, json_object_get(scope->at, key), "a whole number");
    *out = (int)number;
    *given = true;
    return POSREF_OK;
}

enum posref_status resolve_bool(struct resolve *r, struct resolve_scope *scope, const char *key,
                                bool *out, bool *given)
{
    const json_t *value = resolve_get(scope, key);
    if (!value)
        return POSREF_OK;
    if (!json_is_boolean(value))
        return bad(r, scope, key, value, "true or false");
    *out = json_is_true(value);
    *given = true;
    return POSREF_OK;
}

enum posref_status resolve_string(struct resolve *r, struct resolve_scope *scope, const char *key,
                                  const char **out)
{
    const json_t *value = resolve_get(scope, key);
    if (!value)
        return POSREF_OK;
    if (!json_is_string(value))
        return bad(r, scope, key, value, "a string");
    *out = json_string_value(value);
    return POSREF_OK;
}

enum posref_status resolve_number_of(struct resolve *r, struct resolve_scope *scope,
                                     const char *const *keys, double low, double high, double *out,
                                     bool *given)
{
    const char *first = NULL;
    for (; *keys; keys++) {
        double value = 0;
        bool here = false;
        enum posref_status status = resolve_number(r, scope, *keys, low, high, &value, &here);
        if (status != POSREF_OK)
            return status;
        if (here && first && value != *out)
            resolve_say(r, NULL, "contradiction", *keys, "%s is %.15g, and %s is %.15g; %s is used",
                        *keys, value, first, *out, first);
        if (here && !first) {
            first = *keys;
            *out = value;
            *given = true;
        }
    }
    return POSREF_OK;
}

enum posref_status resolve_whole_of(struct resolve *r, struct resolve_scope *scope,
                                    const char *const *keys, int low, int high, int *out,
                                    bool *given)
{
    double value = 0;
    bool here = false;
    enum posref_status status = resolve_number_of(r, scope, keys, low, high, &value, &here);
    if (status != POSREF_OK || !here)
        return status;
    if (value != floor(value))
        return posref_fail(r->err, POSREF_BAD_INPUT, keys[0], "must be a whole number, got %.15g",
                           value);
    *out = (int)value;
    *given = true;
    return POSREF_OK;
}

enum posref_status resolve_size(struct resolve *r, struct resolve_scope *scope, const char *key,
                                int out[2])
{
    const json_t *value = resolve_get(scope, key);
    bool list = json_is_array(value);
    if (!value) {
        resolve_say(r, NULL, "default", key, "%s%s is missing; %d is what Hugging Face's class "
                    "takes", scope->path, key, out[0]);
        return POSREF_OK;
    }
    if (list ? json_array_size(value) != 2 : !json_is_number(value))
        return bad(r, scope, key, value, "a number or a list of two");
    for (size_t i = 0; i < 2; i++) {
        const json_t *item = list ? json_array_get(value, i) : value;
        double size = json_number_value(item);
        if (!json_is_number(item) || size != floor(size))
            return bad(r, scope, key, item, "a whole number");
        enum posref_status status = check(r, scope, key, size, 1, 65536);
        if (status != POSREF_OK)
            return status;
    }
    for (size_t i = 0; i < 2; i++)
        out[i] = (int)json_number_value(list ? json_array_get(value, i) : value);
    return POSREF_OK;
}

enum posref_status resolve_grid(struct resolve *r, struct resolve_scope *scope, int image,
                                int patch, int out[2])
{
    int whole[2] = {image, image}, part[2] = {patch, patch};
    enum posref_status status = resolve_size(r, scope, "image_size", whole);
    if (status == POSREF_OK)
        status = resolve_size(r, scope, "patch_size", part);
    out[0] = whole[0] / part[0];
    out[1] = whole[1] / part[1];
    if (status == POSREF_OK && (out[0] < 1 || out[1] < 1))
        status = posref_fail(r->err, POSREF_BAD_INPUT, "patch_size", "%d is more than the image",
                             part[0]);
    return status;
}

struct resolve_note *resolve_say(struct resolve *r, struct resolve_layer *layer, const char *kind,
                                 const char *key, const char *format, ...)
{
    int *n = layer ? &layer->n_notes : &r->n_notes;
    struct resolve_note *notes = layer ? layer->note : r->note;
    /* When there are too many the last one gives way: notes on runtimes come last. */
    struct resolve_note *note = &notes[*n < POSREF_RESOLVE_MAX_NOTES ? (*n)++ : *n - 1];
    va_list args;
    *note = (struct resolve_note){.kind = kind, .runtime = -1};
    snprintf(note->key, sizeof note->key, "%s", key);
    va_start(args, format);
    vsnprintf(note->text, sizeof note->text, format, args);
    va_end(args);
    resolve_ascii(note->key);
    resolve_ascii(note->text);
    return note;
}
