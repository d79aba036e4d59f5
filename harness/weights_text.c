/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `posref weights check` for people: one line for tensors alike, then what is wrong,
 * then what the result needs. */
#include "harness/weights_findings.h"

#include <string.h>

/* "layers 0-3,5,7-31" of those that are set; nothing when none is. */
static void add_layers(struct posref_buffer *out, const bool *layer, const char *before)
{
    const char *separator = before;
    for (int i = 0; i < POSREF_WEIGHTS_MAX_LAYERS; i++) {
        int last = i;
        if (!layer[i])
            continue;
        while (last + 1 < POSREF_WEIGHTS_MAX_LAYERS && layer[last + 1])
            last++;
        posref_buffer_printf(out, "%s%d", separator, i);
        if (last > i)
            posref_buffer_printf(out, "-%d", last);
        separator = ",";
        i = last;
    }
}

static bool alike(const struct posref_weights_pair *a, const struct posref_weights_pair *b)
{
    return a->before->name.role == b->before->name.role &&
           a->before->name.kind == b->before->name.kind && a->mapping == b->mapping &&
           a->candidate == b->candidate && a->same_type == b->same_type &&
           a->before->tensor->type == b->before->tensor->type &&
           a->after->tensor->type == b->after->tensor->type;
}

static void add_match(struct posref_buffer *out, const struct posref_weights_pair *pair,
                      double worst)
{
    const char *from = pair->before->tensor->type_name, *to = pair->after->tensor->type_name;
    if (pair->mapping == POSREF_MAPPING_NONE)
        posref_buffer_printf(out, " [%s, %s]", from, to);
    else if (pair->same_type)
        posref_buffer_printf(out, " [%s, equal bytes]", from);
    else if (worst == 0)
        posref_buffer_printf(out, " [%s, %s: equal values]", from, to);
    else
        posref_buffer_printf(out, " [%s, %s: relative error up to %.2g]", from, to, worst);
}

/* One line for all pairs alike, named by the first. */
static void add_line(struct posref_buffer *out, const struct posref_weights_result *result,
                     size_t first)
{
    bool layer[POSREF_WEIGHTS_MAX_LAYERS] = {false};
    const struct posref_weights_pair *pair = &result->pair[first];
    double worst = 0;
    char what[160];
    for (size_t i = 0; i < first; i++)
        if (alike(&result->pair[i], pair))
            return;
    for (size_t i = first; i < result->n_pairs; i++) {
        int number = result->pair[i].before->name.layer;
        if (!alike(&result->pair[i], pair))
            continue;
        if (number >= 0)
            layer[number] = true;
        if (result->pair[i].worst_error > worst)
            worst = result->pair[i].worst_error;
    }
    posref_weights_describe(what, sizeof what, pair);
    posref_buffer_printf(out, "  %s %-6s", posref_weights_role_name(pair->before->name.role),
                         posref_weights_kind_name(pair->before->name.kind));
    add_layers(out, layer, " of layers ");
    posref_buffer_printf(out, ": %s", what);
    if (pair->uniform)
        posref_buffer_text(out, " (all rows are equal: any order fits)");
    add_match(out, pair, worst);
    posref_buffer_text(out, "\n");
}

/* "q and k: ...", of what was seen: one of them alone agrees with nothing. */
static void add_agreement(struct posref_buffer *out, const struct posref_weights_result *result)
{
    bool q = false, k = false;
    for (size_t i = 0; i < result->n_pairs; i++) {
        q = q || result->pair[i].before->name.role == POSREF_ROLE_Q;
        k = k || result->pair[i].before->name.role == POSREF_ROLE_K;
    }
    if (q && k)
        posref_buffer_printf(out, "q and k: %s\n", result->consistent
                             ? "agree in every layer" : "do not agree everywhere");
    else
        posref_buffer_printf(out, "q and k: only %s was compared; %s must carry the same\n",
                             q ? "q" : "k", q ? "k" : "q");
}

static void add_verdict(struct posref_buffer *out, const struct posref_weights_result *result)
{
    bool wrong = false;
    for (size_t i = 0; i < result->n_findings; i++)
        wrong = wrong || result->finding[i].severity == POSREF_WRONG;
    if (strcmp(result->kernel_pairing, "none") == 0)
        posref_buffer_text(out, "kernel: none fits all of these weights\n");
    else if (strcmp(result->kernel_pairing, "unchanged") == 0)
        posref_buffer_text(out, "kernel: the same as before (no rows moved)\n");
    else
        posref_buffer_printf(out, "kernel: these weights need one that pairs %s\n",
                             result->kernel_pairing);
    add_agreement(out, result);
    posref_buffer_text(out, wrong ? "verdict: wrong\n" : "verdict: conforms\n");
}

void posref_weights_report_text(struct posref_buffer *out,
                                const struct posref_weights_result *result,
                                const struct posref_weights_side *before,
                                const struct posref_weights_side *after)
{
    const struct posref_weights_geometry *g = &before->geometry;
    (void)after;
    if (g->n_heads > 0)
        posref_buffer_printf(out, "heads: %d, kv heads: %d; ", g->n_heads, g->n_kv_heads);
    if (g->head_dim > 0)
        posref_buffer_printf(out, "head size: %d%s; ", g->head_dim,
                             result->head_dim_inferred ? " (inferred from the rows)" : "");
    posref_buffer_printf(out, "source: %s; before, kernel pairs: %s\n",
                         g->source[0] ? g->source : "none",
                         posref_weights_order_name(result->before_order));
    for (size_t i = 0; i < result->n_pairs; i++)
        if (result->pair[i].before->name.role != POSREF_ROLE_V)
            add_line(out, result, i);
    posref_buffer_printf(out, "  other tensors: %zu equal, %zu within error, %zu changed, %zu not "
                         "compared\n", result->n_other_equal, result->n_other_within,
                         result->n_changed, result->n_other_skipped);
    for (size_t i = 0; i < result->n_findings; i++) {
        const struct posref_weights_finding *finding = &result->finding[i];
        posref_buffer_printf(out, "%s: %s", finding->severity == POSREF_WRONG ? "WRONG" : "note",
                             finding->fault);
        add_layers(out, finding->layer, " in layers ");
        posref_buffer_printf(out, ": %s\n       %s\n", finding->summary, finding->advice);
    }
    add_verdict(out, result);
}
