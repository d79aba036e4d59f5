/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of layers that resolve finds, and their specs: made field by field, completed once. */
#include "vectors/resolve.h"

#include <string.h>

struct resolve_layer *resolve_add_layer(struct resolve *r, const char *applies_to, int n_layers)
{
    enum posref_status status;
    struct resolve_layer *layer = &r->layer[r->n_layers];
    if (r->n_layers == POSREF_RESOLVE_MAX_LAYERS) {
        status = posref_fail(r->err, POSREF_BAD_INPUT, "layer_types",
                             "more than %d kinds of layers", POSREF_RESOLVE_MAX_LAYERS);
        (void)status;
        return NULL;
    }
    *layer = (struct resolve_layer){.n_layers = n_layers};
    layer->note = r->arena->alloc(r->arena->ctx, POSREF_RESOLVE_MAX_NOTES * sizeof *layer->note);
    if (!layer->note) {
        status = posref_fail(r->err, POSREF_NO_MEMORY, "", "no memory");
        (void)status;
        return NULL;
    }
    snprintf(layer->applies_to, sizeof layer->applies_to, "%s", applies_to);
    resolve_ascii(layer->applies_to);
    posref_spec_init(&layer->spec);
    r->n_layers++;
    return layer;
}

bool resolve_set(struct posref_spec *spec, const char *field, const char *value)
{
    struct posref_error err;
    return posref_spec_set(spec, field, value, &err) == POSREF_OK;
}

bool resolve_set_number(struct posref_spec *spec, const char *field, double value)
{
    char text[POSREF_NUMBER_SIZE];
    posref_number_format(text, value);
    return resolve_set(spec, field, text);
}

bool resolve_set_list(struct posref_spec *spec, const char *field, const json_t *list)
{
    struct posref_buffer text;
    bool ok = json_is_array(list) && json_array_size(list) > 0;
    posref_buffer_init(&text, POSREF_MAX_FIELD_TEXT);
    for (size_t i = 0; ok && i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        ok = json_is_number(value);
        posref_buffer_text(&text, i ? "," : "");
        posref_buffer_number(&text, json_number_value(value));
    }
    posref_buffer_add(&text, "", 1);
    ok = ok && !text.failed && resolve_set(spec, field, text.data);
    posref_buffer_clear(&text);
    return ok;
}

/* Keeps what was refused first; a later field may only follow from it. */
static void keep(struct resolve_layer *layer, bool ok, const struct posref_error *err)
{
    if (!ok && !layer->refused)
        layer->why = *err;
    layer->refused = layer->refused || !ok;
}

void resolve_put(struct resolve_layer *layer, const char *field, const char *value)
{
    struct posref_error err = {{0}, {0}};
    keep(layer, posref_spec_set(&layer->spec, field, value, &err) == POSREF_OK, &err);
}

void resolve_put_number(struct resolve_layer *layer, const char *field, double value)
{
    char text[POSREF_NUMBER_SIZE];
    posref_number_format(text, value);
    resolve_put(layer, field, text);
}

void resolve_put_pair(struct resolve_layer *layer, const char *field, int a, int b)
{
    char text[32];
    snprintf(text, sizeof text, "%d,%d", a, b);
    resolve_put(layer, field, text);
}

void resolve_finish(struct resolve *r, struct resolve_layer *layer)
{
    struct posref_error err = {{0}, {0}};
    if (!layer->refused)
        keep(layer, posref_spec_complete(&layer->spec, &err) == POSREF_OK, &err);
    layer->has_spec = !layer->refused;
    if (layer->refused)
        resolve_say(r, layer, "missing", layer->why.key, "no spec: %s: %.200s", layer->why.key,
                    layer->why.text);
}
