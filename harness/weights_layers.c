/* SPDX-License-Identifier: Apache-2.0 */
/* Findings attention by attention (a layer may hold several: of an encoder and a decoder, of a
 * draft model): q against k, bias and gains against their weights, and each layer
 * against the mapping that most layers carry. */
#include "harness/weights_findings.h"

#include <stdlib.h>
#include <string.h>

/* The pairs of one attention. */
struct group {
    const struct posref_weights_pair *const *pair;
    size_t n;
};

struct layer {
    uint64_t q[POSREF_WEIGHTS_WORDS], k[POSREF_WEIGHTS_WORDS]; /* what fits the projections */
    const struct posref_weights_pair *q_pair, *k_pair;
    bool explained; /* every q and k pair fits something */
    bool agrees;    /* and one thing fits them all */
};

static bool meet(const uint64_t *a, const uint64_t *b)
{
    for (int i = 0; i < POSREF_WEIGHTS_WORDS; i++)
        if (a[i] & b[i])
            return true;
    return false;
}

static void narrow(uint64_t *set, const uint64_t *by)
{
    for (int i = 0; i < POSREF_WEIGHTS_WORDS; i++)
        set[i] &= by[i];
}

static bool is_base(const struct posref_weights_pair *pair)
{
    return pair->before->name.kind == POSREF_KIND_WEIGHT;
}

/* Adapters may come without their projection: they then speak for it. */
static void gather(struct layer *out, const struct group *group)
{
    memset(out, 0xFF, sizeof out->q + sizeof out->k);
    out->q_pair = out->k_pair = NULL;
    out->explained = true;
    for (size_t i = 0; i < group->n; i++) {
        const struct posref_weights_pair *pair = group->pair[i];
        enum posref_weights_role role = pair->before->name.role;
        if (role == POSREF_ROLE_V)
            continue;
        const struct posref_weights_pair **slot = role == POSREF_ROLE_Q ? &out->q_pair
                                                                        : &out->k_pair;
        out->explained = out->explained && pair->candidate >= 0;
        if (*slot && !is_base(pair))
            continue;
        *slot = pair;
        memcpy(role == POSREF_ROLE_Q ? out->q : out->k, pair->fits, sizeof pair->fits);
    }
    out->agrees = out->explained && meet(out->q, out->k);
}

static bool find_unexplained(struct posref_weights_result *result,
                             const struct posref_weights_pair *pair)
{
    char found[64] = "";
    const char *name = pair->before->name.canonical;
    int layer = pair->before->name.layer;
    if (pair->mapping == POSREF_MAPPING_WRONG_HEAD_COUNT)
        return posref_weights_add_finding(
            result, "wrong_head_count", POSREF_WRONG, layer,
            "permute k with the number of key-value heads, q with the number of query heads",
            "%.100s has %lld heads of %lld, but its rows went %s as if it had %lld of %lld", name,
            (long long)pair->before->n_heads, (long long)pair->before->head_rows,
            pair->to_half ? "interleaved_to_half" : "half_to_interleaved",
            (long long)pair->head_count_used,
            (long long)(pair->before->n_heads * pair->before->head_rows / pair->head_count_used));
    if (pair->mapping == POSREF_MAPPING_HEADS_REORDERED)
        return posref_weights_add_finding(
            result, "heads_reordered", POSREF_WRONG, layer,
            "keep the heads' order, or reorder q, k, v and the output's columns alike",
            "the heads of %.120s are in another order", name);
    if (pair->rows_found >= 0)
        snprintf(found, sizeof found, "; %lld of %lld rows are elsewhere in it",
                 (long long)pair->rows_found,
                 (long long)(pair->before->n_heads * pair->before->head_rows));
    return posref_weights_add_finding(
        result, "rows_unexplained", POSREF_WRONG, layer,
        "the rows are in an order that no known port gives, or their values changed",
        "no known permutation explains %.80s (from row %lld%s)%s%.120s", name,
        (long long)pair->first_bad_row, found, pair->detail[0] ? ": " : "", pair->detail);
}

/* Bias, gains, scales and adapters must carry what their projection carries. */
static bool find_companion(struct posref_weights_result *result,
                           const struct posref_weights_pair *pair, struct layer *layer)
{
    static const char *const faults[][2] = {
        {"", ""}, {"bias_not_permuted", "bias_disagrees"}, {"norm_not_permuted", "norm_disagrees"},
        {"scale_not_permuted", "scale_disagrees"}, {"lora_not_permuted", "lora_disagrees"}};
    enum posref_weights_role role = pair->before->name.role;
    uint64_t *set = role == POSREF_ROLE_Q ? layer->q : layer->k;
    const struct posref_weights_pair *base = role == POSREF_ROLE_Q ? layer->q_pair
                                                                   : layer->k_pair;
    char what[160], weight[160];
    if (pair == base || pair->candidate < 0 || !base || base->candidate < 0)
        return true;
    if (meet(pair->fits, set)) {
        narrow(set, pair->fits);
        return true;
    }
    /* Where q and k disagree that is the finding: a bias or gain with either is no news. */
    if (!meet(layer->q, layer->k) && meet(pair->fits, role == POSREF_ROLE_Q ? layer->k : layer->q))
        return true;
    layer->agrees = false;
    posref_weights_describe(what, sizeof what, pair);
    posref_weights_describe(weight, sizeof weight, base);
    bool left = posref_weights_fits(pair, 0);
    return posref_weights_add_finding(
        result, faults[pair->before->name.kind][left ? 0 : 1], POSREF_WRONG,
        pair->before->name.layer, "permute it exactly as the rows of its projection",
        "%.100s is %s, but %.100s is %s", pair->before->name.canonical, what,
        base->before->name.canonical, weight);
}

