/* SPDX-License-Identifier: Apache-2.0 */
/* Footers of shards as one: see merge_footers.h. */
#include "merge_footers.h"

#include "report_arithmetic.h"
#include "report_fields.h"

#include <stdlib.h>
#include <string.h>

/* The bit of "USR1", or of a number as text. */
static uint64_t signal_bit(const char *text)
{
    for (int number = 1; text && number <= 64; number++) {
        const char *name = sigabbrev_np(number);
        char digits[sizeof "-2147483648"];
        snprintf(digits, sizeof digits, "%d", number);
        if (strcmp(text, name ? name : digits) == 0)
            return (uint64_t)1 << (number - 1);
    }
    return 0;
}

static void add_left(struct posref_left *left, const json_t *footer)
{
    const json_t *from = json_object_get(footer, "left");
    const json_t *handlers = json_object_get(from, "handlers");
    const uint32_t n_threads = (uint32_t)integer_of(from, "threads");
    left->n_threads = n_threads > left->n_threads ? n_threads : left->n_threads;
    for (size_t k = 0; k < json_array_size(handlers); k++)
        left->handlers |= signal_bit(json_string_value(json_array_get(handlers, k)));
    left->rounding |= json_is_true(json_object_get(from, "rounding"));
    left->flush |= json_is_true(json_object_get(from, "flush"));
    left->locale |= json_is_true(json_object_get(from, "locale"));
    left->varies |= json_is_true(json_object_get(footer, "varies"));
}

static bool add_sentences(json_t *into, const json_t *list)
{
    bool good = true;
    for (size_t k = 0; k < json_array_size(list); k++) {
        json_t *one = json_array_get(list, k);
        char key[POSREF_MAX_ID + 16];
        snprintf(key, sizeof key, "%.*s %.14s", POSREF_MAX_ID, text_of(one, "id"),
                 text_of(one, "dtype"));
        good = good && json_object_set(into, key, one) == 0;
    }
    return good;
}

/* What no fault explains was looked at shard by shard: that of the most vectors stands, and says of
 * how many it speaks. */
static bool add_description(struct posref_merged_footers *out, const json_t *footer)
{
    const json_t *theirs = json_object_get(footer, "description");
    if (!json_is_object(theirs) ||
        integer_of(theirs, "vectors") <= integer_of(out->description, "vectors"))
        return true;
    json_decref(out->description);
    out->description = json_deep_copy(theirs);
    return out->description != NULL;
}

static bool add_footer(struct posref_merged_footers *out, const json_t *footer)
{
    const json_t *list = json_object_get(footer, "explanations");
    const int close = posref_verdict_find(text_of(footer, "close"));
    posref_arithmetic_merge(out->arithmetic, json_object_get(footer, "arithmetic"));
    out->n_failing += json_array_size(list) ? integer_of(json_array_get(list, 0), "failing")
                                            : integer_of(footer, "unexplained");
    out->n_unexplained += integer_of(footer, "unexplained");
    out->printed_bytes += integer_of(footer, "printed_bytes");
    /* Each shard starts one process; what is told are those that had to be replaced. */
    const int64_t workers = integer_of(footer, "workers");
    out->n_workers += (unsigned)(workers > 0 ? workers - (out->n_workers > 0) : 0);
    if (close > POSREF_VERDICT_PASS)
        out->close_verdict = (enum posref_verdict)close;
    add_left(&out->left, footer);
    if (!out->printed && *text_of(footer, "printed")) {
        out->printed = strdup(text_of(footer, "printed"));
        if (!out->printed)
            return false;
    }
    return posref_merge_explanations(out->explanations, list) && add_description(out, footer) &&
           add_sentences(out->sentences, json_object_get(footer, "sentences"));
}

bool posref_merge_footers(struct posref_merged_footers *out, json_t *const *footers, size_t n)
{
    *out = (struct posref_merged_footers){.explanations = json_array(),
                                          .arithmetic = json_array(),
                                          .sentences = json_object(),
                                          .close_verdict = POSREF_VERDICT_PASS};
    bool good = out->explanations && out->arithmetic && out->sentences;
    for (size_t k = 0; k < n && good; k++)
        good = add_footer(out, footers[k]);
    posref_arithmetic_merge_end(out->arithmetic);
    return good && posref_merge_explanations_end(&out->explanations, out->n_failing);
}

void posref_merged_footers_clear(struct posref_merged_footers *footers)
{
    json_decref(footers->explanations);
    json_decref(footers->description);
    json_decref(footers->arithmetic);
    json_decref(footers->sentences);
    free(footers->printed);
    *footers = (struct posref_merged_footers){.printed = NULL};
}
