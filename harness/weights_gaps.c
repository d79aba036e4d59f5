/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about what the data leaves open: gains and biases that one side lacks, rows that fit any
 * order, a head size that only the config claims. */
#include "harness/weights_findings.h"

#include <stdlib.h>
#include <string.h>

static bool is_projection(const struct posref_weights_pair *pair)
{
    return pair->before->name.role != POSREF_ROLE_V &&
           (pair->before->name.kind == POSREF_KIND_WEIGHT ||
            pair->before->name.kind == POSREF_KIND_LORA);
}

static bool all_zero(const struct posref_stored *tensor)
{
    for (uint64_t i = 0; i < tensor->size_bytes; i++)
        if (tensor->data[i] != 0)
            return false;
    return true;
}

/* Which parts of one side have a partner, on the heap. */
static bool *find_paired(const struct posref_weights_result *result,
                         const struct posref_weights_side *side, bool is_before)
{
    bool *paired = calloc(side->n_parts + 1, sizeof *paired);
    for (size_t i = 0; paired && i < result->n_pairs; i++) {
        const struct posref_weights_pair *pair = &result->pair[i];
        paired[(is_before ? pair->before : pair->after) - side->part] = true;
    }
    return paired;
}

/* Without its bias or gains a projection is another one; a bias of zeros may be left out. */
static bool find_lacking(struct posref_weights_result *result,
                         const struct posref_weights_side *has, bool is_before)
{
    bool *paired = find_paired(result, has, is_before), ok = paired != NULL;
    for (size_t i = 0; i < has->n_parts && ok; i++) {
        const struct posref_weights_part *part = &has->part[i];
        bool bias = part->name.kind == POSREF_KIND_BIAS;
        if ((!bias && part->name.kind != POSREF_KIND_NORM) || paired[i] ||
            (bias && all_zero(part->tensor)))
            continue;
        ok = posref_weights_add_finding(
            result, bias ? "bias_missing" : "norm_missing", POSREF_WRONG, part->name.layer,
            "scores need it on both sides: port it with its projection",
            "%s has no counterpart of %.160s", is_before ? "AFTER" : "BEFORE", part->tensor->name);
    }
    free(paired);
    return ok;
}

/* Every projection fits the identity and a permutation: no mapping is decided. */
static bool find_undetermined(struct posref_weights_result *result)
{
    size_t n = 0;
    for (size_t i = 0; i < result->n_pairs; i++) {
        const struct posref_weights_pair *pair = &result->pair[i];
        if (!is_projection(pair))
            continue;
        n++;
        if (!posref_weights_fits(pair, 0) || !posref_weights_fits(pair, 1))
            return true;
    }
    return n == 0 || posref_weights_add_finding(
        result, "ambiguous", POSREF_NOTE, -1, "compare checkpoints whose rows differ",
        "q and k rows are alike in each head: they fit unchanged and permuted, and say nothing");
}

/* All q and all k moved in heads of one other size: the port or the size that we were told. */
static bool find_head_size(struct posref_weights_result *result,
                           const struct posref_weights_side *before)
{
    int64_t size = 0;
    bool q = false, k = false;
    for (size_t i = 0; i < result->n_pairs; i++) {
        const struct posref_weights_pair *pair = &result->pair[i];
        if (!is_projection(pair))
            continue;
        if (pair->mapping != POSREF_MAPPING_WRONG_HEAD_COUNT)
            return true;
        int64_t used = pair->before->n_heads * pair->before->head_rows / pair->head_count_used;
        if (size != 0 && used != size)
            return true;
        size = used;
        q = q || pair->before->name.role == POSREF_ROLE_Q;
        k = k || pair->before->name.role == POSREF_ROLE_K;
    }
    if (!q || !k)
        return true;
    return posref_weights_add_finding(
        result, "ambiguous", POSREF_NOTE, -1,
        "if the model's heads have that size the port is right: correct the config or --head-dim",
        "every q and k projection moved in heads of %lld rows, and %s says %lld: one of them is "
        "wrong", (long long)size, before->geometry.source,
        (long long)result->pair[0].before->head_rows);
}

bool posref_weights_find_gaps(struct posref_weights_result *result,
                              const struct posref_weights_side *before,
                              const struct posref_weights_side *after)
{
    return find_lacking(result, before, true) && find_lacking(result, after, false) &&
           find_undetermined(result) && find_head_size(result, before);
}
