/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the port as a whole: a wrong direction, a wrong share of the head, a kernel that
 * does not fit, tensors that should not have changed. */
#include "harness/weights_findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool posref_weights_add_finding(struct posref_weights_result *result, const char *fault,
                                enum posref_weights_severity severity, int layer,
                                const char *advice, const char *format, ...)
{
    struct posref_weights_finding *finding = NULL;
    for (size_t i = 0; i < result->n_findings; i++)
        if (strcmp(result->finding[i].fault, fault) == 0)
            finding = &result->finding[i];
    if (!finding) {
        if (result->n_findings == result->finding_capacity) {
            size_t capacity = 2 * result->finding_capacity + 8;
            struct posref_weights_finding *grown = realloc(result->finding,
                                                           capacity * sizeof *grown);
            if (!grown)
                return false;
            result->finding = grown;
            result->finding_capacity = capacity;
        }
        finding = &result->finding[result->n_findings++];
        memset(finding, 0, sizeof *finding);
        finding->fault = fault;
        finding->severity = severity;
        finding->advice = advice;
        va_list args;
        va_start(args, format);
        vsnprintf(finding->summary, sizeof finding->summary, format, args);
        va_end(args);
    }
    if (layer >= 0 && layer < POSREF_WEIGHTS_MAX_LAYERS)
        finding->layer[layer] = true;
    return true;
}

void posref_weights_describe(char *out, size_t size, const struct posref_weights_pair *pair)
{
    const struct posref_weights_part *part = pair->before;
    const char *direction = pair->to_half ? "interleaved_to_half" : "half_to_interleaved";
    struct posref_weights_permutation p = {0};
    const char *name = posref_weights_mapping_name(pair->mapping);
    if (pair->candidate >= 0)
        (void)!posref_weights_candidate(&p, pair->candidate, part->head_rows, part->rotary_first,
                                        part->rotary_rows);
    if (pair->mapping == POSREF_MAPPING_ROTARY_ROWS_ONLY)
        snprintf(out, size, "%s (rows %lld to %lld of %lld, %s)", name, (long long)p.first,
                 (long long)(p.first + p.rows - 1), (long long)part->head_rows, direction);
    else if (pair->mapping == POSREF_MAPPING_APPLIED_TWICE)
        snprintf(out, size, "%s (%s)", name, direction);
    else if (pair->mapping == POSREF_MAPPING_WRONG_HEAD_COUNT)
        snprintf(out, size, "%s (%s with %lld heads of %lld)", name, direction,
                 (long long)pair->head_count_used,
                 (long long)(part->n_heads * part->head_rows / pair->head_count_used));
    else
        snprintf(out, size, "%s", name);
}

/* A pair that carries the consensus, to speak of it. */
static const struct posref_weights_pair *example(const struct posref_weights_result *result)
{
    for (size_t i = 0; i < result->n_pairs; i++)
        if (result->pair[i].candidate == result->consensus &&
            result->pair[i].before->name.role != POSREF_ROLE_V)
            return &result->pair[i];
    return NULL;
}

static bool find_direction(struct posref_weights_result *result,
                           const struct posref_weights_pair *pair)
{
    bool from_half = result->before_order == POSREF_ORDER_HALF;
    if (result->before_order == POSREF_ORDER_UNKNOWN ||
        pair->mapping == POSREF_MAPPING_APPLIED_TWICE || result->consensus == 0 ||
        pair->to_half != from_half)
        return true;
    return posref_weights_add_finding(
        result, "wrong_direction", POSREF_WRONG, -1,
        "apply the inverse permutation to the original weights, or say --pairing if BEFORE is in "
        "another order than its family's",
        "the rows went %s, but before the port they were in %s order already",
        pair->to_half ? "interleaved_to_half" : "half_to_interleaved",
        posref_weights_order_name(result->before_order));
}

static bool find_extent(struct posref_weights_result *result,
                        const struct posref_weights_pair *pair,
                        const struct posref_weights_side *before)
{
    const struct posref_weights_part *part = pair->before;
    int number = result->consensus;
    if (number >= 5 && number < 9)
        return posref_weights_add_finding(
            result, "rotary_dim_ignored", POSREF_WRONG, -1,
            "permute only the rotary rows of each head",
            "all %lld rows of each head were permuted, but the model rotates %d (from row %d)",
            (long long)part->head_rows, part->rotary_rows, part->rotary_first);
    if (number < 9)
        return true;
    bool news = strcmp(result->kernel_pairing, "none") != 0;
    return posref_weights_add_finding(
        result, news ? "rotary_dim_inferred" : "rotary_rows_wrong",
        news ? POSREF_NOTE : POSREF_WRONG, -1,
        news ? "give --rotary-dim or --config to have this checked"
             : "permute exactly the rows that the model rotates",
        "the first %d rows of each head were permuted; %s rotates %d", 4 + (number - 9) / 2 * 2,
        before->geometry.source[0] ? before->geometry.source : "without a config, the model",
        part->rotary_rows);
}

