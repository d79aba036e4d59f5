/* SPDX-License-Identifier: Apache-2.0 */
/* Judges matched pairs: the mapping that most projections carry, the layers and tensors that
 * depart from it, and the kernel that the result now needs. */
#include "harness/weights_findings.h"

#include <stdlib.h>
#include <string.h>

static bool is_projection(const struct posref_weights_pair *pair)
{
    return pair->before->name.role != POSREF_ROLE_V &&
           (pair->before->name.kind == POSREF_KIND_WEIGHT ||
            pair->before->name.kind == POSREF_KIND_LORA);
}

/* Whether a candidate is a port in the right direction from where BEFORE starts. */
static bool goes_with(const struct posref_weights_pair *pair, int number,
                      enum posref_weights_order from)
{
    struct posref_weights_permutation p;
    const struct posref_weights_part *part = pair->before;
    if (number == 0 || from == POSREF_ORDER_UNKNOWN || from == POSREF_ORDER_NONE ||
        !posref_weights_candidate(&p, number, part->head_rows, part->rotary_first,
                                  part->rotary_rows))
        return number == 0;
    return p.power == 1 && p.to_half == (from == POSREF_ORDER_INTERLEAVED_ROWS);
}

/* The candidate that fits the most projections; ties go to the one that suits BEFORE's pairing,
 * then to the simplest. */
static int find_consensus(const struct posref_weights_result *result, bool any_kind)
{
    int best = -1, best_count = 0;
    bool best_goes = false;
    for (int number = 0; number < POSREF_WEIGHTS_CANDIDATES; number++) {
        int count = 0;
        bool goes = false;
        for (size_t i = 0; i < result->n_pairs; i++) {
            const struct posref_weights_pair *pair = &result->pair[i];
            if (pair->before->name.role == POSREF_ROLE_V || (!any_kind && !is_projection(pair)) ||
                !posref_weights_fits(pair, number))
                continue;
            count++;
            goes = goes || goes_with(pair, number, result->before_order);
        }
        if (count > best_count || (count == best_count && count > 0 && goes && !best_goes)) {
            best = number;
            best_count = count;
            best_goes = goes;
        }
    }
    return best;
}

/* The pair's own mapping: the consensus where it fits, else the simplest that does. */
static void name_mapping(struct posref_weights_pair *pair, int consensus)
{
    struct posref_weights_permutation p;
    const struct posref_weights_part *part = pair->before;
    if (pair->candidate < 0)
        return;
    if (consensus >= 0 && posref_weights_fits(pair, consensus))
        pair->candidate = consensus;
    if (!posref_weights_candidate(&p, pair->candidate, part->head_rows, part->rotary_first,
                                  part->rotary_rows))
        return;
    pair->mapping = posref_weights_candidate_mapping(&p, part->head_rows);
    pair->to_half = p.to_half;
}

/* Most layers' projections carry the consensus. */
static bool is_majority(const struct posref_weights_result *result)
{
    size_t with = 0, all = 0;
    for (size_t i = 0; i < result->n_pairs; i++)
        if (is_projection(&result->pair[i])) {
            all++;
            with += result->pair[i].candidate == result->consensus;
        }
    return 2 * with > all;
}

/* Where the rotary rows are not known, a permuted prefix tells them. A config that is silent means
 * the default of its family's code: whole heads, if the family is one we know. */
static bool prefix_is_news(const struct posref_weights_side *before)
{
    const struct posref_weights_geometry *g = &before->geometry;
    bool told = strcmp(g->source, "config.json") == 0 && g->family_known;
    return !told && !g->gguf && g->rotary_dim == 0 && g->rotary_fraction <= 0;
}

static const char *needed_kernel(const struct posref_weights_result *result,
                                 const struct posref_weights_side *before)
{
    enum posref_weights_order from = result->before_order;
    int number = result->consensus;
    if (number < 0 || !is_majority(result))
        return "none";
    if (number == 0)
        return from == POSREF_ORDER_UNKNOWN ? "unchanged" : posref_weights_order_name(from);
    if (number > 2 && !(number >= 9 && prefix_is_news(before)))
        return "none";
    bool to_half = number % 2 == 0; /* 2, and the even ones from 10 */
    if (from == (to_half ? POSREF_ORDER_HALF : POSREF_ORDER_INTERLEAVED_ROWS))
        return "none";
    return to_half ? "half" : "interleaved";
}

enum posref_status posref_weights_judge(struct posref_weights_result *result,
                                        const struct posref_weights_side *before,
                                        const struct posref_weights_side *after,
                                        const struct posref_weights_options *options,
                                        struct posref_error *err)
{
    result->before_order = options->order != POSREF_ORDER_UNKNOWN ? options->order
                                                                  : before->geometry.order;
    result->kernel = options->kernel;
    if (result->kernel == POSREF_ORDER_UNKNOWN && after->geometry.gguf)
        result->kernel = after->geometry.order;
    result->consensus = find_consensus(result, false);
    if (result->consensus < 0)
        result->consensus = find_consensus(result, true);
    for (size_t i = 0; i < result->n_pairs; i++)
        name_mapping(&result->pair[i], result->consensus);
    result->kernel_pairing = needed_kernel(result, before);
    if (!posref_weights_find(result, before, after))
        return posref_fail(err, POSREF_NO_MEMORY, "", "no memory for findings");
    return POSREF_OK;
}
