/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/schemes: what can be asked, from the table of fields. A form can be built from it. */
#include "route.h"

#include <string.h>

static const char *const *choices(enum posref_field field)
{
    return posref_field_def(field)->choices;
}

static bool applies(int scheme, int scaling, enum posref_field field)
{
    struct posref_spec spec;
    posref_spec_init(&spec);
    spec.scheme = scheme;
    spec.scaling = scaling;
    spec.given[POSREF_FIELD_SCHEME] = spec.given[POSREF_FIELD_SCALING] = true;
    return posref_field_applies(&spec, field);
}

/* Whether any, and whether every scaling of the scheme takes the field. */
static bool applies_somehow(int scheme, enum posref_field field, bool *always)
{
    bool any = false;
    *always = true;
    for (int scaling = 0; choices(POSREF_FIELD_SCALING)[scaling]; scaling++) {
        bool one = applies(scheme, scaling, field);
        any = any || one;
        *always = *always && one;
    }
    return any;
}

/* Begins a list of names, or adds a comma to it. */
static void add_name(struct posref_buffer *out, bool *first, const char *name)
{
    posref_buffer_text(out, *first ? "" : ", ");
    *first = false;
    posref_buffer_json_string(out, name);
}

/* Every input that the scheme reads: name, shape, meaning. */
static void add_inputs(struct posref_buffer *out, int scheme)
{
    const char *separator = ", \"inputs\": [";
    const struct posref_input_def *input;
    for (int i = 0; (input = posref_input_def(i)); i++) {
        const char *shape = posref_input_shape_text((enum posref_scheme)scheme, input->name);
        if (!shape)
            continue;
        posref_buffer_printf(out, "%s{\"name\": \"%s\", \"shape\": \"%s\", \"meaning\": ",
                             separator, input->name, shape);
        posref_buffer_json_string(out, input->meaning);
        posref_buffer_text(out, "}");
        separator = ", ";
    }
    posref_buffer_text(out, separator[2] == '"' ? ", \"inputs\": []" : "]");
}

static void add_scheme(struct posref_buffer *out, int scheme)
{
    const struct posref_scheme_info *info = posref_scheme_info((enum posref_scheme)scheme);
    const char *const text[][2] = {{"name", info->name},
                                   {"summary", info->summary},
                                   {"formula", info->formula},
                                   {"source", info->source},
                                   {"learned", info->learned},
                                   {"injected", info->injected},
                                   {"relative", info->relative},
                                   {"beyond", info->beyond},
                                   {"cost", info->cost},
                                   {"users", info->users},
                                   {"advice", info->advice},
                                   {"differs", info->differs}};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        posref_buffer_printf(out, "%s\"%s\": ", i ? ", " : "{", text[i][0]);
        posref_buffer_json_string(out, text[i][1]);
    }
    bool first = true, always;
    posref_buffer_text(out, ", \"fields\": [");
    for (int field = 0; field < POSREF_N_FIELDS; field++)
        if (applies_somehow(scheme, (enum posref_field)field, &always))
            add_name(out, &first, posref_field_def((enum posref_field)field)->name);
    struct posref_spec spec;
    posref_spec_init(&spec);
    spec.scheme = scheme;
    spec.given[POSREF_FIELD_SCHEME] = true;
    posref_buffer_text(out, "]");
    add_inputs(out, scheme);
    first = true;
    posref_buffer_text(out, ", \"ops\": [");
    for (int op = POSREF_OP_ALL + 1; op < POSREF_N_OPS; op++)
        if (posref_op_applies((enum posref_op)op, &spec))
            add_name(out, &first, posref_op_name((enum posref_op)op));
    posref_buffer_text(out, "]}");
}

/* The scalings that take a field which not every scaling takes. */
static void add_scalings(struct posref_buffer *out, enum posref_field field)
{
    bool first = true, always;
    int scheme = POSREF_SCHEME_ROPE; /* the one scheme with scalings */
    if (!applies_somehow(scheme, field, &always) || always)
        return;
    posref_buffer_text(out, ", \"scalings\": [");
    for (int scaling = 0; choices(POSREF_FIELD_SCALING)[scaling]; scaling++)
        if (applies(scheme, scaling, field))
            add_name(out, &first, choices(POSREF_FIELD_SCALING)[scaling]);
    posref_buffer_text(out, "]");
}

static void add_range(struct posref_buffer *out, const struct posref_field_def *def)
{
    posref_buffer_printf(out, ", \"%s\": ", def->min_open ? "exclusiveMinimum" : "minimum");
    posref_buffer_number(out, def->min);
    posref_buffer_printf(out, ", \"%s\": ", def->max_open ? "exclusiveMaximum" : "maximum");
    posref_buffer_number(out, def->max);
}

/* The default as JSON: a number, a truth value or a string. */
static void add_default(struct posref_buffer *out, const struct posref_field_def *def)
{
    posref_buffer_text(out, ", \"default\": ");
    if (!def->default_text)
        posref_buffer_text(out, "null");
    else if (def->type == POSREF_TYPE_CHOICE)
        posref_buffer_json_string(out, def->default_text);
    else
        posref_buffer_text(out, def->default_text);
}

static void add_field(struct posref_buffer *out, enum posref_field field)
{
    static const char *const types[] = {[POSREF_TYPE_INT] = "integer",
                                        [POSREF_TYPE_REAL] = "number",
                                        [POSREF_TYPE_BOOL] = "boolean",
                                        [POSREF_TYPE_CHOICE] = "string",
                                        [POSREF_TYPE_INTS] = "array of integers",
                                        [POSREF_TYPE_REALS] = "array of numbers"};
    const struct posref_field_def *def = posref_field_def(field);
    posref_buffer_printf(out, "{\"name\": \"%s\", \"type\": \"%s\"", def->name, types[def->type]);
    posref_buffer_text(out, ", \"unit\": ");
    posref_buffer_json_string(out, def->unit);
    add_default(out, def);
    if (posref_field_is_number(def))
        add_range(out, def);
    bool first = true, always;
    if (def->choices) {
        posref_buffer_text(out, ", \"choices\": [");
        for (int i = 0; def->choices[i]; i++)
            add_name(out, &first, def->choices[i]);
        posref_buffer_text(out, "]");
    }
    first = true;
    posref_buffer_text(out, ", \"schemes\": [");
    for (int scheme = 0; scheme < POSREF_N_SCHEMES; scheme++)
        if (applies_somehow(scheme, field, &always))
            add_name(out, &first, choices(POSREF_FIELD_SCHEME)[scheme]);
    posref_buffer_text(out, "]");
    add_scalings(out, field);
    posref_buffer_text(out, ", \"meaning\": ");
    posref_buffer_json_string(out, def->meaning);
    posref_buffer_text(out, "}");
}

void posref_handle_schemes(const struct posref_call *call, struct posref_reply *reply)
{
    (void)call;
    struct posref_buffer *out = &reply->body;
    reply->caching = POSREF_CACHE_SHORT;
    posref_buffer_text(out, "{\"schemes\": [");
    for (int scheme = 0; scheme < POSREF_N_SCHEMES; scheme++) {
        posref_buffer_text(out, scheme ? ",\n  " : "\n  ");
        add_scheme(out, scheme);
    }
    posref_buffer_text(out, "],\n \"fields\": [");
    for (int field = 0; field < POSREF_N_FIELDS; field++) {
        posref_buffer_text(out, field ? ",\n  " : "\n  ");
        add_field(out, (enum posref_field)field);
    }
    posref_buffer_text(out, "]}\n");
}