static bool find_ambiguity(struct posref_weights_result *result,
                           const struct posref_weights_pair *pair)
{
    int64_t rows = pair->before->rotary_rows;
    if (result->consensus < 1 || result->consensus > 4)
        return true;
    if (rows == 4)
        return posref_weights_add_finding(
            result, "ambiguous", POSREF_NOTE, -1, "--pairing says which one BEFORE has",
            "with 4 rotary rows the permutation is its own inverse: the direction cannot be seen");
    if (rows == 8)
        return posref_weights_add_finding(
            result, "ambiguous", POSREF_NOTE, -1, "compare with the original checkpoint",
            "with 8 rotary rows the permutation applied twice equals its inverse: a wrong "
            "direction and a double port cannot be told apart");
    return true;
}

static bool find_twice(struct posref_weights_result *result, const struct posref_weights_pair *pair)
{
    if (pair->mapping != POSREF_MAPPING_APPLIED_TWICE)
        return true;
    return posref_weights_add_finding(
        result, "applied_twice", POSREF_WRONG, -1,
        "port the original weights once; look for a loader that permutes as well",
        "the permutation was applied twice: no kernel rotates this order");
}

static bool find_kernel(struct posref_weights_result *result,
                        const struct posref_weights_side *after)
{
    const char *kernel = posref_weights_order_name(result->kernel);
    bool known = result->kernel == POSREF_ORDER_HALF ||
                 result->kernel == POSREF_ORDER_INTERLEAVED_ROWS;
    bool decided = strcmp(result->kernel_pairing, "half") == 0 ||
                   strcmp(result->kernel_pairing, "interleaved") == 0;
    if (!known || !decided || strcmp(kernel, result->kernel_pairing) == 0)
        return true;
    return posref_weights_add_finding(
        result, "kernel_disagrees", POSREF_WRONG, -1,
        "permute the rows for that kernel, or use the other kernel",
        "these weights need a kernel that pairs %s, but %s%.40s pairs %s", result->kernel_pairing,
        after->geometry.gguf ? "the one of GGUF architecture " : "the kernel named by --kernel",
        after->geometry.gguf ? after->geometry.family : "", kernel);
}

/* Hugging Face's own code will load the result by its config.json: it knows one order only. */
static bool find_loader(struct posref_weights_result *result,
                        const struct posref_weights_side *after)
{
    const struct posref_weights_geometry *g = &after->geometry;
    const char *loader = posref_weights_order_name(g->order);
    bool decided = strcmp(result->kernel_pairing, "half") == 0 ||
                   strcmp(result->kernel_pairing, "interleaved") == 0;
    if (!g->own || g->gguf || !decided || result->kernel != POSREF_ORDER_UNKNOWN ||
        (g->order != POSREF_ORDER_HALF && g->order != POSREF_ORDER_INTERLEAVED_ROWS) ||
        strcmp(loader, result->kernel_pairing) == 0)
        return true;
    return posref_weights_add_finding(
        result, "loader_disagrees", POSREF_NOTE, -1,
        "fine for a runtime of your own; --kernel says which kernel it has",
        "these weights need a kernel that pairs %s; Hugging Face's own for %.60s pairs %s",
        result->kernel_pairing, g->family, loader);
}

static bool find_changed(struct posref_weights_result *result,
                         const struct posref_weights_side *before,
                         const struct posref_weights_side *after)
{
    bool converted = before->checkpoint.format != after->checkpoint.format;
    if (result->n_changed == 0)
        return true;
    return posref_weights_add_finding(
        result, "tensor_changed", converted ? POSREF_NOTE : POSREF_WRONG, -1,
        "a port between pairings changes q and k only",
        "%zu other tensors changed, the first is %.120s", result->n_changed,
        result->changed[0].before->name);
}

bool posref_weights_find(struct posref_weights_result *result,
                         const struct posref_weights_side *before,
                         const struct posref_weights_side *after)
{
    bool ok = posref_weights_find_layers(result, before);
    const struct posref_weights_pair *pair = example(result);
    if (ok && pair)
        ok = find_twice(result, pair) && find_direction(result, pair) &&
             find_extent(result, pair, before) && find_ambiguity(result, pair);
    return ok && find_kernel(result, after) && find_loader(result, after) &&
           find_changed(result, before, after) && posref_weights_find_gaps(result, before, after);
}
