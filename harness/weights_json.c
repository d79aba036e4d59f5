/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `posref weights check` as JSON. */
#include "harness/weights_findings.h"

#include <string.h>

static void add_number(struct posref_buffer *out, double x)
{
    char text[POSREF_NUMBER_SIZE];
    posref_number_format(text, x);
    posref_buffer_text(out, text);
}

static void add_field(struct posref_buffer *out, const char *key, const char *value)
{
    posref_buffer_printf(out, ", \"%s\": ", key);
    posref_buffer_json_string(out, value);
}

/* Other names that fit as well: what is ambiguous is said. */
static void add_also(struct posref_buffer *out, const struct posref_weights_pair *pair)
{
    const struct posref_weights_part *part = pair->before;
    const char *separator = "";
    int n = 0;
    if (pair->candidate < 0)
        return;
    posref_buffer_text(out, ", \"also\": [");
    for (int number = 0; number < POSREF_WEIGHTS_CANDIDATES && n < 16; number++) {
        struct posref_weights_permutation p;
        if (number == pair->candidate || !posref_weights_fits(pair, number) ||
            !posref_weights_candidate(&p, number, part->head_rows, part->rotary_first,
                                      part->rotary_rows))
            continue;
        posref_buffer_printf(
            out, "%s{\"mapping\": \"%s\"", separator,
            posref_weights_mapping_name(posref_weights_candidate_mapping(&p, part->head_rows)));
        if (p.power > 0)
            posref_buffer_printf(out, ", \"direction\": \"%s\", \"rows\": [%lld, %lld]",
                                 p.to_half ? "interleaved_to_half" : "half_to_interleaved",
                                 (long long)p.first, (long long)p.rows);
        posref_buffer_text(out, "}");
        separator = ", ";
        n++;
    }
    posref_buffer_text(out, "]");
}

static void add_mapping(struct posref_buffer *out, const struct posref_weights_pair *pair)
{
    const struct posref_weights_part *part = pair->before;
    struct posref_weights_permutation p = {0};
    add_field(out, "mapping", posref_weights_mapping_name(pair->mapping));
    if (pair->candidate >= 0 && posref_weights_candidate(&p, pair->candidate, part->head_rows,
                                                         part->rotary_first, part->rotary_rows) &&
        p.power > 0)
        posref_buffer_printf(out, ", \"rotary_rows\": [%lld, %lld]", (long long)p.first,
                             (long long)p.rows);
    if (p.power > 0 || pair->mapping == POSREF_MAPPING_WRONG_HEAD_COUNT)
        add_field(out, "direction", pair->to_half ? "interleaved_to_half" : "half_to_interleaved");
    if (pair->mapping == POSREF_MAPPING_WRONG_HEAD_COUNT)
        posref_buffer_printf(out, ", \"head_count_used\": %lld", (long long)pair->head_count_used);
    if (pair->mapping == POSREF_MAPPING_HEADS_REORDERED) {
        posref_buffer_text(out, ", \"head_order\": [");
        for (int64_t head = 0; head < part->n_heads; head++)
            posref_buffer_printf(out, "%s%lld", head > 0 ? ", " : "",
                                 (long long)pair->head_order[head]);
        posref_buffer_text(out, "]");
    }
    if (pair->mapping == POSREF_MAPPING_NONE) {
        posref_buffer_printf(out, ", \"first_row\": %lld", (long long)pair->first_bad_row);
        if (pair->rows_found >= 0)
            posref_buffer_printf(out, ", \"rows_found\": %lld", (long long)pair->rows_found);
        if (pair->detail[0])
            add_field(out, "detail", pair->detail);
    }
}

