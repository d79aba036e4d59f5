/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON Schema of a spec, from the table of fields. schema/spec.schema.json is this text. */
#include "vectors/vectors.h"

static void add_bounds(struct posref_buffer *out, const struct posref_field_def *def)
{
    posref_buffer_text(out, def->min_open ? ", \"exclusiveMinimum\": " : ", \"minimum\": ");
    posref_buffer_number(out, def->min);
    posref_buffer_text(out, def->max_open ? ", \"exclusiveMaximum\": " : ", \"maximum\": ");
    posref_buffer_number(out, def->max);
}

static void add_choices(struct posref_buffer *out, const struct posref_field_def *def)
{
    posref_buffer_text(out, "\"enum\": [");
    for (int i = 0; def->choices[i]; i++) {
        posref_buffer_text(out, i ? ", " : "");
        posref_buffer_json_string(out, def->choices[i]);
    }
    posref_buffer_text(out, "]");
}

static void add_field(struct posref_buffer *out, const struct posref_field_def *def)
{
    posref_buffer_text(out, "    ");
    posref_buffer_json_string(out, def->name);
    posref_buffer_text(out, ": {");
    if (posref_field_is_list(def))
        posref_buffer_text(out, "\"type\": \"array\", \"minItems\": 1, \"items\": {");
    switch (def->type) {
    case POSREF_TYPE_INTS:
    case POSREF_TYPE_INT: posref_buffer_text(out, "\"type\": \"integer\""); break;
    case POSREF_TYPE_REALS:
    case POSREF_TYPE_REAL: posref_buffer_text(out, "\"type\": \"number\""); break;
    case POSREF_TYPE_BOOL: posref_buffer_text(out, "\"type\": \"boolean\""); break;
    case POSREF_TYPE_CHOICE: add_choices(out, def); break;
    }
    if (posref_field_is_number(def))
        add_bounds(out, def);
    if (posref_field_is_list(def))
        posref_buffer_printf(out, "}, \"maxItems\": %d",
                             def->type == POSREF_TYPE_INTS ? POSREF_MAX_INTS : POSREF_MAX_REALS);
    posref_buffer_text(out, ",\n      \"description\": ");
    posref_buffer_json_string(out, def->meaning);
    posref_buffer_text(out, "}");
}

void posref_spec_schema(struct posref_buffer *out)
{
    posref_buffer_text(out,
                       "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
                       "  \"$id\": \"spec.schema.json\",\n"
                       "  \"title\": \"A completed spec: one positional encoding, every field\",\n"
                       "  \"type\": \"object\",\n  \"required\": [\"scheme\"],\n"
                       "  \"additionalProperties\": false,\n  \"properties\": {\n");
    for (int f = 0; f < POSREF_N_FIELDS; f++) {
        posref_buffer_text(out, f ? ",\n" : "");
        add_field(out, posref_field_def((enum posref_field)f));
    }
    posref_buffer_text(out, "\n  }\n}\n");
}
