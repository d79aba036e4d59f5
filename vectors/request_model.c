/* SPDX-License-Identifier: Apache-2.0 */
/* model=NAME in a request: a preset's fields under those that the user gives. */
#include "vectors/models.h"
#include "vectors/request.h"

#include <string.h>

enum { FROM_USER, FROM_PRESET, FROM_UNVERIFIED };

bool posref_spec_key_known(const char *key)
{
    return posref_field_find(key) >= 0 || strcmp(key, "model") == 0 ||
           strcmp(key, "allow_unverified") == 0;
}

/* Sets one field by its text: exact, for numbers print as what reads back to them. */
static enum posref_status copy_field(struct posref_spec *to, const struct posref_spec *from,
                                     enum posref_field field, struct posref_error *err)
{
    struct posref_buffer text;
    posref_buffer_init(&text, POSREF_MAX_FIELD_TEXT);
    posref_field_text(&text, from, field);
    posref_buffer_add(&text, "", 1);
    enum posref_status status =
        text.failed ? posref_fail(err, POSREF_NO_MEMORY, "model", "no memory")
                    : posref_spec_set(to, posref_field_def(field)->name, text.data, err);
    posref_buffer_clear(&text);
    return status;
}

static enum posref_status set_model(struct posref_request *request, const char *name,
                                    struct posref_error *err)
{
    struct posref_model model;
    int at = 0;
    if (request->model[0])
        return posref_fail(err, POSREF_BAD_INPUT, "model", "given twice");
    if (strlen(name) >= sizeof request->model)
        return posref_fail(err, POSREF_BAD_INPUT, "model", "no preset has so long a name");
    struct posref_heap *heap = posref_heap_new(0);
    if (!heap)
        return posref_fail(err, POSREF_NO_MEMORY, "model", "no memory");
    struct posref_arena arena = posref_heap_arena(heap);
    enum posref_status status = posref_model_find(&model, &at, name, &arena, err);
    for (int f = 0; status == POSREF_OK && f < POSREF_N_FIELDS; f++) {
        const struct posref_model_layers *layers = &model.layers[at];
        if (!layers->spec.given[f] || request->spec.given[f])
            continue;
        status = copy_field(&request->spec, &layers->spec, (enum posref_field)f, err);
        request->from_model[f] =
            layers->known[f] == POSREF_KNOWN_UNVERIFIED ? FROM_UNVERIFIED : FROM_PRESET;
    }
    posref_heap_free(heap);
    if (status == POSREF_OK)
        snprintf(request->model, sizeof request->model, "%s", name);
    return status;
}

static enum posref_status set_allow(struct posref_request *request, const char *value,
                                    struct posref_error *err)
{
    bool yes = strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
    if (request->allow_given)
        return posref_fail(err, POSREF_BAD_INPUT, "allow_unverified", "given twice");
    if (!yes && strcmp(value, "0") != 0 && strcmp(value, "false") != 0)
        return posref_fail(err, POSREF_BAD_INPUT, "allow_unverified",
                           "must be true or false, got '%.40s'", value);
    request->allow_given = true;
    request->allow_unverified = yes;
    return POSREF_OK;
}

enum posref_status posref_request_set_field(struct posref_request *request, const char *key,
                                            const char *value, struct posref_error *err)
{
    if (strcmp(key, "model") == 0)
        return set_model(request, value, err);
    if (strcmp(key, "allow_unverified") == 0)
        return set_allow(request, value, err);
    int field = posref_field_find(key);
    if (field >= 0 && request->spec.given[field] && !request->from_model[field])
        return posref_fail(err, POSREF_BAD_INPUT, key, "given twice");
    enum posref_status status = posref_spec_set(&request->spec, key, value, err);
    if (status == POSREF_OK)
        request->from_model[field] = FROM_USER;
    return status;
}

