/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs the parts of two checkpoints, matches each pair, and infers the head size from the data
 * when nothing else says it. */
#include "harness/weights.h"

#include <stdlib.h>
#include <string.h>

struct comparing {
    struct posref_weights_result *result;
    struct posref_weights_side *before, *after;
    const struct posref_weights_options *options;
    struct posref_error *err;
};

static const char *file_of(const struct posref_weights_side *side,
                           const struct posref_stored *tensor)
{
    return posref_path_tail(side->checkpoint.file[tensor->file].path);
}

static bool same_place(const struct posref_weights_part *a, const struct posref_weights_part *b)
{
    return a->name.role == b->name.role && a->name.kind == b->name.kind &&
           a->name.layer == b->name.layer;
}

/* The other side's part: under the same name, else for the same layer, role and kind. */
static const struct posref_weights_part *find_partner(const struct posref_weights_side *side,
                                                      const struct posref_weights_part *part)
{
    const struct posref_weights_part *found = NULL;
    for (size_t i = 0; i < side->n_parts; i++) {
        const struct posref_weights_part *other = &side->part[i];
        if (!same_place(part, other))
            continue;
        if (strcmp(part->tensor->name, other->tensor->name) == 0)
            return other;
        if (!found)
            found = other;
    }
    return found;
}

static bool is_projection(const struct posref_weights_part *part)
{
    return part->name.role != POSREF_ROLE_V &&
           (part->name.kind == POSREF_KIND_WEIGHT || part->name.kind == POSREF_KIND_LORA);
}

static enum posref_status check_shapes(const struct comparing *c,
                                       const struct posref_weights_part *before,
                                       const struct posref_weights_part *after)
{
    const struct posref_stored *a = before->tensor, *b = after->tensor;
    bool same_type = a->type == b->type && strcmp(a->type_name, b->type_name) == 0;
    if (before->n_heads != after->n_heads || before->head_rows != after->head_rows ||
        before->row_elements != after->row_elements)
        return posref_fail(c->err, POSREF_BAD_INPUT, file_of(c->after, b),
                           "tensor %.60s: %lld heads of %lld rows by %lld, before %lld of %lld by "
                           "%lld: different models?", b->name, (long long)after->n_heads,
                           (long long)after->head_rows, (long long)after->row_elements,
                           (long long)before->n_heads, (long long)before->head_rows,
                           (long long)before->row_elements);
    bool scaled = a->type == POSREF_STORED_F8_E4M3 || a->type == POSREF_STORED_F8_E5M2 ||
                  b->type == POSREF_STORED_F8_E4M3 || b->type == POSREF_STORED_F8_E5M2 ||
                  a->type <= POSREF_STORED_I64 || b->type <= POSREF_STORED_I64;
    if (!same_type && (scaled || !posref_decode_knows(a->type) || !posref_decode_knows(b->type)))
        return posref_fail(c->err, POSREF_BAD_INPUT, file_of(c->after, b),
                           "tensor %.80s: %s is compared only with itself, not with %s",
                           b->name, b->type_name, a->type_name);
    return POSREF_OK;
}

/* Gemma's norms are stored less one; GGUF's converters add it. */
static double norm_shift(const struct comparing *c, const struct posref_weights_part *part)
{
    static const char *const families[] = {"gemma", "gemma2", "gemma3", "gemma-embedding"};
    const struct posref_weights_geometry *a = &c->before->geometry, *b = &c->after->geometry;
    if (part->name.kind != POSREF_KIND_NORM || a->gguf == b->gguf)
        return 0;
    const char *family = a->gguf ? a->family : b->family;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(family, families[i]) == 0)
            return b->gguf ? 1 : -1;
    return 0;
}

static enum posref_status missing(const struct comparing *c, const struct posref_weights_side *has,
                                  const struct posref_weights_side *lacks,
                                  const struct posref_weights_part *part)
{
    return posref_fail(c->err, POSREF_BAD_INPUT, posref_path_tail(lacks->checkpoint.file[0].path),
                       "has no %s %s for tensor %.80s of %.60s",
                       posref_weights_role_name(part->name.role),
                       posref_weights_kind_name(part->name.kind), part->tensor->name,
                       file_of(has, part->tensor));
}

/* Fills result->pair: every q and k part of BEFORE with its partner. */
static enum posref_status make_pairs(const struct comparing *c)
{
    struct posref_weights_result *result = c->result;
    for (size_t i = 0; i < result->n_pairs; i++)
        free(result->pair[i].head_order);
    free(result->pair);
    result->n_pairs = 0;
    result->pair = calloc(c->before->n_parts + 1, sizeof *result->pair);
    if (!result->pair)
        return posref_fail(c->err, POSREF_NO_MEMORY, "", "no memory");
    for (size_t i = 0; i < c->before->n_parts; i++) {
        const struct posref_weights_part *part = &c->before->part[i];
        const struct posref_weights_part *partner = find_partner(c->after, part);
        if (!partner && is_projection(part))
            return missing(c, c->before, c->after, part);
        if (!partner)
            continue;
        enum posref_status status = check_shapes(c, part, partner);
        if (status != POSREF_OK)
            return status;
        result->pair[result->n_pairs++] =
            (struct posref_weights_pair){.before = part, .after = partner, .rows_found = -1};
    }
    for (size_t i = 0; i < c->after->n_parts; i++)
        if (is_projection(&c->after->part[i]) && !find_partner(c->before, &c->after->part[i]))
            return missing(c, c->after, c->before, &c->after->part[i]);
    return POSREF_OK;
}