static void add_pair(struct posref_buffer *out, const struct posref_weights_pair *pair)
{
    const struct posref_weights_part *part = pair->before;
    posref_buffer_text(out, "{\"name\": ");
    posref_buffer_json_string(out, part->name.canonical);
    add_mapping(out, pair);
    add_field(out, "role", posref_weights_role_name(part->name.role));
    add_field(out, "kind", posref_weights_kind_name(part->name.kind));
    if (part->name.layer >= 0)
        posref_buffer_printf(out, ", \"layer\": %d", part->name.layer);
    add_field(out, "before", part->tensor->name);
    add_field(out, "after", pair->after->tensor->name);
    posref_buffer_printf(out, ", \"dtypes\": [\"%s\", \"%s\"]", part->tensor->type_name,
                         pair->after->tensor->type_name);
    if (part->dims_known)
        posref_buffer_printf(out, ", \"heads\": %lld, \"head_dim\": %lld",
                             (long long)part->n_heads, (long long)part->head_rows);
    add_field(out, "match", pair->candidate < 0 && pair->mapping == POSREF_MAPPING_NONE ? "none"
                            : pair->same_type ? "bytes" : pair->exact ? "values" : "within_error");
    if (!pair->same_type) {
        posref_buffer_text(out, ", \"worst_relative_error\": ");
        add_number(out, pair->worst_error);
    }
    posref_buffer_printf(out, ", \"undetermined\": %s", pair->uniform ? "true" : "false");
    add_also(out, pair);
    posref_buffer_text(out, "}");
}

static void add_finding(struct posref_buffer *out, const struct posref_weights_finding *finding)
{
    const char *separator = "";
    posref_buffer_printf(out, "{\"fault\": \"%s\", \"severity\": \"%s\"", finding->fault,
                         finding->severity == POSREF_WRONG ? "wrong" : "note");
    posref_buffer_text(out, ", \"layers\": [");
    for (int layer = 0; layer < POSREF_WEIGHTS_MAX_LAYERS; layer++)
        if (finding->layer[layer]) {
            posref_buffer_printf(out, "%s%d", separator, layer);
            separator = ", ";
        }
    posref_buffer_text(out, "]");
    add_field(out, "summary", finding->summary);
    add_field(out, "advice", finding->advice);
    posref_buffer_text(out, "}");
}

static void add_geometry(struct posref_buffer *out, const char *key,
                         const struct posref_weights_geometry *g)
{
    posref_buffer_printf(out, ", \"%s\": {\"source\": \"%s\", \"family\": ", key,
                         g->source ? g->source : "");
    posref_buffer_json_string(out, g->family);
    posref_buffer_printf(out, ", \"kernel\": \"%s\"", posref_weights_order_name(g->order));
    if (g->n_heads > 0)
        posref_buffer_printf(out, ", \"heads\": %d", g->n_heads);
    if (g->n_kv_heads > 0)
        posref_buffer_printf(out, ", \"kv_heads\": %d", g->n_kv_heads);
    if (g->head_dim > 0)
        posref_buffer_printf(out, ", \"head_dim\": %d", g->head_dim);
    posref_buffer_text(out, "}");
}

void posref_weights_report_json(struct posref_buffer *out,
                                const struct posref_weights_result *result,
                                const struct posref_weights_side *before,
                                const struct posref_weights_side *after)
{
    const char *separator = "";
    posref_buffer_text(out, "{\"tensors\": [");
    for (size_t i = 0; i < result->n_pairs; i++) {
        const struct posref_weights_pair *pair = &result->pair[i];
        if (pair->before->name.role == POSREF_ROLE_V)
            continue;
        posref_buffer_text(out, separator);
        add_pair(out, pair);
        separator = ",\n  ";
    }
    posref_buffer_text(out, "]");
    add_field(out, "kernel_pairing", result->kernel_pairing);
    posref_buffer_printf(out, ", \"consistent\": %s, \"findings\": [",
                         result->consistent ? "true" : "false");
    for (size_t i = 0; i < result->n_findings; i++) {
        posref_buffer_text(out, i > 0 ? ",\n  " : "");
        add_finding(out, &result->finding[i]);
    }
    posref_buffer_text(out, "]");
    add_field(out, "before_pairing", posref_weights_order_name(result->before_order));
    posref_buffer_printf(out, ", \"head_dim_inferred\": %s",
                         result->head_dim_inferred ? "true" : "false");
    add_geometry(out, "before", &before->geometry);
    add_geometry(out, "after", &after->geometry);
    posref_buffer_printf(out, ", \"other_tensors\": {\"equal\": %zu, \"within_error\": %zu, "
                         "\"not_compared\": %zu, \"changed\": [", result->n_other_equal,
                         result->n_other_within, result->n_other_skipped);
    for (size_t i = 0; i < result->n_changed; i++) {
        posref_buffer_text(out, i > 0 ? ", " : "");
        posref_buffer_json_string(out, result->changed[i].before->name);
    }
    posref_buffer_text(out, "]}}\n");
}