static bool find_disagreement(struct posref_weights_result *result, const struct layer *layer,
                              int number)
{
    char q[160], k[160];
    if (!layer->q_pair || !layer->k_pair || layer->q_pair->candidate < 0 ||
        layer->k_pair->candidate < 0 || meet(layer->q, layer->k))
        return true;
    posref_weights_describe(q, sizeof q, layer->q_pair);
    posref_weights_describe(k, sizeof k, layer->k_pair);
    return posref_weights_add_finding(
        result, "q_k_disagree", POSREF_WRONG, number,
        "q and k must carry the same permutation: scores are wrong otherwise",
        "%.100s is %s, but %.100s is %s", layer->q_pair->before->name.canonical, q,
        layer->k_pair->before->name.canonical, k);
}

/* Whether a layer as a whole carries another mapping than most. */
static bool find_departure(struct posref_weights_result *result, const struct layer *layer,
                           int number)
{
    char what[160];
    const struct posref_weights_pair *pair = layer->q_pair ? layer->q_pair : layer->k_pair;
    if (!layer->agrees || !pair || result->consensus < 0 ||
        posref_weights_fits(pair, result->consensus))
        return true;
    posref_weights_describe(what, sizeof what, pair);
    return posref_weights_add_finding(
        result, "layer_departs", POSREF_WRONG, number, "port every layer alike",
        "%.120s is %s, unlike most layers", pair->before->name.canonical, what);
}

static bool find_v(struct posref_weights_result *result, const struct posref_weights_pair *pair)
{
    char what[160];
    if (posref_weights_fits(pair, 0))
        return true;
    posref_weights_describe(what, sizeof what, pair);
    return posref_weights_add_finding(result, "v_permuted", POSREF_WRONG, pair->before->name.layer,
                                      "v is not rotated: leave its rows alone",
                                      "the v rows of %.120s are %s",
                                      pair->before->name.canonical, what);
}

static bool find_layer(struct posref_weights_result *result, const struct group *group,
                       bool unrotated)
{
    struct layer layer;
    int number = group->pair[0]->before->name.layer;
    gather(&layer, group);
    if (!layer.q_pair && !layer.k_pair)
        return true;
    bool ok = find_disagreement(result, &layer, number);
    for (size_t i = 0; i < group->n && ok; i++) {
        const struct posref_weights_pair *pair = group->pair[i];
        if (pair->before->name.role == POSREF_ROLE_V)
            ok = find_v(result, pair);
        else if (pair->candidate < 0)
            ok = find_unexplained(result, pair);
        else
            ok = find_companion(result, pair, &layer);
    }
    /* A layer that does not rotate is right in any order that q and k share. */
    if (ok && !unrotated)
        ok = find_departure(result, &layer, number);
    bool departs = !unrotated && result->consensus >= 0 && layer.q_pair &&
                   !posref_weights_fits(layer.q_pair, result->consensus);
    result->consistent = result->consistent && layer.agrees && !departs;
    return ok;
}

/* By layer and block; within them as they came. */
static int by_group(const void *left, const void *right)
{
    const struct posref_weights_pair *a = *(const struct posref_weights_pair *const *)left;
    const struct posref_weights_pair *b = *(const struct posref_weights_pair *const *)right;
    const struct posref_weights_name *m = &a->before->name, *n = &b->before->name;
    if (m->layer != n->layer)
        return m->layer < n->layer ? -1 : 1;
    if (m->block != n->block)
        return m->block < n->block ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool same_group(const struct posref_weights_pair *a, const struct posref_weights_pair *b)
{
    return a->before->name.layer == b->before->name.layer &&
           a->before->name.block == b->before->name.block;
}

bool posref_weights_find_layers(struct posref_weights_result *result,
                                const struct posref_weights_side *before)
{
    bool ok = true;
    const struct posref_weights_pair **order = calloc(result->n_pairs + 1, sizeof *order);
    if (!order)
        return false;
    for (size_t i = 0; i < result->n_pairs; i++)
        order[i] = &result->pair[i];
    qsort(order, result->n_pairs, sizeof *order, by_group);
    result->consistent = true;
    for (size_t i = 0, end; i < result->n_pairs && ok; i = end) {
        for (end = i + 1; end < result->n_pairs && same_group(order[i], order[end]);)
            end++;
        int number = order[i]->before->name.layer;
        ok = find_layer(result, &(struct group){&order[i], end - i},
                        number >= 0 && before->geometry.no_rope[number]);
    }
    free(order);
    return ok;
}