static void drop(struct posref_request *request, int field)
{
    if (request->from_model[field] &&
        !posref_field_applies(&request->spec, (enum posref_field)field)) {
        request->spec.given[field] = false;
        request->from_model[field] = FROM_USER;
    }
}

static enum posref_status refuse_unverified(const struct posref_request *request,
                                            struct posref_error *err)
{
    char names[160] = "";
    size_t length = 0;
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        if (request->from_model[f] != FROM_UNVERIFIED)
            continue;
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   length ? ", " : "",
                                   posref_field_def((enum posref_field)f)->name);
        length = length < sizeof names ? length : sizeof names - 1;
    }
    if (length == 0 || request->allow_unverified)
        return POSREF_OK;
    return posref_fail(err, POSREF_BAD_INPUT, "model",
                       "%s: nobody verified %s; give the value, or allow_unverified=1",
                       request->model, names);
}

enum posref_status posref_request_settle(struct posref_request *request, struct posref_error *err)
{
    if (!request->model[0])
        return POSREF_OK;
    drop(request, POSREF_FIELD_SCALING);
    for (int field = 0; field < POSREF_N_FIELDS; field++)
        drop(request, field);
    return refuse_unverified(request, err);
}

enum posref_status posref_spec_typed(struct posref_spec *out, char *text, const char *separators,
                                     struct posref_error *err)
{
    struct posref_request request;
    posref_request_init(&request);
    for (char *word; (word = strsep(&text, separators));) {
        char *equals = strchr(word, '=');
        /* a list goes on behind its own commas: what has no equals sign belongs to the value */
        for (char *next = text; equals && next && strchr(separators, ',');) {
            size_t length = strcspn(next, separators);
            if (length == 0 || memchr(next, '=', length))
                break;
            next[-1] = ',';
            text = next[length] ? next + length + 1 : NULL;
            next[length] = '\0';
            next = text;
        }
        if (!equals)
            return posref_fail(err, POSREF_BAD_INPUT, word, "not KEY=VALUE");
        *equals = '\0';
        enum posref_status status = posref_request_set_field(&request, word, equals + 1, err);
        if (status != POSREF_OK)
            return status;
    }
    enum posref_status status = posref_request_settle(&request, err);
    if (status == POSREF_OK)
        *out = request.spec;
    return status;
}

static void add_overridden(struct posref_buffer *out, const struct posref_request *request,
                           const struct posref_model_layers *layers)
{
    const char *separator = "";
    posref_buffer_text(out, "], \"overridden\": [");
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        if (!layers->spec.given[f] || request->from_model[f])
            continue;
        posref_buffer_printf(out, "%s\"%s\"", separator,
                             posref_field_def((enum posref_field)f)->name);
        separator = ", ";
    }
    posref_buffer_text(out, "]}");
}

enum posref_status posref_request_model_json(struct posref_buffer *out,
                                             const struct posref_request *request,
                                             struct posref_error *err)
{
    struct posref_model model;
    int at = 0;
    const char *separator = "";
    struct posref_heap *heap = posref_heap_new(0);
    if (!heap)
        return posref_fail(err, POSREF_NO_MEMORY, "model", "no memory");
    struct posref_arena arena = posref_heap_arena(heap);
    enum posref_status status = posref_model_find(&model, &at, request->model, &arena, err);
    if (status == POSREF_OK) {
        posref_buffer_text(out, "{\"name\": ");
        posref_buffer_json_string(out, model.name);
        posref_buffer_text(out, ", \"applies_to\": ");
        posref_buffer_json_string(out, model.layers[at].name);
        posref_buffer_text(out, ", \"other_layers\": [");
        for (int i = 0; i < model.n_layers; i++) {
            if (i == at)
                continue;
            posref_buffer_text(out, separator);
            posref_buffer_json_string(out, model.layers[i].name);
            separator = ", ";
        }
        add_overridden(out, request, &model.layers[at]);
    }
    posref_heap_free(heap);
    return status;
}
