/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the row permutation between two parts: tries every known one on all rows, then other head
 * counts, then reordered heads, and says of the rest how many rows are elsewhere. */
#include "harness/weights_rows.h"

#include <stdlib.h>
#include <string.h>

/* New row i of the part comes from which old row, under one permutation in each head. */
struct placed {
    struct posref_weights_permutation permutation;
    int64_t head_rows;
    const int64_t *head_order; /* old head of each new head, or NULL */
};

static int64_t source_row(const void *ctx, int64_t i)
{
    const struct placed *p = ctx;
    int64_t head = i / p->head_rows;
    int64_t old_head = p->head_order ? p->head_order[head] : head;
    return old_head * p->head_rows + posref_weights_source(&p->permutation, i % p->head_rows);
}

static bool explains(const struct posref_weights_rows *rows, const struct placed *placed,
                     int64_t begin, int64_t end, double *square_error)
{
    *square_error = 0;
    for (int64_t i = begin; i < end; i++)
        if (!posref_weights_rows_equal(rows, i, source_row(placed, i), square_error))
            return false;
    return true;
}

static bool candidate(struct placed *out, const struct posref_weights_pair *pair, int number)
{
    const struct posref_weights_part *part = pair->before;
    *out = (struct placed){.head_rows = part->head_rows};
    return posref_weights_candidate(&out->permutation, number, part->head_rows,
                                    part->rotary_first, part->rotary_rows);
}

/* Sets fits. Across types a wrong permutation of similar rows may pass each row's limit: only
 * those about as close as the closest stay. */
static void try_candidates(struct posref_weights_pair *pair, const struct posref_weights_rows *rows)
{
    double error[POSREF_WEIGHTS_CANDIDATES], best = -1;
    struct placed placed;
    int last = pair->before->dims_known ? POSREF_WEIGHTS_CANDIDATES : 1;
    for (int number = 0; number < last; number++) {
        if (!candidate(&placed, pair, number) ||
            !explains(rows, &placed, 0, rows->n, &error[number]))
            continue;
        pair->fits[number / 64] |= UINT64_C(1) << (number % 64);
        if (best < 0 || error[number] < best)
            best = error[number];
    }
    for (int number = 0; number < last; number++)
        if (posref_weights_fits(pair, number) && error[number] > 1.05 * best)
            pair->fits[number / 64] &= ~(UINT64_C(1) << (number % 64));
    for (int number = last - 1; number >= 0; number--)
        if (posref_weights_fits(pair, number))
            pair->candidate = number;
}

static bool try_head_counts(struct posref_weights_pair *pair,
                            const struct posref_weights_rows *rows)
{
    double error;
    for (int64_t heads = 1; heads <= rows->n / 4; heads++) {
        if (rows->n % heads != 0 || rows->n / heads % 2 != 0 || heads == pair->before->n_heads)
            continue;
        for (int to_half = 0; to_half < 2; to_half++) {
            struct placed placed = {.head_rows = rows->n / heads,
                                    .permutation = {to_half != 0, 1, 0, rows->n / heads}};
            if (!explains(rows, &placed, 0, rows->n, &error))
                continue;
            pair->mapping = POSREF_MAPPING_WRONG_HEAD_COUNT;
            pair->head_count_used = heads;
            pair->to_half = to_half != 0;
            return true;
        }
    }
    return false;
}

/* The old head whose rows, permuted, are those of a new head and that no other head took. */
static int64_t find_head(const struct posref_weights_rows *rows, struct placed *placed,
                         int64_t *order, const bool *taken, int64_t head, int64_t n_heads)
{
    double error;
    for (int64_t old = 0; old < n_heads; old++) {
        order[head] = old;
        placed->head_order = order;
        if (!taken[old] && explains(rows, placed, head * placed->head_rows,
                                    (head + 1) * placed->head_rows, &error))
            return old;
    }
    return -1;
}

static bool try_reordered(struct posref_weights_pair *pair, const struct posref_weights_rows *rows)
{
    int64_t n_heads = pair->before->n_heads, head = 0;
    int64_t *order = calloc((size_t)n_heads + 1, sizeof *order);
    bool *taken = calloc((size_t)n_heads + 1, sizeof *taken);
    struct placed placed;
    for (int number = 0; order && taken && number < 9 && head < n_heads; number++) {
        if (!candidate(&placed, pair, number))
            continue;
        memset(taken, 0, (size_t)n_heads * sizeof *taken);
        for (head = 0; head < n_heads; head++) {
            int64_t old = find_head(rows, &placed, order, taken, head, n_heads);
            if (old < 0)
                break;
            order[head] = old;
            taken[old] = true;
        }
        pair->within = number;
    }
    free(taken);
    if (!order || head < n_heads || n_heads < 2) {
        free(order);
        return false;
    }
    pair->mapping = POSREF_MAPPING_HEADS_REORDERED;
    pair->head_order = order;
    return true;
}

static int by_hash(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct posref_weights_hash));
}

/* How many new rows are some old row, wherever. */
static void count_found(struct posref_weights_pair *pair, const struct posref_weights_rows *rows)
{
    pair->rows_found = -1;
    if (!rows->old_hash)
        return;
    struct posref_weights_hash *sorted = calloc((size_t)rows->n + 1, sizeof *sorted);
    if (!sorted)
        return;
    memcpy(sorted, rows->old_hash, (size_t)rows->n * sizeof *sorted);
    qsort(sorted, (size_t)rows->n, sizeof *sorted, by_hash);
    pair->rows_found = 0;
    for (int64_t i = 0; i < rows->n; i++)
        pair->rows_found += bsearch(&rows->new_hash[i], sorted, (size_t)rows->n, sizeof *sorted,
                                    by_hash) != NULL;
    free(sorted);
}

