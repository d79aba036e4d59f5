/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a run as one JSON object: verdict, grade, worst, explanations first. */
#include "report_arithmetic.h"

void posref_report_json_value(struct posref_buffer *out, const json_t *value)
{
    const char *key, *separator = "";
    size_t index;
    json_t *inner;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        posref_buffer_text(out, "{");
        json_object_foreach((json_t *)(uintptr_t)value, key, inner) {
            posref_buffer_text(out, separator);
            posref_buffer_json_string(out, key);
            posref_buffer_text(out, ": ");
            posref_report_json_value(out, inner);
            separator = ", ";
        }
        posref_buffer_text(out, "}");
        return;
    case JSON_ARRAY:
        posref_buffer_text(out, "[");
        json_array_foreach(value, index, inner) {
            posref_buffer_text(out, index ? ", " : "");
            posref_report_json_value(out, inner);
        }
        posref_buffer_text(out, "]");
        return;
    case JSON_STRING: posref_buffer_json_string(out, json_string_value(value)); return;
    case JSON_INTEGER:
        posref_buffer_printf(out, "%lld", (long long)json_integer_value(value));
        return;
    case JSON_REAL: posref_stream_number(out, json_real_value(value)); return;
    case JSON_TRUE: posref_buffer_text(out, "true"); return;
    case JSON_FALSE: posref_buffer_text(out, "false"); return;
    default: posref_buffer_text(out, "null");
    }
}

static void add_value(struct posref_buffer *out, const char *key, const json_t *value)
{
    posref_buffer_printf(out, ", \"%s\": ", key);
    if (value)
        posref_report_json_value(out, value);
    else
        posref_buffer_text(out, "null");
}

static void add_group(struct posref_buffer *out, const struct posref_group *group)
{
    posref_buffer_printf(out, "{\"scheme\": \"%s\", \"op\": \"%s\", \"scaling\": ", group->scheme,
                         group->op);
    if (group->scaling[0])
        posref_buffer_printf(out, "\"%s\"", group->scaling);
    else
        posref_buffer_text(out, "null");
    if (group->property[0])
        posref_buffer_printf(out, ", \"property\": \"%s\"", group->property);
    for (int d = 0; d < POSREF_N_FLOATS; d++) {
        const struct posref_cell *cell = &group->cell[d];
        if (cell->n == 0)
            continue;
        posref_buffer_printf(out, ", \"%s\": {\"vectors\": %lld",
                             posref_dtype_name((enum posref_dtype)d), (long long)cell->n);
        for (int v = 0; v < POSREF_N_VERDICTS; v++)
            if (cell->verdict[v] > 0)
                posref_buffer_printf(out, ", \"%s\": %lld",
                                     posref_verdict_name((enum posref_verdict)v),
                                     (long long)cell->verdict[v]);
        if (cell->n_judged > 0)
            posref_buffer_printf(out, ", \"grade\": \"%s\"", posref_grade_name(cell->grade));
        posref_buffer_text(out, "}");
    }
    posref_buffer_text(out, "}");
}

/* The line with the largest error: its place and what it was. */
static void add_worst(struct posref_buffer *out, const json_t *line)
{
    json_t *worst = json_copy(json_object_get(line, "worst"));
    if (worst) {
        json_object_set(worst, "id", json_object_get(line, "id"));
        json_object_set(worst, "dtype", json_object_get(line, "dtype"));
    }
    add_value(out, "worst", worst);
    json_decref(worst);
}

void posref_report_json(struct posref_buffer *out, const struct posref_tally *tally)
{
    posref_buffer_printf(out, "{\"verdict\": \"%s\"",
                         json_string_value(json_object_get(tally->footer, "verdict")));
    add_value(out, "grade", json_object_get(tally->footer, "grade"));
    add_worst(out, tally->worst);
    static const char *const from_footer[] = {"explanations", "description", "unexplained",
                                              "counts", "grades", "compared", "judged", "close",
                                              "workers", "printed_bytes", "plugin_ns", NULL};
    for (int k = 0; from_footer[k]; k++)
        add_value(out, from_footer[k], json_object_get(tally->footer, from_footer[k]));
    if (json_object_get(tally->footer, "varies"))
        add_value(out, "varies", json_object_get(tally->footer, "varies"));
    if (json_object_get(tally->footer, "left"))
        add_value(out, "left", json_object_get(tally->footer, "left"));
    if (json_object_get(tally->footer, "printed"))
        add_value(out, "printed", json_object_get(tally->footer, "printed"));
    posref_arithmetic_report(out, tally);
    posref_buffer_text(out, ", \"groups\": [");
    for (int k = 0; k < tally->n_groups; k++) {
        posref_buffer_text(out, k ? ",\n  " : "\n  ");
        add_group(out, &tally->group[k]);
    }
    posref_buffer_text(out, "], \"failures\": [");
    for (int k = 0; k < POSREF_FIRST_FAILURES && tally->failure[k]; k++) {
        posref_buffer_text(out, k ? ",\n  " : "\n  ");
        posref_report_json_value(out, tally->failure[k]);
    }
    posref_buffer_text(out, "]");
    add_value(out, "run", tally->header);
    posref_buffer_text(out, "}\n");
}
