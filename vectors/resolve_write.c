/* SPDX-License-Identifier: Apache-2.0 */
/* What resolve found, as JSON. */
#include "vectors/resolve.h"

#include <math.h>
#include <string.h>

#define MAX_UNUSED 2000

enum posref_status resolve_measure(struct resolve_curve *out, const struct resolve *r,
                                   const struct posref_spec *spec)
{
    struct posref_tensors in = {.n = 0}, set;
    out->n = -1;
    if (spec->scheme != POSREF_SCHEME_ROPE)
        return POSREF_OK;
    enum posref_status status = posref_eval(&set, spec, POSREF_OP_FREQUENCIES, &in, r->arena,
                                            r->err);
    if (status != POSREF_OK)
        return status;
    const struct posref_tensor *freq = posref_tensors_find(&set, "inv_freq");
    const struct posref_tensor *factor = posref_tensors_find(&set, "attention_factor");
    out->n = freq ? (int)posref_tensor_count(freq) : 0;
    if (out->n > 0)
        memcpy(out->inv_freq, freq->data, (size_t)out->n * sizeof(double));
    out->attention_factor = factor ? *(const double *)factor->data : 1;
    return POSREF_OK;
}

static void add_curve(struct posref_buffer *out, const struct resolve_curve *curve)
{
    posref_buffer_text(out, ", \"inv_freq\": [");
    for (int i = 0; i < curve->n; i++) {
        posref_buffer_text(out, i ? ", " : "");
        posref_buffer_number(out, curve->inv_freq[i]);
    }
    posref_buffer_text(out, "], \"attention_factor\": ");
    if (curve->n < 0)
        posref_buffer_text(out, "null");
    else
        posref_buffer_number(out, curve->attention_factor);
}

/* The pair where two curves part most, or -1. */
static int farthest(const struct resolve_curve *a, const struct resolve_curve *b)
{
    double most = 0;
    int at = -1;
    for (int i = 0; i < a->n && i < b->n; i++) {
        double part = fabs(a->inv_freq[i] - b->inv_freq[i]) / fabs(a->inv_freq[i]);
        if (part > most * (1 + 1e-9)) { /* the first of those that part alike */
            most = part;
            at = i;
        }
    }
    return at;
}

/* The two values side by side: Hugging Face's, then the runtime's. */
static enum posref_status add_sides(struct posref_buffer *out, const struct resolve *r,
                                    const struct resolve_curve *own,
                                     const struct resolve_note *note)
{
    struct resolve_curve *other = r->arena->alloc(r->arena->ctx, sizeof *other);
    static const char *const names[] = {"huggingface", "vllm", "llama.cpp", "mlx"};
    posref_buffer_printf(out, ", \"runtime\": \"%s\"", names[note->runtime]);
    if (!note->has_spec || own->n < 0)
        return POSREF_OK;
    if (!other)
        return posref_fail(r->err, POSREF_NO_MEMORY, "", "no memory");
    enum posref_status status = resolve_measure(other, r, &note->spec);
    if (status != POSREF_OK)
        return status;
    posref_buffer_text(out, ", \"attention_factor\": {\"huggingface\": ");
    posref_buffer_number(out, own->attention_factor);
    posref_buffer_printf(out, ", \"%s\": ", names[note->runtime]);
    posref_buffer_number(out, other->attention_factor);
    posref_buffer_text(out, "}");
    int pair = farthest(own, other);
    if (pair >= 0) {
        posref_buffer_printf(out, ", \"pair\": %d, \"inv_freq\": {\"huggingface\": ", pair);
        posref_buffer_number(out, own->inv_freq[pair]);
        posref_buffer_printf(out, ", \"%s\": ", names[note->runtime]);
        posref_buffer_number(out, other->inv_freq[pair]);
        posref_buffer_text(out, "}");
    }
    posref_buffer_text(out, ", \"spec\": ");
    posref_spec_json(out, &note->spec);
    return POSREF_OK;
}

static enum posref_status add_notes(struct posref_buffer *out, const struct resolve *r,
                                    const struct resolve_note *notes, int n,
                                    const struct resolve_curve *own)
{
    enum posref_status status = POSREF_OK;
    posref_buffer_text(out, "\"notes\": [");
    for (int i = 0; i < n && status == POSREF_OK; i++) {
        posref_buffer_printf(out, "%s{\"kind\": \"%s\", \"key\": ", i ? ", " : "", notes[i].kind);
        posref_buffer_json_string(out, notes[i].key);
        posref_buffer_text(out, ", \"text\": ");
        posref_buffer_json_string(out, notes[i].text);
        if (notes[i].runtime >= 0)
            status = add_sides(out, r, own, &notes[i]);
        posref_buffer_text(out, "}");
    }
    posref_buffer_text(out, "]");
    return status;
}