static enum posref_status match_pairs(const struct comparing *c)
{
    for (size_t i = 0; i < c->result->n_pairs; i++) {
        struct posref_weights_pair *pair = &c->result->pair[i];
        enum posref_status status = posref_weights_match(pair, norm_shift(c, pair->before),
                                                         c->options->n_threads, c->err);
        if (status != POSREF_OK)
            return status;
    }
    return POSREF_OK;
}

/* Whether a head of `dim` rows explains a pair by one of the whole-head permutations. */
static enum posref_status try_dim(bool *explains, const struct posref_weights_pair *pair,
                                  int64_t dim, const struct comparing *c)
{
    struct posref_weights_part before = *pair->before, after = *pair->after;
    struct posref_weights_part *const parts[] = {&before, &after};
    for (int i = 0; i < 2; i++) {
        parts[i]->n_heads = parts[i]->per_group = parts[i]->head_rows / dim;
        parts[i]->head_rows = parts[i]->head_stride = dim;
        parts[i]->rotary_first = 0;
        parts[i]->rotary_rows = (int)dim;
        parts[i]->dims_known = true;
    }
    struct posref_weights_pair trial = {.before = &before, .after = &after};
    enum posref_status status = posref_weights_match(&trial, 0, c->options->n_threads, c->err);
    *explains = status == POSREF_OK && trial.candidate >= 1 && trial.candidate <= 4;
    free(trial.head_order);
    return status;
}

static enum posref_status infer_dim(int64_t *dim, const struct posref_weights_pair *pair,
                                    const struct comparing *c)
{
    int64_t rows = pair->before->head_rows;
    for (*dim = 4; *dim <= rows; *dim += 2) {
        bool explains = false;
        if (rows % *dim != 0)
            continue;
        enum posref_status status = try_dim(&explains, pair, *dim, c);
        if (status != POSREF_OK || explains)
            return status;
    }
    *dim = 0;
    return POSREF_OK;
}

/* When the head size is unknown and rows have moved, looks for the size that explains them: q's
 * before k's, which is the one that gets cut by the other's number of heads. */
static enum posref_status settle_dims(const struct comparing *c, bool *again)
{
    const struct posref_weights_pair *moved = NULL;
    size_t n = c->result->n_pairs;
    *again = false;
    for (size_t i = 0; i < 2 * n; i++) {
        const struct posref_weights_pair *pair = &c->result->pair[i % n];
        int64_t dim;
        if (pair->before->dims_known || pair->candidate >= 0 || !is_projection(pair->before) ||
            (pair->before->name.role == POSREF_ROLE_Q) != (i < n))
            continue;
        moved = moved ? moved : pair;
        enum posref_status status = infer_dim(&dim, pair, c);
        if (status != POSREF_OK)
            return status;
        if (dim > 0) {
            c->before->geometry.head_dim = c->after->geometry.head_dim = (int)dim;
            c->result->head_dim_inferred = *again = true;
            return POSREF_OK;
        }
    }
    if (!moved)
        return POSREF_OK;
    return posref_fail(c->err, POSREF_BAD_INPUT, "head_dim",
                       "not known, and no head size explains tensor %.80s: give --head-dim or "
                       "--config", moved->before->tensor->name);
}

static enum posref_status cut_and_match(const struct comparing *c)
{
    enum posref_status status = posref_weights_cut(c->before, c->err);
    if (status == POSREF_OK)
        status = posref_weights_cut(c->after, c->err);
    if (status == POSREF_OK && c->before->only_one && c->after->only_one &&
        c->before->n_parts == 1 && c->after->n_parts == 1) /* two tensors by name are a pair */
        c->after->part[0].name = c->before->part[0].name;
    if (status == POSREF_OK)
        status = make_pairs(c);
    if (status == POSREF_OK && c->result->n_pairs == 0)
        status = posref_fail(c->err, POSREF_BAD_INPUT,
                             posref_path_tail(c->before->checkpoint.file[0].path),
                             "holds no q or k projection of a rotary model%s%.60s",
                             c->before->geometry.family[0] ? "; family " : "",
                             c->before->geometry.family);
    return status == POSREF_OK ? match_pairs(c) : status;
}

enum posref_status posref_weights_compare(struct posref_weights_result *out,
                                          struct posref_weights_side *before,
                                          struct posref_weights_side *after,
                                          const struct posref_weights_options *options,
                                          struct posref_error *err)
{
    struct posref_weights_result result = {.consensus = -1};
    struct comparing c = {&result, before, after, options, err};
    bool again = false;
    posref_weights_share(before, after);
    enum posref_status status = cut_and_match(&c);
    if (status == POSREF_OK)
        status = settle_dims(&c, &again);
    if (status == POSREF_OK && again)
        status = cut_and_match(&c);
    if (status == POSREF_OK)
        status = posref_weights_compare_others(&result, before, after, options->n_threads, err);
    if (status == POSREF_OK)
        status = posref_weights_judge(&result, before, after, options, err);
    if (status == POSREF_OK)
        *out = result;
    else
        posref_weights_result_clear(&result);
    return status;
}

void posref_weights_result_clear(struct posref_weights_result *result)
{
    for (size_t i = 0; i < result->n_pairs; i++)
        free(result->pair[i].head_order);
    free(result->pair);
    free(result->finding);
    free(result->changed);
    *result = (struct posref_weights_result){0};
}
