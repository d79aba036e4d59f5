/* SPDX-License-Identifier: Apache-2.0 */
/* Presets as JSON: what `posref models --format json` and GET /v1/models answer. */
#include "vectors/models.h"

#include <string.h>

static void add_text(struct posref_buffer *out, const char *key, const char *text)
{
    posref_buffer_printf(out, ", \"%s\": ", key);
    posref_buffer_json_string(out, text);
}

/* {"name": ["base", "factor"], ...} would hide what has no status: one status a field instead. */
static enum posref_status add_layers(struct posref_buffer *out,
                                     const struct posref_model_layers *layers,
                                     struct posref_error *err)
{
    struct posref_spec spec = layers->spec;
    const char *separator = "";
    enum posref_status status = posref_spec_complete(&spec, err);
    if (status != POSREF_OK)
        return status;
    posref_buffer_text(out, "{\"applies_to\": ");
    posref_buffer_json_string(out, layers->name);
    posref_buffer_text(out, ", \"spec\": ");
    posref_spec_json(out, &spec);
    posref_buffer_text(out, ", \"status\": {");
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        if (!spec.given[f])
            continue;
        enum posref_known known = (enum posref_known)layers->known[f];
        posref_buffer_printf(out, "%s\"%s\": \"%s\"", separator,
                             posref_field_def((enum posref_field)f)->name,
                             known ? posref_known_name(known) : "default");
        separator = ", ";
    }
    posref_buffer_text(out, "}}");
    return POSREF_OK;
}

static void add_list(struct posref_buffer *out, const char *key, const char *const *lines, int n)
{
    posref_buffer_printf(out, ", \"%s\": [", key);
    for (int i = 0; i < n; i++) {
        posref_buffer_text(out, i ? ", " : "");
        posref_buffer_json_string(out, lines[i]);
    }
    posref_buffer_text(out, "]");
}

static void add_same(struct posref_buffer *out, const char *same)
{
    char word[64];
    const char *separator = "";
    posref_buffer_text(out, ", \"same\": [");
    while (*same) {
        size_t length = strcspn(same, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, same);
        posref_buffer_text(out, separator);
        posref_buffer_json_string(out, word);
        same += length + (same[length] == ' ');
        separator = ", ";
    }
    posref_buffer_text(out, "]");
}

enum posref_status posref_model_json(struct posref_buffer *out, const struct posref_model *model,
                                     struct posref_error *err)
{
    posref_buffer_text(out, "{\"name\": ");
    posref_buffer_json_string(out, model->name);
    add_text(out, "title", model->title);
    add_text(out, "family", model->family);
    add_same(out, model->same);
    posref_buffer_printf(out, ", \"verified\": %s",
                         posref_model_verified(model) ? "true" : "false");
    if (*model->huggingface)
        posref_buffer_printf(out, ", \"pairing\": {\"original\": \"%s\", \"huggingface\": \"%s\"}",
                             model->original, model->huggingface);
    posref_buffer_text(out, ", \"layers\": [");
    for (int i = 0; i < model->n_layers; i++) {
        posref_buffer_text(out, i ? ", " : "");
        enum posref_status status = add_layers(out, &model->layers[i], err);
        if (status != POSREF_OK)
            return status;
    }
    posref_buffer_text(out, "]");
    add_list(out, "sources", model->source, model->n_sources);
    add_list(out, "notes", model->note, model->n_notes);
    posref_buffer_text(out, "}");
    return POSREF_OK;
}
