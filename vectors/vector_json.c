/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors as JSON. schema/vector.schema.json describes the result. */
#include "vectors/vectors.h"

#include <string.h>

static void add_flags(struct posref_buffer *out, const char *flags)
{
    posref_buffer_text(out, "[");
    while (*flags) {
        size_t length = strcspn(flags, " ");
        posref_buffer_text(out, "\"");
        posref_buffer_add(out, flags, length);
        flags += length + (flags[length] == ' ');
        posref_buffer_text(out, *flags ? "\", " : "\"");
    }
    posref_buffer_text(out, "]");
}

void posref_vector_head_json(struct posref_buffer *out, const struct posref_vector *vector)
{
    posref_buffer_text(out, "{\"id\": ");
    posref_buffer_json_string(out, vector->id);
    posref_buffer_text(out, ", \"suite\": ");
    posref_buffer_json_string(out, vector->suite_min);
    posref_buffer_text(out, ", \"op\": ");
    posref_buffer_json_string(out, posref_op_name(vector->op));
    posref_buffer_text(out, ", \"spec\": ");
    posref_spec_json(out, &vector->spec);
    posref_buffer_text(out, ", \"flags\": ");
    add_flags(out, vector->flags);
    posref_buffer_text(out, ", \"source\": ");
    posref_buffer_json_string(out, vector->source);
}

void posref_vector_summary_json(struct posref_buffer *out, const struct posref_vector *vector)
{
    posref_vector_head_json(out, vector);
    posref_buffer_text(out, "}");
}

void posref_vector_json(struct posref_buffer *out, const struct posref_vector *vector,
                        bool answers, enum posref_number_form numbers)
{
    posref_vector_head_json(out, vector);
    posref_buffer_text(out, ", \"inputs\": ");
    posref_tensors_json(out, &vector->inputs, numbers);
    if (answers) {
        posref_buffer_text(out, ", \"outputs\": ");
        posref_tensors_json(out, &vector->outputs, numbers);
    }
    posref_buffer_text(out, "}\n");
}
