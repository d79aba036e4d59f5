/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations of shards as those of the run: see merge_footers.h. */
#include "merge_footers.h"

#include "report_fields.h"

#include <string.h>

/* Of one fault, read off as the same, and both claims or both runners-up. */
static bool is_same(const json_t *a, const json_t *b)
{
    return strcmp(text_of(a, "fault"), text_of(b, "fault")) == 0 &&
           strcmp(text_of(a, "formula"), text_of(b, "formula")) == 0 &&
           json_is_true(json_object_get(a, "covers")) == json_is_true(json_object_get(b, "covers"));
}

static bool add_up(json_t *into, const json_t *from, const char *key)
{
    return json_object_set_new(into, key,
                               json_integer(integer_of(into, key) + integer_of(from, key))) == 0;
}

/* What a claim says of its vectors: its sentences, or its summary where all share that. */
static json_t *sentences_of(const json_t *claim)
{
    const json_t *list = json_object_get(claim, "sentences");
    return list ? json_deep_copy(list)
                : json_pack("[{s:s, s:I}]", "summary", text_of(claim, "summary"), "vectors",
                            (json_int_t)integer_of(claim, "vectors"));
}

static bool merge_sentences(json_t *into, const json_t *from)
{
    json_t *mine = sentences_of(into), *theirs = sentences_of(from), *one;
    size_t k;
    bool good = mine && theirs;
    json_array_foreach(theirs, k, one) {
        json_t *same = NULL;
        for (size_t j = 0; j < json_array_size(mine) && !same; j++)
            if (strcmp(text_of(json_array_get(mine, j), "summary"), text_of(one, "summary")) == 0)
                same = json_array_get(mine, j);
        if (same)
            good = good && add_up(same, one, "vectors");
        else if (json_array_size(mine) < POSREF_EXPLAIN_SENTENCES)
            good = good && json_array_append(mine, one) == 0;
    }
    if (json_array_size(mine) > 1)
        good = good && json_object_set(into, "sentences", mine) == 0;
    json_decref(mine);
    json_decref(theirs);
    return good;
}

/* Faults that fit as well must do so in every shard. */
static void merge_alike(json_t *into, const json_t *from)
{
    json_t *mine = json_object_get(into, "not_told_from");
    const json_t *theirs = json_object_get(from, "not_told_from");
    for (size_t k = json_array_size(mine); k-- > 0;) {
        bool there = false;
        for (size_t j = 0; j < json_array_size(theirs); j++)
            there = there || json_equal(json_array_get(mine, k), json_array_get(theirs, j));
        if (!there)
            json_array_remove(mine, k);
    }
    if (mine && json_array_size(mine) == 0)
        json_object_del(into, "not_told_from");
}

/* Of runners-up: what tells them apart in one shard tells them apart. */
static bool merge_separation(json_t *into, const json_t *from)
{
    json_t *mine = json_object_get(into, "separated_by");
    const json_t *theirs = json_object_get(from, "separated_by");
    if (json_is_false(json_object_get(from, "look_alike")) &&
        json_object_set_new(into, "look_alike", json_false()) != 0)
        return false;
    for (size_t k = 0;
         k < json_array_size(theirs) && json_array_size(mine) < POSREF_EXPLAIN_KILLERS; k++)
        if (json_array_append(mine, json_array_get(theirs, k)) != 0)
            return false;
    return true;
}

static bool merge_one(json_t *into, const json_t *from)
{
    const bool covers = json_is_true(json_object_get(into, "covers"));
    bool good = !covers || merge_sentences(into, from); /* reads the counts as they were */
    good = good && add_up(into, from, "vectors") && add_up(into, from, "untold");
    if (number_of(from, "residual") > number_of(into, "residual"))
        good = good &&
               json_object_set(into, "residual", json_object_get(from, "residual")) == 0;
    if (covers)
        merge_alike(into, from);
    return good && (covers || merge_separation(into, from));
}

bool posref_merge_explanations(json_t *into, const json_t *list)
{
    bool good = true;
    for (size_t k = 0; k < json_array_size(list) && good; k++) {
        const json_t *claim = json_array_get(list, k);
        json_t *same = NULL;
        for (size_t j = 0; j < json_array_size(into) && !same; j++)
            if (is_same(json_array_get(into, j), claim))
                same = json_array_get(into, j);
        good = same ? merge_one(same, claim)
                    : json_array_append_new(into, json_deep_copy(claim)) == 0;
    }
    return good;
}

/* Whether a fault is among the claims. */
static bool is_claimed(const json_t *list, const json_t *runner)
{
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *one = json_array_get(list, k);
        if (json_is_true(json_object_get(one, "covers")) &&
            strcmp(text_of(one, "fault"), text_of(runner, "fault")) == 0 &&
            strcmp(text_of(one, "formula"), text_of(runner, "formula")) == 0)
            return true;
    }
    return false;
}

/* Where the next of the list is: claims before runners-up, then those of more vectors. */
static size_t next_of(const json_t *list)
{
    size_t best = 0;
    for (size_t k = 1; k < json_array_size(list); k++) {
        const json_t *a = json_array_get(list, best), *b = json_array_get(list, k);
        const bool covers_a = json_is_true(json_object_get(a, "covers"));
        const bool covers_b = json_is_true(json_object_get(b, "covers"));
        if (covers_a != covers_b ? covers_b
                                 : integer_of(b, "vectors") > integer_of(a, "vectors"))
            best = k;
    }
    return best;
}

bool posref_merge_explanations_end(json_t **list, int64_t failing)
{
    json_t *sorted = json_array();
    bool good = sorted != NULL;
    while (good && json_array_size(*list) > 0) {
        const size_t k = next_of(*list);
        json_t *one = json_array_get(*list, k);
        const bool kept = json_is_true(json_object_get(one, "covers")) || !is_claimed(sorted, one);
        good = !kept || (json_array_append(sorted, one) == 0 &&
                         json_object_set_new(one, "rank", json_integer((json_int_t)
                                             json_array_size(sorted))) == 0 &&
                         json_object_set_new(one, "failing", json_integer(failing)) == 0);
        json_array_remove(*list, k);
    }
    json_decref(*list);
    *list = sorted;
    return good;
}