/* Says of each head which of the first candidates explains it: mixtures are a fault of its own. */
static void describe_heads(struct posref_weights_pair *pair,
                           const struct posref_weights_rows *rows)
{
    int64_t n_heads = pair->before->n_heads, count[9] = {0}, none = 0;
    double error;
    struct placed placed;
    for (int64_t head = 0; head < n_heads; head++) {
        int number = 0;
        for (; number < 9; number++)
            if (candidate(&placed, pair, number) &&
                explains(rows, &placed, head * placed.head_rows, (head + 1) * placed.head_rows,
                         &error))
                break;
        if (number < 9)
            count[number]++;
        else
            none++;
    }
    size_t length = 0;
    for (int number = 0; number < 9 && none < n_heads; number++)
        if (count[number] > 0 && candidate(&placed, pair, number) && length < sizeof pair->detail)
            length += (size_t)snprintf(
                pair->detail + length, sizeof pair->detail - length, "%s%lld heads %s",
                length > 0 ? ", " : "", (long long)count[number],
                posref_weights_mapping_name(posref_weights_candidate_mapping(
                    &placed.permutation, pair->before->head_rows)));
    if (length > 0 && length < sizeof pair->detail)
        snprintf(pair->detail + length, sizeof pair->detail - length, ", %lld none",
                 (long long)none);
}

static void describe_none(struct posref_weights_pair *pair, const struct posref_weights_rows *rows)
{
    double error = 0;
    pair->mapping = POSREF_MAPPING_NONE;
    while (pair->first_bad_row < rows->n - 1 &&
           posref_weights_rows_equal(rows, pair->first_bad_row, pair->first_bad_row, &error))
        pair->first_bad_row++;
    count_found(pair, rows);
    if (pair->before->dims_known && pair->before->n_heads > 1)
        describe_heads(pair, rows);
}

static void drop(struct posref_weights_pair *pair, int number)
{
    pair->fits[number / 64] &= ~(UINT64_C(1) << (number % 64));
}

/* Nothing that fits the leading columns fits the others: `bad` is where the simplest one fails. */
static void later_columns_differ(struct posref_weights_pair *pair,
                                 const struct posref_weights_rows *rows, int64_t bad, double error)
{
    pair->candidate = -1;
    pair->mapping = POSREF_MAPPING_NONE;
    pair->exact = false;
    pair->first_bad_row = bad;
    pair->worst_error = error;
    pair->rows_found = -1;
    snprintf(pair->detail, sizeof pair->detail,
             "the first %lld columns agree, later ones do not (relative error %.2g)",
             (long long)rows->columns, error);
}

/* Across types the candidates saw the leading columns only: now all of them. Where those columns
 * are alike in many rows several candidates passed, and the later columns decide. */
static void verify(struct posref_weights_pair *pair, const struct posref_weights_rows *rows)
{
    struct placed placed;
    int64_t bad = -1;
    double error[POSREF_WEIGHTS_CANDIDATES], bad_error = 0, best = -1;
    if (rows->old_hash || pair->candidate < 0)
        return;
    for (int number = 0; number < POSREF_WEIGHTS_CANDIDATES; number++) {
        if (!posref_weights_fits(pair, number) || !candidate(&placed, pair, number))
            continue;
        int64_t differs = posref_weights_rows_verify(rows, source_row, &placed, &error[number]);
        if (differs >= 0)
            drop(pair, number);
        else if (best < 0 || error[number] < best)
            best = error[number];
        if (differs >= 0 && bad < 0) {
            bad = differs;
            bad_error = error[number];
        }
    }
    if (best < 0) {
        later_columns_differ(pair, rows, bad, bad_error);
        return;
    }
    for (int number = POSREF_WEIGHTS_CANDIDATES - 1; number >= 0; number--) {
        if (posref_weights_fits(pair, number) && error[number] > 1.05 * best)
            drop(pair, number);
        if (posref_weights_fits(pair, number))
            pair->candidate = number;
    }
    pair->worst_error = error[pair->candidate];
    pair->exact = pair->worst_error == 0;
}

static bool all_equal(const struct posref_weights_rows *rows)
{
    for (int64_t i = 1; i < rows->n; i++) {
        const void *a = rows->old_hash ? (const void *)&rows->old_hash[i]
                                       : (const void *)&rows->old_value[i * rows->columns];
        const void *b = rows->old_hash ? (const void *)&rows->old_hash[0]
                                       : (const void *)rows->old_value;
        size_t size = rows->old_hash ? sizeof *rows->old_hash
                                     : (size_t)rows->columns * sizeof *rows->old_value;
        if (memcmp(a, b, size) != 0)
            return false;
    }
    return true;
}

enum posref_status posref_weights_match(struct posref_weights_pair *pair, double shift,
                                        int n_threads, struct posref_error *err)
{
    struct posref_weights_rows rows;
    enum posref_status status = posref_weights_rows_read(&rows, pair->before, pair->after, shift,
                                                         n_threads, err);
    if (status != POSREF_OK)
        return status;
    pair->candidate = -1;
    pair->exact = pair->same_type = rows.old_hash != NULL;
    pair->uniform = all_equal(&rows) &&
                    (rows.old_hash || rows.columns == pair->before->row_elements);
    try_candidates(pair, &rows);
    if (pair->candidate >= 0)
        verify(pair, &rows);
    else if (!pair->before->dims_known ||
             (!try_head_counts(pair, &rows) && !try_reordered(pair, &rows)))
        describe_none(pair, &rows);
    posref_weights_rows_clear(&rows);
    return POSREF_OK;
}
