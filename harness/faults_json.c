/* SPDX-License-Identifier: Apache-2.0 */
/* The registry as JSON: GET /v1/faults, and the source of docs/faults.md. */
#include "faults_front.h"

#include "faults.h"

#include <string.h>

static const char *const kinds[][2] = {
    {"A", "layout"}, {"C", "partial rotation"}, {"D", "frequencies"}, {"E", "positions"},
    {"F", "axes"}, {"G", "precision"}, {"H", "linear and llama3 scaling"}, {"I", "ntk scaling"},
    {"J", "yarn frequencies"}, {"K", "magnitudes"}, {"L", "longrope"},
    {"M", "sections of M-RoPE"}, {"N", "grids and axes"}, {"O", "ALiBi"}, {"P", "buckets"},
    {"Q", "relative terms"}, {"R", "sinusoidal and learned tables"}, {"S", "kernels"},
    {"T", "conventions"}, {"U", "scores and attention"},
    {"V", "terms of scores"}};

static void add_text(struct posref_buffer *out, const char *key, const char *text)
{
    posref_buffer_printf(out, ", \"%s\": ", key);
    if (text)
        posref_buffer_json_string(out, text);
    else
        posref_buffer_text(out, "null");
}

static void add_seen(struct posref_buffer *out, const char *seen)
{
    posref_buffer_text(out, ", \"seen\": [");
    for (const char *at = seen; *at;) {
        const size_t length = strcspn(at, " ");
        posref_buffer_printf(out, "%s\"%.*s\"", at == seen ? "" : ", ", (int)length, at);
        at += length + (at[length] == ' ');
    }
    posref_buffer_text(out, "]");
}

static void add_schemes(struct posref_buffer *out, const struct posref_fault *fault)
{
    const char *separator = "";
    posref_buffer_text(out, ", \"schemes\": [");
    for (int scheme = 0; scheme < POSREF_N_SCHEMES; scheme++)
        if (posref_fault_concerns(fault, scheme)) {
            posref_buffer_printf(out, "%s\"%s\"", separator,
                                 posref_scheme_info((enum posref_scheme)scheme)->name);
            separator = ", ";
        }
    posref_buffer_text(out, "]");
}

static void add_fault(struct posref_buffer *out, const struct posref_fault *fault)
{
    posref_buffer_text(out, "{\"name\": ");
    posref_buffer_json_string(out, fault->name);
    add_text(out, "kind", fault->kind);
    add_schemes(out, fault);
    add_text(out, "formula", fault->formula);
    add_text(out, "advice", fault->advice);
    add_text(out, "equivalent", fault->equivalent);
    add_text(out, "parameter", fault->parameter);
    if (fault->parameter) {
        posref_buffer_text(out, ", \"values\": [");
        for (int k = 0; k < fault->n_values; k++) {
            posref_buffer_text(out, k ? ", " : "");
            posref_buffer_number(out, fault->value[k]);
        }
        posref_buffer_printf(out, "], \"estimated\": %s", fault->estimated ? "true" : "false");
    }
    add_seen(out, fault->seen);
    posref_buffer_text(out, "}");
}

void posref_faults_json(struct posref_buffer *out)
{
    const struct posref_fault *fault;
    posref_buffer_text(out, "{\"kinds\": {");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        posref_buffer_printf(out, "%s\"%s\": \"%s\"", k ? ", " : "", kinds[k][0], kinds[k][1]);
    posref_buffer_text(out, "},\n \"faults\": [");
    for (int k = 0; (fault = posref_fault_at(k)) != NULL; k++) {
        posref_buffer_text(out, k ? ",\n  " : "\n  ");
        add_fault(out, fault);
    }
    posref_buffer_text(out, "]}\n");
}