static enum posref_status add_regimes(struct posref_buffer *out, const struct resolve *r,
                                      const struct resolve_layer *layer,
                                      struct resolve_curve *curve)
{
    enum posref_status status = POSREF_OK;
    posref_buffer_text(out, ", \"regimes\": [");
    for (int i = 0; i < layer->n_regimes && layer->has_spec && status == POSREF_OK; i++) {
        posref_buffer_printf(out, "%s{\"when\": \"%s\", \"spec\": ", i ? ", " : "",
                             layer->regime[i].when);
        posref_spec_json(out, &layer->regime[i].spec);
        status = resolve_measure(curve, r, &layer->regime[i].spec);
        if (status == POSREF_OK)
            add_curve(out, curve);
        posref_buffer_text(out, "}");
    }
    posref_buffer_text(out, "], ");
    return status;
}

static enum posref_status add_layer(struct posref_buffer *out, const struct resolve *r,
                                    const struct resolve_layer *layer)
{
    struct resolve_curve *own = r->arena->alloc(r->arena->ctx, sizeof *own);
    struct resolve_curve *other = r->arena->alloc(r->arena->ctx, sizeof *other);
    enum posref_status status = POSREF_OK;
    if (!own || !other)
        return posref_fail(r->err, POSREF_NO_MEMORY, "", "no memory");
    own->n = -1;
    posref_buffer_text(out, "{\"applies_to\": ");
    posref_buffer_json_string(out, layer->applies_to);
    if (layer->n_layers >= 0)
        posref_buffer_printf(out, ", \"n_layers\": %d", layer->n_layers);
    posref_buffer_text(out, ", \"spec\": ");
    if (layer->has_spec) {
        posref_spec_json(out, &layer->spec);
        status = resolve_measure(own, r, &layer->spec);
    } else {
        posref_buffer_text(out, "null");
    }
    if (status != POSREF_OK)
        return status;
    add_curve(out, own);
    status = add_regimes(out, r, layer, other);
    if (status == POSREF_OK)
        status = add_notes(out, r, layer->note, layer->n_notes, own);
    posref_buffer_text(out, "}");
    return status;
}

static void add_unused(struct posref_buffer *out, const struct resolve *r)
{
    const char *separator = "", *key;
    json_t *value;
    int n = 0;
    posref_buffer_text(out, ", \"unused_keys\": [");
    for (int i = 0; i < r->n_scopes; i++)
        json_object_foreach(r->scope[i].rest, key, value) {
            char path[256];
            if (n++ == MAX_UNUSED)
                break;
            size_t length = strlen(key) < 120 ? strlen(key) : 120;
            while (length > 0 && ((unsigned char)key[length] & 0xC0) == 0x80)
                length--; /* a key that is cut stays UTF-8 */
            snprintf(path, sizeof path, "%s%.*s", r->scope[i].path, (int)length, key);
            posref_buffer_text(out, separator);
            posref_buffer_json_string(out, path);
            separator = ", ";
        }
    posref_buffer_text(out, "]");
}

enum posref_status resolve_write(struct posref_buffer *out, struct resolve *r)
{
    enum posref_status status = POSREF_OK;
    posref_buffer_printf(out, "{\"format\": \"%s\", \"model_type\": ", r->format);
    posref_buffer_json_string(out, r->family ? r->family : "");
    posref_buffer_text(out, ", \"layers\": [");
    for (int i = 0; i < r->n_layers && status == POSREF_OK; i++) {
        posref_buffer_text(out, i ? ", " : "");
        status = add_layer(out, r, &r->layer[i]);
    }
    posref_buffer_text(out, "], ");
    if (status == POSREF_OK)
        status = add_notes(out, r, r->note, r->n_notes, NULL);
    add_unused(out, r);
    posref_buffer_text(out, "}\n");
    if (status == POSREF_OK && out->failed)
        status = posref_fail(r->err, POSREF_BAD_INPUT, "", "the answer would be larger than %zu "
                             "bytes", out->max_bytes);
    return status;
}
